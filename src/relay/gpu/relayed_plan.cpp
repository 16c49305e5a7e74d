// SPDX-License-Identifier: Apache-2.0
#include "relay/gpu/relayed_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "device/gpu.hpp"
#include "device/gpu/memory.hpp"
#include "device/gpu/runtime.hpp"
#include "device/gpu/word_operations.hpp"
#include "relay/gpu/post_batch.hpp"

namespace penstock::relay {

using base::Error;
using base::ErrorKind;
using device::StreamKind;
using gpu::KernelQueue;
using gpu::LaunchStep;
using gpu::PinnedPool;
using gpu::Standing;

namespace {

static_assert(sizeof(RelayWords) <= PinnedPool::piece);

device::gpu::Stream& cuda_stream(device::Stream& stream) noexcept {
  return static_cast<device::gpu::Stream&>(stream);
}

PostBatch& posts_on(const KernelQueue& queue) noexcept {
  return static_cast<PostBatch&>(*queue.batch(LaunchStep::relay));
}

}  // namespace

RelayedPlan::RelayedPlan(const Equipment& equipment, const transport::Message& message,
                         std::size_t bytes, Approach approach)
    : equipment_(equipment), approach_(std::move(approach)), access_(approach_.access) {
  post_.sends = message.direction == transport::Direction::send;
  post_.buffer = static_cast<std::byte*>(message.buffer);
  post_.bytes = bytes;
  if (access_ == Access::host) return;
  device_ = device::gpu::region_of(message.buffer).device;
  if (access_ != Access::staged) return;
  staging_ = equipment.gpus->pinned().take(std::max<std::size_t>(bytes, 1));
  if (message.has_gaps()) {
    packed_.emplace(*equipment.gpus->devices().arena(device_), message, bytes, staging_);
  } else {
    arrivals_ = equipment.gpus->devices().arena(device_)->allocate(sizeof(Word64));
    post_.staging = staging_.get();
    post_.arrivals = reinterpret_cast<Word64*>(arrivals_.get());
    shape(post_);
  }
}

// MPI or the peer may still be at the message of a pair that has failed.
RelayedPlan::~RelayedPlan() {
  equipment_.host_pair_ends->remove(*this);
  leave_watch();
  if (pair_ && pair_->poisoned() && staging_) equipment_.gpus->keep(std::move(staging_));
}

void RelayedPlan::serve_by(std::unique_ptr<transport::Plan> plan) {
  auto* const host = dynamic_cast<plan::HostPlan*>(plan.get());
  if (host == nullptr)
    throw base::Error(base::ErrorKind::internal, "the relay serves plans of host transports alone");
  static_cast<void>(plan.release());
  host_.reset(host);
  try {
    if (access_ == Access::host) return equipment_.host_pair_ends->add(*this);
    take_words();
    prepare_pair();
  } catch (...) {
    host_->close();
    throw;
  }
}

void RelayedPlan::take_words() {
  words_ = equipment_.gpus->pinned().take();
  post_.words = static_cast<RelayWords*>(words_.get());
}

void RelayedPlan::prepare_pair() {
  pair_ = std::make_unique<RelayedPair>(*host_,
                                        *post_.words);  // first: who finds the plan may give it up
  try {
    post_.id = enter(equipment_.gpus->watchdog());
    if (packed_) packed_->set_id(post_.id);
    equipment_.relay->add(*pair_);  // last: from now on the plan must be closed
  } catch (...) {
    leave_watch();
    pair_.reset();
    throw;
  }
}

void RelayedPlan::set_label(std::string label) {
  host_->set_label(label);
  transport::Plan::set_label(std::move(label));
}

void RelayedPlan::set_traced(const base::trace::TracedMessage& message) {
  host_->set_traced(message);
  transport::Plan::set_traced(message);
}

void RelayedPlan::check_stream(const device::Stream& stream) const {
  if (access_ != Access::host) gpu::require_device(label(), stream, device_);
  if (used_on_ && *used_on_ != stream.kind())
    throw Error(
        ErrorKind::unsupported,
        label() +
            ": the request has been started on a queue of another type, and stays with that type");
  if (stream.kind() == StreamKind::cuda) check_cuda_stream(stream);
}

void RelayedPlan::check_cuda_stream(const device::Stream& stream) const {
  const auto& on_device = static_cast<const device::gpu::Stream&>(stream);
  if (!approach_.on_blocking_streams.yes && on_device.waits_for_legacy_stream())
    throw Error(ErrorKind::unsupported, label() + ": " + approach_.on_blocking_streams.why);
  // Host memory shows only now on which kind of stream it is used. Asked for once, before anything
  // is enqueued; the driver is not.
  if (!pair_) const_cast<RelayedPlan*>(this)->prepare_pair();
}

void RelayedPlan::start(device::Stream& stream, transport::Sink& sink) {
  used_on_ = stream.kind();
  if (stream.kind() == StreamKind::host) return host_->start(stream, sink);
  // What has been captured may be launched at any time from now on.
  if (cuda_stream(stream).last_capture() != 0)
    replayed_ = true;
  else
    host_->expect_start();
  equipment_.relay->expect(*pair_, replayed_);
  KernelQueue& queue = kernel_queue_on(stream, sink);
  if (packed_) packed_->before_start(queue);
  posts_on(queue).start(post_);
}

void RelayedPlan::wait(device::Stream& stream, transport::Sink& sink) {
  if (stream.kind() == StreamKind::host) return host_->wait(stream, sink);
  KernelQueue& queue = kernel_queue_on(stream, sink);
  const bool at_gates = queue.choose_standing(cuda_stream(stream)) == Standing::at_gates;
  posts_on(queue).wait(post_, at_gates && device::gpu::has_word_operations());
  if (packed_) packed_->after_wait(queue);
}

void RelayedPlan::hand_over(device::Stream* last, device::Stream& next) {
  if (next.kind() == StreamKind::host) return host_->hand_over(last, next);
  KernelPlan::hand_over(last, next);
}

void RelayedPlan::wait_flushed(device::Stream& stream) noexcept {
  if (stream.kind() == StreamKind::cuda) KernelPlan::wait_flushed(stream);
}

void RelayedPlan::close(device::Stream& stream, void (*ended)(void*), void* argument) {
  if (stream.kind() == StreamKind::host) return host_->close(stream, ended, argument);
  KernelPlan::close(stream, ended, argument);
}

void RelayedPlan::end_close(void (*ended)(void*), void* argument) noexcept {
  equipment_.relay->close(*pair_, ended, argument);
}

void RelayedPlan::close() {
  if (pair_)
    equipment_.relay->close(*pair_);
  else
    host_->close();
}

void RelayedPlan::cancel_wait(const Error& error) noexcept {
  if (used_on_ == StreamKind::host)
    host_->cancel_wait(error);
  else
    KernelPlan::cancel_wait(error);
}

std::string RelayedPlan::path() const {
  std::string how;
  if (access_ == Access::staged)
    how = ", from and to " PENSTOCK_GPU " memory by way of pinned memory";
  if (access_ == Access::direct) how = ", in " PENSTOCK_GPU " memory";
  if (!approach_.why_staged.empty()) how += " (" + approach_.why_staged + ")";
  return host_->path() + how;
}

Error RelayedPlan::error_of(Failure failure) const {
  if (failure == Failure::started_twice) return started_twice();
  return pair_->error();
}

void RelayedPlan::poison() noexcept {
  if (!pair_->poisoned()) equipment_.relay->poison(*pair_);
}

protocol::Epoch RelayedPlan::awaited_epoch() const noexcept {
  return std::atomic_ref(post_.words->awaited).load(std::memory_order_acquire);
}

// Behind the last wait that has ended.
protocol::Epoch RelayedPlan::epoch_at_gate() const noexcept {
  return std::atomic_ref(post_.words->done).load(std::memory_order_relaxed) + 1;
}

void RelayedPlan::open_gate() noexcept {
  std::atomic_ref(post_.words->gate.open).store(1, std::memory_order_release);
}

void RelayedPlan::follow(const KernelQueue& failed) noexcept {
  if (!used_on(failed) || pair_->poisoned()) return;
  if (packed_ && packed_->unpacks())
    equipment_.relay->poison(*pair_);
  else
    equipment_.relay->give_up(*pair_);
}

}  // namespace penstock::relay
