// SPDX-License-Identifier: Apache-2.0
#include "gpu/packed_message.hpp"

#include <utility>

#include "gpu/pack_kernels.hpp"

namespace penstock::gpu {

namespace {

PackBatch& batch_of(const KernelQueue& queue, LaunchStep step) noexcept {
  return static_cast<PackBatch&>(*queue.batch(step));
}

}  // namespace

PackedMessage::PackedMessage(DeviceArena& arena, const transport::Message& message,
                             std::size_t bytes, std::shared_ptr<std::byte> room)
    : sends_(message.direction == transport::Direction::send), room_(std::move(room)) {
  const auto segments = message.segments();
  const auto list = segments->list();
  if (list.size() > 1) {  // a single segment travels with each launch
    list_ = arena.allocate(list.size_bytes());
    arena.write(list_.get(), list.data(), list.size_bytes());
  }
  work_ = pack_work(*segments, reinterpret_cast<const datatype::Segment*>(list_.get()),
                    static_cast<std::byte*>(message.buffer), room_.get(), bytes);
}

void PackedMessage::before_start(const KernelQueue& queue) const noexcept {
  if (sends_) batch_of(queue, LaunchStep::pack).start(work_);
}

void PackedMessage::after_wait(const KernelQueue& queue) const noexcept {
  if (!sends_) batch_of(queue, LaunchStep::unpack).wait(work_);
}

}  // namespace penstock::gpu
