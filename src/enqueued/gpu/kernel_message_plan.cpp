// SPDX-License-Identifier: Apache-2.0
#include "enqueued/gpu/kernel_message_plan.hpp"

#include "device/gpu/word_operations.hpp"
#include "enqueued/gpu/copy_batch.hpp"
#include "gpu/pack_kernels.hpp"

namespace penstock::enqueued {

using gpu::KernelQueue;
using gpu::LaunchStep;

namespace {

CopyBatch& copies_on(const KernelQueue& queue, LaunchStep step) noexcept {
  return static_cast<CopyBatch&>(*queue.batch(step));
}

gpu::PackBatch& packing_on(const KernelQueue& queue, LaunchStep step) noexcept {
  return static_cast<gpu::PackBatch&>(*queue.batch(step));
}

}  // namespace

KernelMessagePlan::KernelMessagePlan(DeviceStaging& staging, QueueMessages& messages,
                                     MessageEngine& engine)
    : staging_(staging),
      messages_(messages),
      engine_(engine),
      words_(staging.words()),
      arrivals_(staging.gpus().devices().arena(staging.device())->allocate(sizeof(Word64))) {
  id_ = enter(staging.gpus().watchdog());
  staging.set_id(id_);
}

Bell KernelMessagePlan::bell() const noexcept {
  Bell bell;
  bell.number = staging_.triggered();
  bell.arrivals = reinterpret_cast<Word64*>(arrivals_.get());
  bell.id = id_;
  return bell;
}

// The engine has the bundle before a kernel can trigger it.
void KernelMessagePlan::start(device::Stream& stream, transport::Sink& sink) {
  KernelQueue& queue = kernel_queue_on(stream, sink);
  CopyBatch& copies = copies_on(queue, LaunchStep::messages);
  staging_.begin_trigger();
  copies.begin(bell());
  staging_.trigger(messages_.open_bundle(), [&](const StagedMessage& send) {
    if (send.packed)
      packing_on(queue, LaunchStep::pack).start(*send.packed);
    else
      copies.add({send.piece, send.buffer, send.bytes});
  });
  messages_.publish();
  copies.finish(&words_.triggered);
}

// What has been unpacked is told behind that.
void KernelMessagePlan::wait(device::Stream& stream, transport::Sink& sink) {
  KernelQueue& queue = kernel_queue_on(stream, sink);
  CopyBatch& copies = copies_on(queue, LaunchStep::messages);
  const auto standing = queue.choose_standing(static_cast<device::gpu::Stream&>(stream));
  const bool at_gate = standing == gpu::Standing::at_gates && device::gpu::has_word_operations();
  Bell wait = bell();
  wait.completed = &words_.completed;
  wait.awaited = &words_.awaited;
  copies.begin(wait, at_gate ? &words_.passed : nullptr);
  bool unpacks = false;
  staging_.wait([&](const StagedMessage& receive) {
    if (!receive.packed) return copies.add({receive.buffer, receive.piece, receive.bytes});
    packing_on(queue, LaunchStep::unpack).wait(*receive.packed);
    unpacks = true;
  });
  copies.finish(unpacks ? nullptr : &words_.taken);
  if (!unpacks) return;
  CopyBatch& behind = copies_on(queue, LaunchStep::unpacked);
  behind.begin(bell());
  behind.finish(&words_.taken);
}

}  // namespace penstock::enqueued
