// SPDX-License-Identifier: Apache-2.0
#include "channel/bag_half.hpp"

#include <fmt/format.h>

#include <exception>

namespace penstock::channel {

using base::Error;
using base::ErrorKind;

// ---- Calls

void BagHalf::check_stream(const device::Stream&) const {
  throw Error(ErrorKind::unsupported,
              label() +
                  " is a bag, for which PST_Bag_put, PST_Bag_grab and PST_Bag_release are, not the "
                  "calls of messages");
}

void BagHalf::check(const device::Stream& stream) const {
  if (stream.kind() != device::StreamKind::host)
    throw Error(ErrorKind::unsupported,
                "bags are served on queues over streams of the host alone, of type PST_QUEUE_HOST");
  if (const Error* const failure = failure_.get())
    throw Error(failure->kind(), fmt::format("the bag has been given up: {}: free it, and match a "
                                             "new one on all ends",
                                             failure->text()));
}

void BagHalf::push(device::host::Step step, void* context, std::uint64_t value,
                   const std::shared_ptr<device::Stream>& stream, transport::Sink& queue) {
  BagUser& user = used_by<BagUser>([&](const BagUser& each) { return each.is_of(queue, *stream); },
                                   [&] { return new BagUser(*this, queue, stream); });
  host_stream(*stream).push({step, &user, context, value});
}

// ---- Failures

void BagHalf::give_up(const Error& error) noexcept {
  if (failure_.get()) return;
  failure_.set(base::error_by(error.kind(), [&] {
    return error.text().find(label()) == std::string_view::npos
               ? fmt::format("{}: {}", label(), error.text())
               : std::string(error.text());
  }));
  tell(given_up);
}

bool BagHalf::ends_by_failure(BagUser& user) noexcept {
  if (const Error* const cancelled = user.cancelled()) give_up(*cancelled);
  const Error* const failure = failure_.get();
  if (!failure) return false;
  user.queue().fail(*failure);
  user.end();
  return true;
}

std::optional<Error> BagHalf::say_why_hopeless() const noexcept {
  try {
    return hopeless();
  } catch (const std::exception&) {
    return Error(ErrorKind::resources);
  }
}

}  // namespace penstock::channel
