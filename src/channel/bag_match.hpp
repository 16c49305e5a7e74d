// SPDX-License-Identifier: Apache-2.0
// The match of a source's end of a bag with its lane at the receiver: by `peer` alone, as each end
// stores into the other's memory.
#pragma once

#include <memory>
#include <span>

#include "channel/bag_words.hpp"
#include "core/channel.hpp"

namespace penstock::channel {

// What each end of a lane has of it, as the match sees it.
class BagEndOfLane : public core::Channel {
 public:
  explicit BagEndOfLane(const BagShape& shape) noexcept : bag_(shape) {}

  const BagShape& bag() const noexcept { return bag_; }
  core::ChannelShape shape() const noexcept override {
    return {bag_.element_bytes, bag_.slot_elements, bag_.slots * bag_.slot_elements, bag_.slots};
  }
  const char* name() const noexcept override { return "bag"; }
  std::unique_ptr<transport::Offer> offer(transport::Transport& by,
                                          const transport::Message& send) const override;
  // The lane's plan is a BagLane.
  std::unique_ptr<transport::Acceptance> accept(transport::Transport& by,
                                                const transport::Message& receive,
                                                const transport::Message& send,
                                                std::span<const std::byte> offer) const override;

 private:
  const BagShape bag_;
};

}  // namespace penstock::channel
