// SPDX-License-Identifier: Apache-2.0
#include "enqueued/gpu/kernel_message_plan.hpp"

#include "device/gpu/word_operations.hpp"
#include "enqueued/gpu/copy_batch.hpp"
#include "enqueued/gpu/segment_lists.hpp"
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

BundleStep KernelMessagePlan::step() const noexcept {
  BundleStep step;
  step.number = staging_.pieces().triggered();
  step.arrivals = reinterpret_cast<Word64*>(arrivals_.get());
  step.id = id_;
  return step;
}

// The engine has the bundle before a kernel can trigger it. Of a message with gaps that may come
// shorter than its receive all is unpacked: so what lies in the buffer now is in the piece before.
void KernelMessagePlan::start(device::Stream& stream, transport::Sink& sink) {
  KernelQueue& queue = kernel_queue_on(stream, sink);
  CopyBatch& copies = copies_on(queue, LaunchStep::enqueued);
  StagedPieces& pieces = staging_.pieces();
  staging_.forget_allocations();
  pieces.begin_trigger();
  copies.begin(step());
  pieces.trigger(messages_.open_bundle(), [&](const StagedMessage& staged) {
    if (staged.packed) {
      packing_on(queue, LaunchStep::pack).start(*staged.packed);
      if (staged.list) staged.list->packed_for = pieces.triggered();
    } else if (staged.sends) {
      copies.add({staged.piece, staged.buffer, staged.bytes});
    }
  });
  messages_.publish();
  copies.finish(&words_.triggered);
}

// What has been unpacked is told behind that.
void KernelMessagePlan::wait(device::Stream& stream, transport::Sink& sink) {
  KernelQueue& queue = kernel_queue_on(stream, sink);
  CopyBatch& copies = copies_on(queue, LaunchStep::enqueued);
  StagedPieces& pieces = staging_.pieces();
  const auto standing = queue.choose_standing(static_cast<device::gpu::Stream&>(stream));
  const bool at_gate = standing == gpu::Standing::at_gates && device::gpu::has_word_operations();
  BundleStep wait = step();
  wait.wait_for = &words_.completed;
  wait.say_waiting = &words_.awaited;
  wait.on_failure = &words_.gave_up;
  wait.besides_number = pieces.begin_wait();
  if (wait.besides_number != 0) wait.besides = &words_.copied;
  copies.begin(wait, at_gate ? &words_.passed : nullptr);
  bool unpacks = false;
  pieces.wait([&](const StagedMessage& receive) {
    if (!receive.packed)
      return copies.add({receive.buffer, receive.piece, receive.bytes, receive.received});
    packing_on(queue, LaunchStep::unpack).wait(*receive.packed);
    if (receive.list) receive.list->unpacked_for = pieces.triggered();
    unpacks = true;
  });
  copies.finish(unpacks ? nullptr : &words_.taken);
  if (!unpacks) return;
  CopyBatch& behind = copies_on(queue, LaunchStep::tell_unpacked);
  BundleStep told = step();
  told.on_failure = &words_.gave_up;
  behind.begin(told);
  behind.finish(&words_.taken);
}

}  // namespace penstock::enqueued
