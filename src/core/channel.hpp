// SPDX-License-Identifier: Apache-2.0
// A channel, as the match sees it: one request that stands for a message in each of its units. The
// room channel says how the units travel. The ends of a bag are channels, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "transport/transport.hpp"

namespace penstock::core {

class MatchedRequest;

// What both ends have alike. All zero: it is no channel.
struct ChannelShape {
  std::uint64_t element_bytes = 0;
  std::uint64_t unit = 0;  // elements
  std::uint64_t count = 0;
  std::uint64_t slots = 0;  // of a bag: those of a source, each of which is a unit
  bool operator==(const ChannelShape&) const = default;
};

class Channel {
 public:
  virtual ~Channel() = default;
  virtual ChannelShape shape() const noexcept = 0;
  virtual const char* name() const noexcept { return "channel"; }
  // The requests that are matched in its place, where it gathers what several others send; its own
  // plan, which looks at theirs, needs no match then.
  virtual std::span<MatchedRequest* const> lanes() const noexcept { return {}; }
  virtual std::unique_ptr<transport::Plan> make_gathering_plan() const { return nullptr; }
  // As those of a transport, for all units at once. The plan that comes of them is the room's own.
  virtual std::unique_ptr<transport::Offer> offer(transport::Transport& by,
                                                  const transport::Message& send) const = 0;
  virtual std::unique_ptr<transport::Acceptance> accept(transport::Transport& by,
                                                        const transport::Message& receive,
                                                        const transport::Message& send,
                                                        std::span<const std::byte> offer) const = 0;
};

}  // namespace penstock::core
