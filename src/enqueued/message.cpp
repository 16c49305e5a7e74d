// SPDX-License-Identifier: Apache-2.0
#include "enqueued/message.hpp"

#include <fmt/format.h>

namespace penstock::enqueued {

std::string EnqueuedMessage::label() const {
  return fmt::format("{} rank {} (tag {}, {}, {} bytes)", sends() ? "send to" : "receive from",
                     peer, tag, communicator->name, bytes);
}

base::Error too_long_error(const EnqueuedMessage& receive, std::size_t bytes) noexcept {
  return base::error_by(base::ErrorKind::truncate, [&] {
    return fmt::format(
        "enqueued {}: the message has {} bytes, longer than this receive, whose count or buffer "
        "must be larger",
        receive.label(), bytes);
  });
}

}  // namespace penstock::enqueued
