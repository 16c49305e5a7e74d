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
  step.sent = staging_.sent_words();
  step.arrivals = reinterpret_cast<Word64*>(arrivals_.get());
  step.id = id_;
  step.taken = &words_.taken;
  step.before = untold_;
  return step;
}

// The engine has the bundle before a kernel can trigger it. A receive with gaps is
// unpacked whole, even if its message is shorter: so what its buffer holds now is packed into the
// piece first.
void KernelMessagePlan::start(device::Stream& stream, transport::Sink& sink) {
  KernelQueue& queue = kernel_queue_on(stream, sink);
  CopyBatch& copies = copies_on(queue, LaunchStep::enqueued);
  StagedPieces& pieces = staging_.pieces();
  staging_.forget_allocations();
  pieces.begin_trigger();
  note_engines_share(messages_.open_bundle());
  const bool by_kernel = needs_kernel(messages_.open_bundle());
  if (by_kernel) {
    copies.begin(step());
    untold_ = 0;
  }
  pieces.trigger(messages_.open_bundle(), [&](const StagedMessage& staged) {
    if (staged.packed) {
      packing_on(queue, LaunchStep::pack).start(*staged.packed);
      if (staged.list) staged.list->packed_for = pieces.triggered();
    } else if (staged.sends) {
      CopyWork copy(staged.piece, staged.buffer, staged.bytes);
      copy.go_by(staged.lane);
      copies.add(copy);
    }
  });
  messages_.publish(by_kernel ? std::nullopt : std::optional(told_));
  if (by_kernel) copies.finish(&words_.triggered);
}

// Of receives that only kernels of waits write to the program's buffers nobody has to know when the
// stream gets to their trigger: the engine may fill their pinned memory as soon as the stream has
// passed the wait that has given it back, and a kernel has told that.
bool KernelMessagePlan::needs_kernel(const Bundle& bundle) const noexcept {
  if (untold_ != 0 || !bundle.quiet) return true;
  for (const EnqueuedMessage& message : bundle)
    if (message.promised.by_kernel && (message.sends() || message.staged->packed)) return true;
  return false;
}

// Whether a wait has to ask what the engine has completed: that takes a way across the bus.
void KernelMessagePlan::note_engines_share(const Bundle& bundle) noexcept {
  for (const EnqueuedMessage& message : bundle)
    if (!message.promised.by_kernel && message.peer != MPI_PROC_NULL)
      engines_ = staging_.pieces().triggered();
}

// What has been unpacked is told behind that. What nobody waits for in the host is told by the next
// kernel: a store across the bus lasts as long as a small message, and a kernel does not end
// before.
void KernelMessagePlan::wait(device::Stream& stream, transport::Sink& sink) {
  KernelQueue& queue = kernel_queue_on(stream, sink);
  CopyBatch& copies = copies_on(queue, LaunchStep::enqueued);
  StagedPieces& pieces = staging_.pieces();
  if (pieces.none_triggered() && engines_ <= awaited_) return;
  const auto standing = queue.choose_standing(static_cast<device::gpu::Stream&>(stream));
  const bool at_gate = standing == gpu::Standing::at_gates && device::gpu::has_word_operations();
  BundleStep wait = step();
  wait.completed = &words_.completed;
  if (engines_ > awaited_ || at_gate) {
    wait.wait_for = &words_.completed;
    wait.wait_number = at_gate ? wait.number : engines_;
    awaited_ = engines_;
  }
  wait.too_long = &words_.too_long;
  wait.say_waiting = &words_.awaited;
  wait.on_failure = &words_.gave_up;
  wait.besides_number = pieces.begin_wait();
  if (wait.besides_number != 0) wait.besides = &words_.copied;
  told_ = wait.number;
  untold_ = 0;
  copies.begin(wait, at_gate ? &words_.passed : nullptr);
  bool unpacks = false, waits_in_lanes = false, tells = at_gate;
  pieces.wait([&](const StagedMessage& receive) {
    waits_in_lanes |= receive.lane.stands();
    tells |= !receive.lane.stands() || receive.lane.report != nullptr;
    CopyWork copy(receive.packed ? receive.piece : receive.buffer, receive.piece, receive.bytes,
                  receive.received);
    copy.go_by(receive.lane);
    if (!receive.packed) return copies.add(copy);
    if (copy.lane.stands()) copies.add(copy);
    packing_on(queue, LaunchStep::unpack).wait(*receive.packed);
    if (receive.list) receive.list->unpacked_for = pieces.triggered();
    unpacks = true;
  });
  if (!unpacks && !tells && waits_in_lanes) untold_ = told_;
  copies.finish(unpacks || untold_ != 0 ? nullptr : &words_.taken,
                untold_ == 0 ? nullptr : &staging_.launched());
  if (!unpacks) return;
  CopyBatch& behind = copies_on(queue, LaunchStep::tell_unpacked);
  BundleStep told = step();
  told.on_failure = &words_.gave_up;
  behind.begin(told);
  behind.finish(&words_.taken);
}

}  // namespace penstock::enqueued
