// SPDX-License-Identifier: Apache-2.0
// One member's part of a direct exchange, as a kernel is given it: fixed at match, carried by value
// in every launch.
#pragma once

#include <cstddef>
#include <cstdint>

#include "peer_gpu/batch.hpp"
#include "protocol/rally.hpp"
#include "transport/combination.hpp"

namespace penstock::peer_gpu {

// The most blocks of a kernel: a wait's keep their places (most_that_wait in kernels.cu).
inline constexpr unsigned most_rally_blocks = 64;

// The private words of one block, in stream order only. A launch with fewer blocks has each serve
// those of several.
struct RallyWords {
  Word64 done;     // as protocol::rally::State has it
  Word64 started;  // the last epoch with a start
};

struct RallyState {
  RallyWords block[most_rally_blocks];
  Word64 given_up;  // the first epoch that is served no more because something has failed; 0: none
};

// In pinned memory of the host.
struct alignas(64) RallyNotice {
  RallyWords last;       // a copy, made when the request is freed
  Word64 last_given_up;  // likewise
  Word64 given_up;       // kernels: as in RallyState
  Word64 awaited;        // kernels: the epoch of a wait that lasts
};

// How what is exchanged travels, of all members alike: in cells of eight bytes and their flag,
// which one thread has; or in lines of 128 bytes, which eight have, and which fewer bytes go with.
enum class RallyForm : std::uint8_t { cells, lines };

// Between us and one member.
struct RallyRoute {
  Cell* there = nullptr;          // its slots for us; of ours to ourselves null
  const Cell* here = nullptr;     // our slots for it
  std::uint32_t there_cells = 0;  // of one of these slots
  std::uint32_t here_cells = 0;
  const std::byte* from = nullptr;
  std::uint64_t bytes_to = 0;
  std::byte* to = nullptr;
  std::uint64_t bytes_from = 0;
  std::uint32_t units_to = 1;  // cells or lines of these bytes: kernels would take long to divide
  std::uint32_t units_from = 1;
};

struct RallyItem {
  static constexpr unsigned most_inside = 2;

  RallyState* state = nullptr;
  RallyNotice* notice = nullptr;
  const RallyRoute* list = nullptr;  // of all members, on the device; null: they are inside
  RallyRoute route[most_inside];
  std::uint32_t id = 0;          // in reports
  std::uint32_t most_units = 1;  // cells or lines of all that goes and comes
  std::uint16_t members = 0;
  std::uint16_t me = 0;
  std::uint16_t blocks = 1;
  std::uint16_t threads = 32;
  transport::Combination combination;
  RallyForm form = RallyForm::cells;
  bool combines = false;    // else each block goes to its own place
  bool alike = false;       // as much goes to each as comes from each
  bool aligned = false;     // all buffers lie at multiples of eight
  bool one_source = false;  // the same goes to all, ourselves too
  bool starts = false;
  bool looks = false;  // until all blocks of the members' starts have begun, and takes nothing
  bool waits = false;
};

inline constexpr std::size_t rally_payload = sizeof(Word64);

PENSTOCK_HD constexpr std::uint32_t rally_cells(std::uint64_t bytes) {
  return bytes == 0 ? 1 : static_cast<std::uint32_t>((bytes + rally_payload - 1) / rally_payload);
}
// Of either form.
constexpr std::uint32_t rally_units(RallyForm form, std::uint64_t bytes) {
  return form == RallyForm::cells ? rally_cells(bytes)
                                  : static_cast<std::uint32_t>(units_for(Path::wide_ring, bytes));
}

}  // namespace penstock::peer_gpu
