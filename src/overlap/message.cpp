// SPDX-License-Identifier: Apache-2.0
#include "overlap/message.hpp"

#include <fmt/format.h>

#include <string>

namespace penstock::overlap {

namespace {

std::string place_of(const Message& message) {
  const std::string peer =
      message.peer == core::any_rank ? "any rank" : fmt::format("rank {}", message.peer);
  const std::string tag =
      message.tag == core::any_tag ? "any tag" : fmt::format("tag {}", message.tag);
  return fmt::format("{} {}, {}, {}", message.sends ? "to" : "from", peer, tag,
                     message.communicator->name);
}

}  // namespace

std::string Message::label() const {
  return fmt::format("{} {}, {} bytes", call, place_of(*this), bytes);
}

}  // namespace penstock::overlap
