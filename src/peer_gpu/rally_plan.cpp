// SPDX-License-Identifier: Apache-2.0
#include "peer_gpu/rally_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "device/gpu.hpp"
#include "device/gpu/runtime.hpp"
#include "peer_gpu/rally_batch.hpp"
#include "plan/peer_closed.hpp"

namespace penstock::peer_gpu {

using base::Error;
using base::ErrorKind;
using gpu::LaunchStep;
using protocol::Epoch;

namespace {

RallyBatch& rallies_on(const KernelQueue& queue) noexcept {
  return static_cast<RallyBatch&>(*queue.batch(LaunchStep::rally));
}

Word64 load_word(Word64& word) noexcept {
  return std::atomic_ref(word).load(std::memory_order_acquire);
}

Error dead_at_start(const std::string& label, int rank) {
  return Error(ErrorKind::peer_dead,
               fmt::format("{}: rank {} has ended: see its output", label, rank));
}

RallyItem started(RallyItem item) noexcept {
  item.starts = true;
  return item;
}

RallyItem one_block_that_looks(RallyItem item) noexcept {
  item.looks = true;
  item.blocks = 1;
  return item;
}

}  // namespace

RallyPlan::RallyPlan(RallyParts parts, KernelWatchdog& watchdog) : parts_(std::move(parts)) {
  parts_.item.id = enter(watchdog);
}

// A plan that has told nobody that it leaves has not been agreed on: nobody stores.
RallyPlan::~RallyPlan() {
  leave_watch();
  if (!left_) return;
  parts_.retired->add(std::move(parts_.holding), [members = parts_.members] {
    return std::all_of(members.begin(), members.end(), [](const RallyMember& member) {
      return member.tells == nullptr || load_word(member.tells->gone) != 0;
    });
  });
}

void RallyPlan::check_stream(const device::Stream& stream) const {
  gpu::require_device(label(), stream, parts_.arena->device());
}

void RallyPlan::start(device::Stream& stream, transport::Sink& sink) {
  KernelQueue& queue = kernel_queue_on(stream, sink);
  // What others have of the memory may be gone with them.
  if (const RallyMember* const member = dead_member())
    return queue.fail(dead_at_start(label(), member->rank));
  if (closed_.load(std::memory_order_relaxed)) return queue.fail(error_of(Failure::given_up));
  if (!runs_) rallies_on(queue).start(started(parts_.item));
}

// Where many kernels may wait on the device, each keeps one block there: it waits until its members
// have started, and only then come the others.
void RallyPlan::wait(device::Stream& stream, transport::Sink& sink) {
  KernelQueue& queue = kernel_queue_on(stream, sink);
  RallyBatch& batch = rallies_on(queue);
  RallyItem item = std::exchange(runs_, false) ? started(parts_.item) : parts_.item;
  const auto standing = queue.choose_standing(static_cast<const device::gpu::Stream&>(stream));
  if (standing != gpu::Standing::all_stay && item.blocks > 1) {
    if (item.starts) batch.start(item);
    item.starts = false;
    batch.wait(one_block_that_looks(item));
    queue.flush();
  }
  item.waits = true;
  batch.wait(item);
}

bool RallyPlan::prepare_close(device::gpu::Stream& stream) noexcept {
  const auto copy = [&](void* to, const void* from, std::size_t bytes) {
    return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream.handle()) == cudaSuccess;
  };
  return copy(&notice().last, &state().block[0], sizeof(RallyWords)) &&
         copy(&notice().last_given_up, &state().given_up, sizeof(Word64));
}

void RallyPlan::end_close(void (*ended)(void*), void* argument) noexcept {
  const Word64 given_up = notice().last_given_up;
  leave_at(given_up != 0 ? given_up : notice().last.done + 1);
  ended(argument);  // last: the plan may be gone when it returns
}

void RallyPlan::close() {
  RallyState last{};
  parts_.arena->read(&last, parts_.state.get(), sizeof last);
  leave_at(last.given_up != 0 ? last.given_up : last.block[0].done + 1);
}

void RallyPlan::close_at(Epoch first_not_served) noexcept {
  if (closed_.exchange(true)) return;
  for (const RallyMember& member : parts_.members)
    if (member.told != nullptr)
      std::atomic_ref(member.told->closed).store(first_not_served, std::memory_order_release);
}

// The members may use their slots for us again once this has come: no kernel of ours stores there
// afterwards.
void RallyPlan::leave_at(Epoch first_not_served) noexcept {
  close_at(first_not_served);
  left_ = true;
  for (const RallyMember& member : parts_.members)
    if (member.told != nullptr)
      std::atomic_ref(member.told->gone).store(1, std::memory_order_release);
}

const RallyMember* RallyPlan::closed_member(Epoch epoch) const noexcept {
  for (const RallyMember& member : parts_.members)
    if (member.tells != nullptr && protocol::closed_before(load_word(member.tells->closed), epoch))
      return &member;
  return nullptr;
}

const RallyMember* RallyPlan::dead_member() const noexcept {
  for (const RallyMember& member : parts_.members)
    if (member.dead->load(std::memory_order_acquire)) return &member;
  return nullptr;
}

transport::PairState RallyPlan::pair_state(Epoch epoch) const noexcept {
  using transport::PairState;
  if (closed_.load(std::memory_order_relaxed)) return PairState::given_up;
  return closed_member(epoch) != nullptr ? PairState::peer_closed : PairState::serves;
}

// Epochs are known to the device alone, so it is all of them.
void RallyPlan::poison() noexcept {
  if (closed_.load(std::memory_order_relaxed)) return;
  const device::gpu::DeviceGuard guard(parts_.arena->device());
  if (cudaMemsetAsync(&state().given_up, 1, 1, parts_.arena->stream()) != cudaSuccess)
    (void)cudaGetLastError();
  close_at(1);
}

void RallyPlan::follow(const KernelQueue& /*failed*/) noexcept {
  if (const Word64 given_up = load_word(notice().given_up)) close_at(given_up);
}

Epoch RallyPlan::awaited_epoch() const noexcept {
  return load_word(notice().awaited);
}

// A wait that is hopeless goes on looking until it is released: what it is for may have come just
// before its sender went.
void RallyPlan::look_for_lost_cause() noexcept {
  const Epoch epoch = reported_epoch();
  try {
    if (const RallyMember* const closed = closed_member(epoch))
      cancel_wait(plan::member_closed_error(closed->rank, epoch));
    else if (const RallyMember* const dead = dead_member())
      cancel_wait(plan::dead_error(dead->rank, epoch));
  } catch (const std::exception&) {
    // No memory for a text: the next poll tries again.
  }
}

Error RallyPlan::error_of(Failure failure) const {
  switch (failure) {
    case Failure::given_up:
      return Error(ErrorKind::transport,
                   label() + ": it was given up when another queue failed; free the request");
    case Failure::started_twice:
      return started_twice();
    default:
      return Error(ErrorKind::internal, label() + ": failed without a reason");
  }
}

std::string RallyPlan::describe() const {
  return fmt::format("epoch {}, direct exchange, waits for another member", reported_epoch());
}

}  // namespace penstock::peer_gpu
