// SPDX-License-Identifier: Apache-2.0
// What the windows of one-sided epochs ask of a transport. Between two members of a window there is
// a pair each way: an origin, which moves data, and a target, whose memory it moves them to and
// from. Both ends are plans:
//   target   start: post, the memory is exposed from here on; wait: until the origin has completed
//   origin   start and wait, enqueued together, are a complete: the operations of the epoch's list
//            move, until our own buffers may be used again; or, where the list says so, they open
//            the epoch that the next ones complete
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "transport/operations.hpp"
#include "transport/plan.hpp"

namespace penstock::transport {

// Our part of a window.
struct WindowMemory {
  void* base = nullptr;
  std::size_t bytes = 0;
  MemoryKind memory = MemoryKind::host;
  int gpu = -1;
};

// What a program can do about a wait that lasts.
inline constexpr const char* origin_advice =
    "see that the target posts as often as this rank names it, and that each rank posts before it "
    "completes";
inline constexpr const char* target_advice =
    "see that the origin completes as often as this rank names it in a post";

// What a pair can do for its origin.
struct WindowReach {
  bool direct = false;          // it loads and stores the target's memory: any put, any get
  bool atomic = false;          // and adds to it
  std::size_t eager_bytes = 0;  // of puts and accumulates that an epoch brings without that
  void* address = nullptr;      // of the target's memory, where the program itself can store to it
  int gpu = -1;                 // whose kernels move, so that origins lie in its memory; -1: none's
  // What an operation takes of these besides its own bytes, rounded up.
  static constexpr std::size_t eager_header = 32;
};

struct WindowEnds {
  std::unique_ptr<Plan> origin;  // of what we move
  std::unique_ptr<Plan> target;  // of what the peer moves
  WindowReach reach;
  // An origin looks at its target's posts itself: it may do without them, where MPI_MODE_NOCHECK
  // promises them, and look for them alone (AccessStep).
  bool posts_are_words = true;
};

// Our ends towards one peer while the window is attached. Destroying it instead of connecting frees
// what it holds.
class WindowOffer {
 public:
  virtual ~WindowOffer() = default;
  virtual WireRecord record() const = 0;
  // `theirs` is the record of the peer's offer, made for us. `lists` outlives the origin. The peer
  // may not have connected yet. Throws Error.
  virtual WindowEnds connect(std::span<const std::byte> theirs, OperationLists& lists) = 0;
};

}  // namespace penstock::transport
