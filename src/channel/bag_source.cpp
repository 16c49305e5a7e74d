// SPDX-License-Identifier: Apache-2.0
#include "channel/bag_source.hpp"

#include <fmt/format.h>

#include <utility>

namespace penstock::channel {

using base::Error;
using base::ErrorKind;

BagSource::BagSource(const BagShape& shape, const BagTarget& target, peer::Holding holding,
                     peer::Retired& retired)
    : shape_(shape),
      target_(target),
      holding_(std::move(holding)),
      block_(*reinterpret_cast<SourceBlock*>(holding_.block())),
      retired_(retired),
      slots_(shape.slots) {}

// The receiver may still give slots back.
BagSource::~BagSource() {
  retired_.add(std::move(holding_), [closed = &block_.closed, dead = target_.dead] {
    return std::atomic_ref(*closed).load(std::memory_order_acquire) == gone ||
           dead->load(std::memory_order_acquire);
  });
}

bool BagSource::put_step(device::host::Command& command) noexcept {
  BagUser& user = user_of(command);
  auto& source = static_cast<BagSource&>(user.half());
  return source.wait_step(user, [&] { return source.try_put(command.context, command.value); });
}

// Queues put in turn, each in its own order.
bool BagSource::try_put(const void* from, std::uint64_t count) noexcept {
  if (taken_.exchange(true, std::memory_order_acquire)) return false;
  const Number number = put_.load(std::memory_order_relaxed) + 1;
  SourcePort port{block_, *target_.lane, target_.messages, shape_, *target_.dead, slots_, from,
                  count,  number};
  const bool ended = protocol::bag::put(port, number) == protocol::Progress::ended;
  if (ended) put_.store(number, std::memory_order_relaxed);
  taken_.store(false, std::memory_order_release);
  return ended;
}

std::string BagSource::missing() const {
  return fmt::format(
      "a put of message {}, which waits for rank {} to release a slot: all {} are full",
      put_.load(std::memory_order_relaxed) + 1, target_.rank, shape_.slots);
}

std::optional<Error> BagSource::hopeless() const {
  if (std::atomic_ref(block_.closed).load(std::memory_order_acquire) != 0)
    return Error(
        ErrorKind::peer_freed,
        fmt::format("rank {} has freed its bag, given it up after an error, which its log tells, "
                    "or called MPI_Finalize, and takes no message any more: free this end, and "
                    "match a new bag on all ends",
                    target_.rank));
  if (target_.dead->load(std::memory_order_acquire))
    return Error(ErrorKind::peer_dead,
                 fmt::format("rank {}, whose bag it is, has ended: see its output", target_.rank));
  return std::nullopt;
}

void BagSource::tell(std::uint64_t closed) noexcept {
  std::atomic_ref(target_.lane->closed).store(closed, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

}  // namespace penstock::channel
