// SPDX-License-Identifier: Apache-2.0
// A message in memory of a GPU whose bytes lie with gaps, for those who move it without: kernels
// pack it before each start, or unpack it behind each wait, in the order of the stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "gpu/device_arena.hpp"
#include "gpu/kernel_queue.hpp"
#include "gpu/pack_work.hpp"
#include "transport/message.hpp"

namespace penstock::gpu {

class PackedMessage {
 public:
  // `bytes`: of the send. `room` holds as many, in memory that kernels of the buffer's device can
  // address; the arena is that device's. Throws Error(resources).
  PackedMessage(DeviceArena& arena, const transport::Message& message, std::size_t bytes,
                std::shared_ptr<std::byte> room);

  std::byte* room() const noexcept { return room_.get(); }
  std::size_t bytes() const noexcept { return work_.bytes; }
  // Then what has come may be lost behind a failure of the queue, where the kernel does nothing.
  bool unpacks() const noexcept { return !sends_; }
  void set_id(std::uint32_t id) noexcept { work_.id = id; }  // of the plan
  // Enqueue calls, of one half's start and wait.
  void before_start(const KernelQueue& queue) const noexcept;
  void after_wait(const KernelQueue& queue) const noexcept;

 private:
  const bool sends_;
  const std::shared_ptr<std::byte> room_;
  std::shared_ptr<std::byte> list_;  // on the device; null: one segment
  PackWork work_;
};

}  // namespace penstock::gpu
