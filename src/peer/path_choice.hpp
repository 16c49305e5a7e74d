// SPDX-License-Identifier: Apache-2.0
// Which path a pair takes. Decided once, by the receiver, from what both sides have said.
#pragma once

#include <cstddef>
#include <limits>
#include <string>

#include "peer/host_port.hpp"
#include "peer/plans.hpp"
#include "transport/message.hpp"

namespace penstock::peer {

// How one side gets at the other's user buffer.
enum class Copy : std::uint8_t { impossible, shared, across };

struct Circumstances {
  std::size_t bytes = 0;
  std::size_t eager_max = 0;
  protocol::Mode mode = protocol::Mode::standard;
  Copy pull = Copy::impossible;
  Copy push = Copy::impossible;
  // Of the buffer where it is shorter; one without gaps sets no limit.
  std::size_t mean_run = std::numeric_limits<std::size_t>::max();
  bool lists_stay = false;  // one end does not know where the other's bytes lie
};

// Why lines carry a message whole; users are told.
enum class WhyStaged : std::uint32_t { not_staged, short_runs, many_segments, out_of_reach };

struct PathChoice {
  Path path = Path::ring;
  std::uint32_t line_bytes = cache_line;
  std::uint32_t parts = 1;
  WhyStaged why = WhyStaged::not_staged;
};

Copy copy_kind(bool same_process, bool in_arena, bool across) noexcept;
PathChoice decide(const Circumstances& circumstances) noexcept;
std::string describe_path(Path path, WhyStaged why, const PortSetup& port);

}  // namespace penstock::peer
