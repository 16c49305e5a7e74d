// SPDX-License-Identifier: Apache-2.0
#include "peer/path_choice.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace penstock::peer {

Copy copy_kind(bool same_process, bool in_arena, bool across) noexcept {
  if (same_process || in_arena) return Copy::shared;
  return across ? Copy::across : Copy::impossible;
}

namespace {

bool both_shared(const Circumstances& now) noexcept {
  return now.push == Copy::shared && now.pull == Copy::shared;
}

// The kernel takes 60 to 500 ns for each run of another process, by the machine. Two copies through
// the ring take less where runs are shorter than this (docs/performance.md).
constexpr std::size_t shortest_run_across = 2048;

// Between buffers that both sides can address, one copy straight from buffer to buffer beats the
// ring's two as soon as the message does not fit into the one line that also carries its flag
// (docs/performance.md).
std::size_t largest_ring_message(const Circumstances& now) noexcept {
  return both_shared(now) ? std::min(now.eager_max, cache_line - sizeof(std::uint64_t))
                          : now.eager_max;
}

}  // namespace

// A ready send is pushed and nothing else; every other rendezvous needs both directions, since
// either side may be the only one that waits.
PathChoice decide(const Circumstances& now) noexcept {
  const std::uint32_t line_bytes = line_bytes_for(now.bytes);
  if (now.bytes <= largest_ring_message(now) || now.mode == protocol::Mode::buffered)
    return {Path::ring, line_bytes};
  const auto staged = [&](WhyStaged why) { return PathChoice{Path::staged, line_bytes, 1, why}; };
  const bool reachable = now.push != Copy::impossible &&
                         (now.mode == protocol::Mode::ready || now.pull != Copy::impossible);
  if (!reachable) return staged(WhyStaged::out_of_reach);  // whatever the datatype
  if (now.lists_stay) return staged(WhyStaged::many_segments);
  if (!both_shared(now) && now.mean_run < shortest_run_across) return staged(WhyStaged::short_runs);
  return {Path::rendezvous, line_bytes, Parts::best_count(now.bytes, !both_shared(now))};
}

namespace {

const char* text_of(WhyStaged why) noexcept {
  switch (why) {
    case WhyStaged::not_staged:
      break;
    case WhyStaged::short_runs:
      return " for its short runs";
    case WhyStaged::many_segments:
      return " for its many segments";
    case WhyStaged::out_of_reach:
      return " as a buffer is out of reach";
  }
  return "";
}

}  // namespace

std::string describe_path(Path path, WhyStaged why, const PortSetup& port) {
  const Cut& cut = port.cut;
  switch (path) {
    case Path::ring:
      return fmt::format("ring, {} slots", cut.slots);
    case Path::staged:
      return fmt::format("whole message staged{}, {} slots", text_of(why), cut.slots);
    case Path::rendezvous:
      break;
  }
  return port.other.process == 0 ? "rendezvous, shared memory" : "rendezvous, cross-memory copy";
}

}  // namespace penstock::peer
