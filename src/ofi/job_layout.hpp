// SPDX-License-Identifier: Apache-2.0
// Who shares this process's network interfaces.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "group/locality.hpp"
#include "group/world.hpp"

namespace penstock::ofi {

struct JobLayout {
  bool all_here = true;                    // every process of the job: loopback reaches them
  std::vector<group::Location> users{{}};  // what each process here computes on, by rank
  std::size_t self = 0;                    // which of them we are
};

// The network that this process sees: the same for two processes if, and only if, loopback leads
// from one to the other.
std::string network_identity();

// What this process computes on: the GPU at this PCI address, or where there is none (empty) its
// cores.
group::Location own_place(const std::string& gpu);

// Collective over the job. `own`: what this process computes on.
JobLayout layout_of_job(group::World& world, const group::Location& own);

// Its two steps: what each process says, and the layout that follows from all of it, for a rank.
std::vector<std::byte> introduce(const std::string& network, const group::Location& own);
JobLayout layout_of(std::size_t rank, const std::vector<std::vector<std::byte>>& introductions);

}  // namespace penstock::ofi
