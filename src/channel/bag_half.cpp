// SPDX-License-Identifier: Apache-2.0
#include "channel/bag_half.hpp"

#include <fmt/format.h>

#include <exception>
#include <utility>

namespace penstock::channel {

using base::Error;
using base::ErrorKind;
using device::host::Command;

BagHalf::~BagHalf() {
  for (BagUser* each = users_.load(std::memory_order_acquire); each;)
    delete std::exchange(each, each->next);
}

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
  BagUser& user = user_for(stream, queue);
  as_host(*stream).push({step, &user, context, value});
}

// Without a lock, as calls on several queues come at once. Mostly the user is there.
BagUser& BagHalf::user_for(const std::shared_ptr<device::Stream>& stream, transport::Sink& queue) {
  BagUser* const first = users_.load(std::memory_order_acquire);
  for (BagUser* each = first; each; each = each->next)
    if (each->is_of(queue, *stream)) return *each;
  auto* const user = new BagUser(*this, queue, stream);
  user->next = first;
  while (!users_.compare_exchange_weak(user->next, user, std::memory_order_acq_rel)) continue;
  return *user;
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

// ---- The end

void BagHalf::close(device::Stream&, void (*ended)(void*), void* argument) {
  close_behind_own_streams(ended, argument);
}

// The last of the streams to get there tells the other ends.
bool BagHalf::close_step(Command& command) noexcept {
  auto& half = *static_cast<BagHalf*>(command.object);
  if (half.streams_left_.fetch_sub(1, std::memory_order_acq_rel) != 1) return true;
  half.tell(gone);
  half.ended_(half.argument_);  // last: the half may be gone when it returns
  return true;
}

bool BagHalf::close_behind_own_streams(void (*ended)(void*), void* argument) noexcept {
  ended_ = ended;
  argument_ = argument;
  BagUser* const first = users_.load(std::memory_order_acquire);
  std::uint32_t left = 0;
  for (BagUser* each = first; each; each = each->next)
    if ((each->closing = each->lock_stream())) ++left;
  streams_left_.store(left, std::memory_order_release);
  // The last stream's part may be done, and the half be gone, as soon as it is pushed.
  for (BagUser* each = first; left > 0;) {
    const auto stream = std::move(std::exchange(each, each->next)->closing);
    if (!stream) continue;
    as_host(*stream).push({&close_step, this, nullptr, 0});
    if (--left == 0) return true;
  }
  tell(gone);
  ended(argument);
  return true;
}

}  // namespace penstock::channel
