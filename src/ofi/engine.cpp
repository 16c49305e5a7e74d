// SPDX-License-Identifier: Apache-2.0
#include "ofi/engine.hpp"

#include <fmt/format.h>
#include <rdma/fi_errno.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "base/log.hpp"
#include "base/reserve.hpp"
#include "device/gpu.hpp"

namespace penstock::ofi {

using base::Error;
using base::ErrorKind;

namespace {

// Pair ends looked at in one pass: enough to get through many soon, few enough that one more pass
// is cheap.
constexpr std::size_t window = 32;
constexpr std::size_t completions_at_once = 16;
// Passes before bad news is believed. No provider tells whether anything of a peer that is gone is
// still on its way; so this proves nothing, and nothing rests on it: it finds the better of two
// right answers, a message that has come before its sender died, or the peer's own word instead of
// the network's. The check of ready sends (PENSTOCK_CHECK) finds what it can by them, and no more
// is promised.
constexpr int hard_passes = 64;

}  // namespace

OfiEngine::OfiEngine(const OfiOptions& options, group::World& world, FabricInfo provider)
    : options_(options),
      world_(world),
      fabric_(std::move(provider)),
      words_(fabric_),
      operations_(options.entries),
      addresses_(static_cast<std::size_t>(world.size()), FI_ADDR_UNSPEC),
      common_{
          .fabric = fabric_,
          .words = words_,
          .operations = operations_,
          .one = {},
          .self = FI_ADDR_UNSPEC,
          .counter_limit = options.counter_limit ? *options.counter_limit : fabric_.counter_limit(),
          .signals = MappedDoorbell::offered(*fabric_.counter())},
      constants_(words_.take()),
      deferred_(options.throttle, options.entries),
      thread_("penstock-ofi", *this, options.spin) {
  constants_.words->done = 1;
  common_.one = {&constants_.words->done, sizeof(std::uint64_t), constants_.region->descriptor()};
}

void OfiEngine::add_peer(int rank, std::span<const std::byte> name) {
  const std::lock_guard lock(progress_lock_);
  const fi_addr_t address = fabric_.insert(name);
  addresses_[static_cast<std::size_t>(rank)] = address;
  if (rank == world_.rank()) common_.self = address;
}

// ---- At match

// Small messages need no receive: they wait in slots. A synchronous send waits for its receive in
// any case, a ready one never does.
MessageShape OfiEngine::shape_for(const transport::Message& send) const {
  MessageShape shape;
  shape.bytes = send.bytes;
  shape.slots = options_.slots;
  if (send.mode == protocol::Mode::ready)
    shape.protocol = Protocol::ready;
  else if (send.mode == protocol::Mode::buffered ||
           (send.mode == protocol::Mode::standard && send.bytes <= options_.eager_max))
    shape.protocol = Protocol::ring;
  else
    shape.protocol = Protocol::rendezvous;
  shape.part_bytes = std::min<std::uint64_t>(shape.wire_bytes(), fabric_.largest_write());
  shape.parts =
      static_cast<std::uint32_t>((shape.wire_bytes() + shape.part_bytes - 1) / shape.part_bytes);
  return shape;
}

std::shared_ptr<PairEnd> OfiEngine::add(const transport::Message& message, protocol::Mode send_mode,
                                        const MessageShape& shape) {
  // The calling thread may be one of ours.
  if (message.memory != device::MemoryKind::host) device::enter_gpu(message.gpu);
  const std::lock_guard lock(progress_lock_);
  // All the room that progress will need, so that it never allocates, and its thread: nothing may
  // fail later, when the peer has begun.
  const std::size_t room = ends_.size() + promised_ + 1;
  base::reserve_for(active_, room);
  base::reserve_for(leaving_, room);
  base::reserve_for(ends_, room);
  thread_.start();
  auto end = std::make_shared<PairEnd>(common_, message, send_mode, shape,
                                       addresses_[static_cast<std::size_t>(message.peer)]);
  ++promised_;
  return end;
}

void OfiEngine::enroll(const std::shared_ptr<PairEnd>& end) noexcept {
  const std::lock_guard lock(progress_lock_);
  --promised_;
  end->seat.enrolled = true;
  end->seat.place = ends_.size();
  ends_.push_back(end);
  if (thread_.asleep()) thread_.wake();
}

void OfiEngine::destroy(std::shared_ptr<PairEnd>& end) noexcept {
  const std::lock_guard lock(progress_lock_);
  if (!end->seat.enrolled) --promised_;
  end.reset();
}

// ---- Where starts are enqueued

void OfiEngine::arm(PairEnd& end) noexcept {
  if (!end.arm()) return;
  ready_.mark(end);
  wake_if_asleep();
}

void OfiEngine::reclaim() noexcept {
  const std::lock_guard lock(progress_lock_);
  deferred_.reclaim();
}

unsigned OfiEngine::entries_for(const DeferredQueue::Candidate& half) noexcept {
  return static_cast<const PairEnd&>(half).entries();
}

unsigned OfiEngine::post(DeferredQueue::Candidate& half) noexcept {
  auto& end = static_cast<PairEnd&>(half);
  const unsigned taken = end.post();
  if (taken > 0) list(end);
  return taken;
}

// ---- On a stream's worker

void OfiEngine::wake_if_asleep() noexcept {
  if (thread_.asleep()) thread_.wake();
}

// A call may start many: what is under way besides is left to those who wait for it, and to the
// thread.
void OfiEngine::mark_ready(PairEnd& end) noexcept {
  ready_.mark(end);
  try_progress([this] { take_ready(); });
}

void OfiEngine::poll(PairEnd& end) noexcept {
  try_progress([&] {
    pass(&end);
    worker_polls_.store(true, std::memory_order_relaxed);
  });
}

// Others that wait say so again at their next poll.
void OfiEngine::leave() noexcept {
  worker_polls_.store(false, std::memory_order_relaxed);
}

bool OfiEngine::has_work() const noexcept {
  return !active_.empty() || !deferred_.empty() || !ready_.empty();
}

// Before the progress lock is given back: who rang meanwhile may have found the list empty, since
// we had taken from it.
void OfiEngine::wake_if_needed() noexcept {
  if (has_work()) wake_if_asleep();
}

template <class Act>
void OfiEngine::try_progress(Act act) noexcept {
  bool work = !ready_.empty();
  while (progress_lock_.try_lock()) {
    act();
    work = has_work();
    progress_lock_.unlock();
    if (ready_.empty())
      break;  // else somebody rang meanwhile, and may have found the progress lock taken
  }
  // Where another thread has the progress lock, it sees to what it has taken; what it has not taken
  // stands in the list.
  if (work) wake_if_asleep();
}

void OfiEngine::poll_until_sure(PairEnd& end) noexcept {
  const std::lock_guard lock(progress_lock_);
  for (int i = 0; i < hard_passes; ++i) pass(&end);
  wake_if_needed();
}

plan::BufferState OfiEngine::find_buffer(PairEnd& end, protocol::Epoch epoch,
                                         bool& asked) noexcept {
  const std::lock_guard lock(progress_lock_);
  if (!asked) asked = end.query_credits();
  pass(&end);
  wake_if_needed();
  if (end.buffer_free(epoch)) return plan::BufferState::free;
  // What has been taken has been delivered, so that the buffer here will be free when the network
  // has told.
  return asked && end.credits_known() && !end.room(epoch) ? plan::BufferState::full
                                                          : plan::BufferState::unknown;
}

bool OfiEngine::arrived(PairEnd& end, protocol::Epoch epoch) noexcept {
  const std::lock_guard lock(progress_lock_);
  for (int i = 0; i < hard_passes && !end.arrived(epoch); ++i) pass(&end);
  wake_if_needed();
  return end.arrived(epoch);
}

void OfiEngine::close(PairEnd& end, protocol::Epoch closed) noexcept {
  const std::lock_guard lock(progress_lock_);
  pass(&end);  // afterwards this end is not in the ready list
  end.tell(closed, ErrorKind::peer_freed);
  end.seat.closing = true;
  leaving_.push_back(&end);
  move(end);
  wake_if_asleep();
}

void OfiEngine::poison(PairEnd& end, protocol::Epoch closed, ErrorKind reason) noexcept {
  const std::lock_guard lock(progress_lock_);
  end.tell(closed, reason);
  // Buffered messages are the library's own: those that had been started are still delivered.
  if (!end.buffered()) end.stop();
  move(end);
  wake_if_asleep();
}

// ---- Under the lock

bool OfiEngine::take_ready() noexcept {
  const bool took = ready_.take([this](PairEnd& end) { move(end); });
  return take_completions() || took;
}

bool OfiEngine::pass(PairEnd* favourite) noexcept {
  bool moved = take_ready();
  if (favourite && favourite->seat.active && move(*favourite)) moved = true;
  if (move_some(favourite)) moved = true;
  if (deferred_.post(*this)) moved = true;  // what was ready has left by now
  destroy_one_closed();
  return moved;
}

bool OfiEngine::move(PairEnd& end) noexcept {
  const bool moved = end.advance();
  if (const unsigned freed = std::exchange(end.seat.freed, 0); freed > 0)
    deferred_.completed(freed);
  if (std::exchange(end.seat.taken_over, false)) {
    ++taken_over_;
    deferred_.overtaken(end);
  }
  deferred_.join(end, end.entries());
  list(end);
  return moved;
}

// The list of active ends is that of those that have work.
void OfiEngine::list(PairEnd& end) noexcept {
  const bool has_work = end.has_work();
  if (has_work == end.seat.active) return;
  if (has_work) {
    end.seat.active = true;
    end.seat.active_place = active_.size();
    active_.push_back(&end);
  } else {
    unlist(end);
  }
}

void OfiEngine::unlist(PairEnd& end) noexcept {
  if (!std::exchange(end.seat.active, false)) return;
  active_.back()->seat.active_place = end.seat.active_place;
  active_[end.seat.active_place] = active_.back();
  active_.pop_back();
}

bool OfiEngine::move_some(const PairEnd* moved_already) noexcept {
  bool moved = false;
  for (std::size_t i = 0, most = std::min(window, active_.size()); i < most && !active_.empty();
       ++i) {
    if (cursor_ >= active_.size()) cursor_ = 0;
    PairEnd& end = *active_[cursor_];
    if (&end != moved_already && move(end)) moved = true;
    if (end.seat.active) ++cursor_;  // otherwise another one stands in its place
  }
  return moved;
}

// Reading the queue is also what lets the provider make progress.
bool OfiEngine::take_completions() noexcept {
  fi_cq_entry entries[completions_at_once];
  bool moved = false;
  while (true) {
    const ssize_t count = fi_cq_read(fabric_.completions(), entries, completions_at_once);
    if (count == -FI_EAVAIL) {
      take_failure();
      moved = true;
      continue;
    }
    if (count <= 0) return moved;
    moved = true;
    for (ssize_t i = 0; i < count; ++i) {
      if (entries[i].op_context == nullptr) continue;
      RdmaOperation& operation = RdmaOperation::of(entries[i].op_context);
      operation.end->ended(operation);
      move(*operation.end);
    }
  }
}

void OfiEngine::take_failure() noexcept {
  fi_cq_err_entry entry{};
  if (fi_cq_readerr(fabric_.completions(), &entry, 0) < 0) return;
  if (entry.op_context == nullptr) return;
  RdmaOperation& operation = RdmaOperation::of(entry.op_context);
  PairEnd& end = *operation.end;
  end.failed(operation, base::error_by(ErrorKind::transport, [&] {
               return fmt::format("the network ({}) reports for rank {}: {}", fabric_.provider(),
                                  end.peer, libfabric().strerror(entry.err));
             }));
  move(end);
}

// Released ends wait for the peer's half to go: looked at one after the other, since nobody
// waits for that.
void OfiEngine::destroy_one_closed() noexcept {
  if (leaving_.empty()) return;
  if (leaving_cursor_ >= leaving_.size()) leaving_cursor_ = 0;
  PairEnd& end = *leaving_[leaving_cursor_];
  // What the peer will never receive need not be waited for any longer.
  if (closed_epoch(load(end.words().closed)) != 0 && !end.over()) {
    // Nor need what has been posted beyond the last start.
    const protocol::Epoch last = end.started.load(std::memory_order_relaxed);
    if (end.closed_before(last) || (end.sends() && end.complete(last))) end.stop();
    move(end);
  }
  if (!end.over()) {
    ++leaving_cursor_;
    return;
  }
  leaving_[leaving_cursor_] = leaving_.back();
  leaving_.pop_back();
  forget(end);
}

void OfiEngine::forget(PairEnd& end) noexcept {
  deferred_.leave(end);
  unlist(end);  // what the network writes may have made it idle since it was last moved
  const std::size_t place = end.seat.place;
  ends_.back()->seat.place = place;
  std::swap(ends_[place], ends_.back());
  ends_.pop_back();
}

Statistics OfiEngine::statistics() const noexcept {
  const std::lock_guard lock(progress_lock_);
  Statistics statistics = deferred_.statistics();
  statistics.taken_over = taken_over_;
  return statistics;
}

// ---- The progress thread

plan::ProgressThread::Outcome OfiEngine::advance() noexcept {
  using enum plan::ProgressThread::Outcome;
  // Whoever waits makes all the progress there is to make; looking beside it would take its core,
  // or the peer's.
  if (worker_polls_.exchange(false, std::memory_order_relaxed)) return worker_polls;
  const std::unique_lock lock(progress_lock_, std::try_to_lock);
  if (!lock) return waiting;
  if (pass(nullptr)) return moved;
  if (!active_.empty() || !deferred_.empty()) return waiting;
  return ends_.empty() ? idle : listening;
}

bool OfiEngine::nothing_to_do(bool listening) noexcept {
  const std::lock_guard lock(progress_lock_);
  return !has_work() && (listening || ends_.empty());
}

}  // namespace penstock::ofi
