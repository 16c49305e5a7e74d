// SPDX-License-Identifier: Apache-2.0
// What the windows of one-sided epochs ask of a transport. Between two members of a window there is
// a pair each way: an origin, which moves data, and a target, whose memory it moves them to and
// from. Both ends are plans:
//   target   start: post, the memory is exposed from here on; wait: until the origin has completed
//   origin   start and wait, enqueued together, are a complete: the operations of the epoch's list
//            move, until our own buffers may be used again
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/no_copy.hpp"
#include "transport/plan.hpp"

namespace penstock::transport {

enum class Verb : std::uint8_t { put, get, accumulate };
enum class Reduction : std::uint8_t { replace, sum, product, min, max, bit_and, bit_or, bit_xor };
enum class Element : std::uint8_t { int32, uint32, int64, uint64, float32, float64 };

// Its bytes lie without gaps on both sides.
struct Operation {
  Verb verb = Verb::put;
  Reduction reduction = Reduction::replace;  // of an accumulate, as is
  Element element = Element::int32;
  void* origin = nullptr;  // never written but by a get
  std::size_t bytes = 0;
  std::size_t displacement = 0;  // in bytes, from the first one of the target's window
};

using Operations = std::vector<Operation>;

// The lists of the epochs that have been enqueued, in their order, from the thread that enqueues to
// the one that carries them out. It takes memory only when it holds more than ever before.
class OperationLists : private base::NoCopy {
 public:
  OperationLists();
  ~OperationLists();

  // The enqueuing thread calls it: `list` is exchanged for an old one, which is empty and has room.
  // Throws std::bad_alloc.
  void push(Operations& list);
  // The last list has found no start: it goes back to where it came from, and the next push() takes
  // its place.
  void take_back(Operations& list) noexcept;

  // The thread that carries out calls it: the list of the next start, which stays until the next
  // call.
  const Operations& next() noexcept;

 private:
  struct Node;
  Node* reusable_node() noexcept;

  Node* oldest_;                // the next one to be used again; the enqueuing thread's
  Node* last_;                  // the enqueuing thread's, too
  std::atomic<Node*> current_;  // the one that next() has returned, or the first, which holds none
  bool unused_ = false;
};

// Our part of a window.
struct WindowMemory {
  void* base = nullptr;
  std::size_t bytes = 0;
  MemoryKind memory = MemoryKind::host;
  int gpu = -1;
};

// What a pair can do for its origin.
struct WindowReach {
  bool direct = false;          // it loads and stores the target's memory: any put, any get
  bool atomic = false;          // and adds to it
  std::size_t eager_bytes = 0;  // of puts and accumulates that an epoch brings without that
  // What an operation takes of these besides its own bytes, rounded up.
  static constexpr std::size_t eager_header = 32;
};

struct WindowEnds {
  std::unique_ptr<Plan> origin;  // of what we move
  std::unique_ptr<Plan> target;  // of what the peer moves
  WindowReach reach;
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
