// SPDX-License-Identifier: Apache-2.0
// Both ends of a bag as the program has made them. A receiver's has a lane for each source, which
// is matched in its place, as a receive of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "channel/bag_match.hpp"
#include "channel/bag_plan.hpp"
#include "core/channel.hpp"
#include "core/matched_request.hpp"
#include "core/queue.hpp"

namespace penstock::channel {

// The end that puts.
class BagSourceEnd final : public BagEndOfLane {
 public:
  using BagEndOfLane::BagEndOfLane;

  // Throws base::Error, before anything is enqueued. `request` is the one that this is the bag of.
  void put(core::MatchedRequest& request, core::Queue& queue, const void* from,
           std::int64_t count) const;
};

// The end that grabs.
class BagEnd final : public core::Channel {
 public:
  // `lanes`: receives of BagEndOfLane, in the order of the slots; `ranks`: of their sources, in the
  // communicator.
  BagEnd(const BagShape& shape, std::vector<std::unique_ptr<core::MatchedRequest>> lanes,
         std::vector<int> ranks);

  core::ChannelShape shape() const noexcept override {
    return {bag_.element_bytes, bag_.slot_elements, bag_.slots * bag_.slot_elements, bag_.slots};
  }
  const char* name() const noexcept override { return "bag"; }
  std::span<core::MatchedRequest* const> lanes() const noexcept override { return lanes_; }
  std::unique_ptr<transport::Plan> make_gathering_plan() const override {
    return std::make_unique<BagPlan>(bag_, lanes_, ranks_);
  }
  // Never called: the lanes are matched.
  std::unique_ptr<transport::Offer> offer(transport::Transport&,
                                          const transport::Message&) const override {
    return nullptr;
  }
  std::unique_ptr<transport::Acceptance> accept(transport::Transport&, const transport::Message&,
                                                const transport::Message&,
                                                std::span<const std::byte>) const override {
    return nullptr;
  }

  // As put().
  void grab(core::MatchedRequest& request, core::Queue& queue, Grabbed* grabbed) const;
  void release(core::MatchedRequest& request, core::Queue& queue, const Grabbed* grabbed) const;

 private:
  BagPlan& require(core::MatchedRequest& request, core::Queue& queue, const char* call) const;

  const BagShape bag_;
  const std::vector<std::unique_ptr<core::MatchedRequest>> own_;
  std::vector<core::MatchedRequest*> lanes_;
  const std::vector<int> ranks_;
};

}  // namespace penstock::channel
