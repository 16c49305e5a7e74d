// SPDX-License-Identifier: Apache-2.0
// What a bag has of one of its sources: words and slots. As a plan it is matched; the bag's calls
// look at it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "channel/bag_words.hpp"
#include "peer/holding.hpp"
#include "peer/lasting_copy.hpp"
#include "transport/plan.hpp"

namespace penstock::peer {
class Peer;
}

namespace penstock::channel {

// What a lane knows of its source.
struct LaneSource {
  int rank = -1;  // world rank
  SourceBlock* block = nullptr;
  const std::atomic<bool>* dead = nullptr;
};

class BagLane final : public transport::Plan {
 public:
  // `slots`: the program's memory of this source's messages. `copies`: they come into the block
  // first.
  BagLane(const BagShape& shape, const LaneSource& source, std::byte* slots, bool copies,
          peer::Holding holding, peer::Peer& peer);
  ~BagLane() override;

  int rank() const noexcept { return source_.rank; }
  // The source has its part: it may store into the block.
  void connected() noexcept { connected_ = true; }

  // ---- The words of protocol/bag.hpp.
  template <protocol::Order order>
  Number load_head() const noexcept {
    return std::atomic_ref(block_.head).load(order);
  }
  template <protocol::Order order>
  BagEntry load_entry(Number number) const noexcept {
    return BagEntry::from(std::atomic_ref(block_.entry(number, shape_.slots)).load(order));
  }
  template <protocol::Order order>
  Number load_claimed() const noexcept {
    return claimed_.load(order);
  }
  bool claim(Number& number) noexcept {
    return claimed_.compare_exchange_strong(number, number + 1, std::memory_order_relaxed);
  }
  template <protocol::Order order>
  void store_released(Slot slot, Number number) const noexcept {
    std::atomic_ref(source_.block->released(slot)).store(number, order);
  }

  // By who has claimed the message: it is where the program looks for it.
  void take(Number number, const BagEntry& entry) noexcept;
  // The message that the slot holds and that has not been released; 0: there is none. It is the
  // caller's to release. Release: see take().
  Number let_go(Slot slot) noexcept { return held_[slot].exchange(0, std::memory_order_release); }

  bool source_has_closed() const noexcept {
    return std::atomic_ref(block_.closed).load(std::memory_order_acquire) != 0;
  }
  bool source_is_dead() const noexcept { return source_.dead->load(std::memory_order_acquire); }
  template <protocol::Order order>
  void store_closed(std::uint64_t closed) const noexcept {
    std::atomic_ref(source_.block->closed).store(closed, order);
  }
  // Whether a put may be writing into the program's slots, for as long as it is waited for.
  template <protocol::Order order>
  std::uint64_t load_writing() noexcept {
    if (copies_ || std::atomic_ref(source_.block->writing).load(order) == 0) return 0;
    return lasting_copy_.is_left_to_peer(label()) ? 0 : 1;
  }

  void check_stream(const device::Stream&) const override {}
  void start(device::Stream&, transport::Sink&) override {}
  void wait(device::Stream&, transport::Sink&) override {}
  void hand_over(device::Stream*, device::Stream&) override {}
  void close(device::Stream&, void (*ended)(void*), void* argument) override {
    close();
    ended(argument);
  }
  void close() override { store_closed<protocol::Order::release>(gone); }
  transport::PairState pair_state(transport::Epoch) const noexcept override {
    return transport::PairState::serves;
  }
  std::string path() const override {
    return copies_ ? "peer (a lane of a bag, copied out by the grab)" : "peer (a lane of a bag)";
  }
  std::string describe() const override { return "a lane of a bag"; }
  void cancel_wait(const base::Error&) noexcept override {}

 private:
  const BagShape shape_;
  const LaneSource source_;
  std::byte* const slots_;
  const bool copies_;
  peer::Holding holding_;
  LaneBlock& block_;  // which it holds
  peer::Retired& retired_;
  peer::LastingCopy lasting_copy_;
  bool connected_ = false;
  alignas(peer::cache_line) std::atomic<Number> claimed_{0};
  std::vector<std::atomic<Number>> held_;  // of each slot: the message that is grabbed, or 0
};

}  // namespace penstock::channel
