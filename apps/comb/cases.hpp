// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/options.hpp"

namespace penstock::comb {

// One row of the table: how messages go, and what is done around them.
struct Case {
  std::optional<apps::Comm> comm{};  // none: mock, everything but the messages
  bool pinned = false;               // kernels pack into pinned memory, which MPI is given
  // From this number of values on a message is packed by a kernel of its own.
  std::optional<std::size_t> cutoff{};

  std::string name() const;
  // What the same takes without messages.
  Case floor() const { return {std::nullopt, pinned, cutoff}; }
  bool operator==(const Case&) const = default;
};

// Those without messages stand first. Each way of exchanging stands there once for each memory and
// each cutoff that make a difference to it: streams do not give MPI memory, and what is packed
// message by message knows no cutoff.
std::vector<Case> cases_of(const std::vector<apps::Comm>& comms, bool also_pinned,
                           const std::vector<std::size_t>& cutoffs);

}  // namespace penstock::comb
