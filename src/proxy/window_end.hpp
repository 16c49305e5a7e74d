// SPDX-License-Identifier: Apache-2.0
// What the two ends of a window's pair have in common. Of epoch e:
//
//   target   post      an empty message
//   origin   complete  a page that tells the operations, or several; small ones' bytes stand in it.
//                      Behind each page the puts that go apart, and receives for its gets
//   target   wait      does what the pages tell, from the post on: receives puts that go apart
//                      where they belong, sends what gets ask for
//
// Under four tags, two each way, so that nothing has to be told apart but by its order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "protocol/giving_up.hpp"
#include "proxy/end.hpp"

namespace penstock::proxy {

// Those that a process receives under.
struct WindowTags {
  std::int32_t pages = -1, puts = -1;  // by its target
  std::int32_t posts = -1, gets = -1;  // by its origin
};

// What a page begins with. All that follows are operations (plan/operation_stream.hpp).
struct PageHead {
  std::uint64_t epoch = 0;
  std::uint32_t bytes = 0;  // of the page, with this
  std::uint32_t last = 0;   // of its epoch
};
static_assert(sizeof(PageHead) % 8 == 0);

class WindowEnd : public End {
 public:
  static std::string path() { return "proxy (pages and messages of MPI)"; }
  bool wait_is_over(protocol::Epoch epoch) const noexcept { return complete(epoch); }
  std::string describe_given_up() const;

  bool parts_by_itself() const noexcept override {
    return protocol::window_parts_by_itself(closed.load(std::memory_order_relaxed),
                                            completed.load(std::memory_order_relaxed));
  }

 protected:
  // `fixed_slots` come first; behind them stand those of messages that go apart.
  WindowEnd(const EndKey& name, int its_tag, std::size_t fixed_slots, MPI_Comm communicator);

  // What was sent in whole is received.
  protocol::Epoch first_given_up(protocol::Epoch ours) const noexcept override { return ours; }

  // An epoch has been issued, and has not ended.
  bool busy() const noexcept { return completed.load(std::memory_order_relaxed) != issued; }
  bool serves() const noexcept { return !poisoned && !closing && !closed_before(issued); }
  // Where the next message that goes apart has its place; null: as many as may be are under way.
  MpiSlot* place_apart() noexcept;
  // MPI has been given it.
  void begin_apart(std::size_t bytes, bool receives, ProxyEngine& engine) noexcept;
  bool is_apart(const MpiSlot& slot) const noexcept { return &slot >= &operations[fixed_slots_]; }
  void end_apart() noexcept { --apart_under_way_; }
  bool any_apart() const noexcept { return apart_under_way_ > 0; }
  // MPI has begun what the slot stands for. True: and has ended it at once.
  bool ends_at_once(MpiSlot& slot, ProxyEngine& engine) noexcept;
  void finish_epoch(ProxyEngine& engine) noexcept;

  const MPI_Comm communicator_;

 private:
  // So many are under way at a time, in the order of the list.
  static constexpr std::size_t apart_at_once = 16;

  const std::size_t fixed_slots_;
  std::size_t apart_begun_ = 0;
  std::size_t apart_under_way_ = 0;
  bool has_received_ = false;  // into the program's memory, in this epoch
};

}  // namespace penstock::proxy
