// SPDX-License-Identifier: Apache-2.0
// The end of a bag that messages are put at: one source's.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "channel/bag_half.hpp"
#include "channel/bag_words.hpp"
#include "peer/holding.hpp"

namespace penstock::channel {

// What a source knows of the receiver.
struct BagTarget {
  int rank = -1;  // world rank
  LaneBlock* lane = nullptr;
  std::byte* messages = nullptr;
  const std::atomic<bool>* dead = nullptr;
};

class BagSource final : public BagHalf {
 public:
  // The block is at holding.block().
  BagSource(const BagShape& shape, const BagTarget& target, peer::Holding holding,
            peer::Retired& retired);
  ~BagSource() override;

  // check() has passed, and so many elements fit into a slot.
  void put(const void* from, std::uint64_t count, const std::shared_ptr<device::Stream>& stream,
           transport::Sink& queue) {
    push(&put_step, const_cast<void*>(from), count, stream, queue);
  }

  std::string missing() const override;
  std::string path() const override { return "peer (a lane of a bag)"; }

 private:
  static bool put_step(device::host::Command& command) noexcept;
  bool try_put(const void* from, std::uint64_t count) noexcept;
  std::optional<base::Error> hopeless() const override;
  void tell(std::uint64_t closed) noexcept override;

  const BagShape shape_;
  const BagTarget target_;
  peer::Holding holding_;
  SourceBlock& block_;  // which it holds
  peer::Retired& retired_;
  SourceSlots slots_;
  std::atomic<bool> taken_{false};  // by a queue that looks at the words
  std::atomic<Number> put_{0};      // messages; who has taken it alone stores
};

}  // namespace penstock::channel
