// SPDX-License-Identifier: Apache-2.0
// What an epoch of a window moves: the operations that the program lists between start and
// complete.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/host_device.hpp"
#include "base/no_copy.hpp"
#include "protocol/window.hpp"

namespace penstock::transport {

enum class Verb : std::uint8_t { put, get, accumulate };
enum class Reduction : std::uint8_t {
  replace,
  sum,
  product,
  min,
  max,
  bit_and,
  bit_or,
  bit_xor,
  logical_and,
  logical_or,
  logical_xor
};
// Accumulates take those of four and eight bytes.
enum class Element : std::uint8_t {
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  float16,
  bfloat16,
  float32,
  float64
};
PENSTOCK_HD constexpr std::size_t bytes_of(Element element) noexcept {
  using enum Element;
  if (element <= uint8) return 1;
  if (element <= uint16 || element == float16 || element == bfloat16) return 2;
  return element <= uint32 || element == float32 ? 4 : 8;
}

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
using protocol::window::Promise;

// An access epoch is one start and wait of its origin, or two where the program's own stores come
// between.
enum class AccessStep : std::uint8_t {
  whole,
  open,  // waits for the post, and moves nothing
  close  // moves the list, behind the stores
};

// What a complete moves, and what it knows of its post.
struct EpochList {
  Operations operations;
  Promise promise = Promise::none;
  AccessStep step = AccessStep::whole;
};

// The lists of the epochs that have been enqueued, in their order, from the thread that enqueues to
// the one that carries them out. It takes memory only when it holds more than ever before.
class OperationLists : private base::NoCopy {
 public:
  OperationLists();
  ~OperationLists();

  // The enqueuing thread calls it: `list` is exchanged for an old one, which is empty and has room.
  // Throws std::bad_alloc.
  void push(Operations& list, Promise promise = Promise::none, AccessStep step = AccessStep::whole);
  // The last list has found no start: it goes back to where it came from, and the next push() takes
  // its place.
  void take_back(Operations& list) noexcept;

  // The thread that carries out calls it: the list of the next start, which stays until the next
  // call.
  const EpochList& next() noexcept;
  // The same thread, which may look at lists before it begins them, at each once: the one behind
  // the last that it has looked at. It stays until next() has come to it, and is called again.
  const EpochList& ahead() noexcept;

 private:
  struct Node;
  Node* reusable_node() noexcept;

  Node* oldest_;                // the next one to be used again; the enqueuing thread's
  Node* last_;                  // the enqueuing thread's, too
  std::atomic<Node*> current_;  // the one that next() has returned, or the first, which holds none
  Node* ahead_;                 // the one that ahead() has returned
  bool unused_ = false;
};

}  // namespace penstock::transport
