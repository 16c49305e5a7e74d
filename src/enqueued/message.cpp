// SPDX-License-Identifier: Apache-2.0
#include "enqueued/message.hpp"

#include <fmt/format.h>

#include "group/mpi_layout.hpp"

namespace penstock::enqueued {

using base::Error;
using base::ErrorKind;

std::string EnqueuedMessage::label() const {
  return fmt::format("{} rank {} (tag {}, {}, {} bytes)", sends() ? "send to" : "receive from",
                     peer, tag, communicator->name, bytes);
}

std::byte* lowest_of(const EnqueuedMessage& message, const group::MpiLayout& layout) noexcept {
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::intptr_t>(message.buffer) +
                                      layout.lowest());
}

void require_described(const EnqueuedMessage& message, const group::MpiLayout& layout) {
  if (!layout.refusal().empty())
    throw Error(ErrorKind::argument, message.label() + ": " + layout.refusal());
  if (!layout.contiguous() && !layout.segments())
    throw Error(ErrorKind::unsupported, message.label() + ": " + transport::undescribed_text);
}

Error too_long_error(const EnqueuedMessage& receive, std::size_t bytes) noexcept {
  return base::error_by(ErrorKind::truncate, [&] {
    return fmt::format(
        "enqueued {}: the message has {} bytes, longer than this receive, whose count or buffer "
        "must be larger",
        receive.label(), bytes);
  });
}

}  // namespace penstock::enqueued
