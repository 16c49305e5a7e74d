// SPDX-License-Identifier: Apache-2.0
// A channel, as the match sees it: one request that stands for a message in each of its units. The
// room channel says how the units travel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "transport/transport.hpp"

namespace penstock::core {

// What both ends have alike. All zero: it is no channel.
struct ChannelShape {
  std::uint64_t element_bytes = 0;
  std::uint64_t unit = 0;  // elements
  std::uint64_t count = 0;
  bool operator==(const ChannelShape&) const = default;
};

class Channel {
 public:
  virtual ~Channel() = default;
  virtual ChannelShape shape() const noexcept = 0;
  // As those of a transport, for all units at once. The plan that comes of them is the room's own.
  virtual std::unique_ptr<transport::Offer> offer(transport::Transport& by,
                                                  const transport::Message& send) const = 0;
  virtual std::unique_ptr<transport::Acceptance> accept(transport::Transport& by,
                                                        const transport::Message& receive,
                                                        const transport::Message& send,
                                                        std::span<const std::byte> offer) const = 0;
};

}  // namespace penstock::core
