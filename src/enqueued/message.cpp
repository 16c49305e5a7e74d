// SPDX-License-Identifier: Apache-2.0
#include "enqueued/message.hpp"

#include <fmt/format.h>

namespace penstock::enqueued {

std::string EnqueuedMessage::label() const {
  return fmt::format("{} rank {} (tag {}, {}, {} bytes)", sends() ? "send to" : "receive from",
                     peer, tag, communicator->name, bytes);
}

}  // namespace penstock::enqueued
