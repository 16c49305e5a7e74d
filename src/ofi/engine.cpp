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

// Channels looked at in one pass: enough to get through many soon, few enough that one more pass is
// cheap.
constexpr std::size_t window = 32;
constexpr std::size_t completions_at_once = 16;
// Passes before bad news is believed. No provider tells whether anything of a peer that is gone is
// still on its way; so this proves nothing, and nothing rests on it: it finds the better of two
// right answers, a message that has come before its sender died, or the peer's own word instead of
// the network's. The check of ready sends (PENSTOCK_CHECK) finds what it can by them, and no more
// is promised.
constexpr int hard_passes = 64;

}  // namespace

Engine::Engine(const Options& options, group::World& world, FabricInfo provider)
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

void Engine::add_peer(int rank, std::span<const std::byte> name) {
  const std::lock_guard turn(turn_);
  const fi_addr_t address = fabric_.insert(name);
  addresses_[static_cast<std::size_t>(rank)] = address;
  if (rank == world_.rank()) common_.self = address;
}

// ---- At match

// Small messages need no receive: they wait in slots. A synchronous send waits for its receive in
// any case, a ready one never does.
Shape Engine::shape_for(const transport::Message& send) const {
  Shape shape;
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

std::shared_ptr<Channel> Engine::add(const transport::Message& message, protocol::Mode send_mode,
                                     const Shape& shape) {
  // The calling thread may be one of ours.
  if (message.memory != device::MemoryKind::host) device::enter_gpu(message.gpu);
  const std::lock_guard turn(turn_);
  // All the room that progress will need, so that it never allocates, and its thread: nothing may
  // fail later, when the peer has begun.
  const std::size_t room = channels_.size() + promised_ + 1;
  base::reserve_for(active_, room);
  base::reserve_for(leaving_, room);
  base::reserve_for(channels_, room);
  thread_.start();
  auto channel = std::make_shared<Channel>(common_, message, send_mode, shape,
                                           addresses_[static_cast<std::size_t>(message.peer)]);
  ++promised_;
  return channel;
}

void Engine::enroll(const std::shared_ptr<Channel>& channel) noexcept {
  const std::lock_guard turn(turn_);
  --promised_;
  channel->enrolled = true;
  channel->place = channels_.size();
  channels_.push_back(channel);
  if (thread_.asleep()) thread_.wake();
}

void Engine::drop(std::shared_ptr<Channel>& channel) noexcept {
  const std::lock_guard turn(turn_);
  if (!channel->enrolled) --promised_;
  channel.reset();
}

// ---- Where starts are enqueued

void Engine::arm(Channel& channel) noexcept {
  if (!channel.arm()) return;
  ready_.mark(channel);
  wake_if_asleep();
}

void Engine::reclaim() noexcept {
  const std::lock_guard turn(turn_);
  deferred_.reclaim();
}

unsigned Engine::entries_for(const DeferredQueue::Half& half) noexcept {
  return static_cast<const Channel&>(half).entries();
}

unsigned Engine::post(DeferredQueue::Half& half) noexcept {
  auto& channel = static_cast<Channel&>(half);
  const unsigned taken = channel.post();
  if (taken > 0) list(channel);
  return taken;
}

// ---- On a stream's worker

void Engine::wake_if_asleep() noexcept {
  if (thread_.asleep()) thread_.wake();
}

// A call may start many: what is under way besides is left to those who wait for it, and to the
// thread.
void Engine::mark_ready(Channel& channel) noexcept {
  ready_.mark(channel);
  take_turn([this] { take_ready(); });
}

void Engine::look(Channel& channel) noexcept {
  take_turn([&] {
    pass(&channel);
    attended_.store(true, std::memory_order_relaxed);
  });
}

// Others that wait say so again at their next look.
void Engine::leave() noexcept {
  attended_.store(false, std::memory_order_relaxed);
}

bool Engine::has_work() const noexcept {
  return !active_.empty() || !deferred_.empty() || !ready_.empty();
}

// Before the turn is given back: who rang meanwhile may have found the list empty, since we had
// taken from it.
void Engine::wake_if_needed() noexcept {
  if (has_work()) wake_if_asleep();
}

template <class Act>
void Engine::take_turn(Act act) noexcept {
  bool work = !ready_.empty();
  while (turn_.try_lock()) {
    act();
    work = has_work();
    turn_.unlock();
    if (ready_.empty()) break;  // else somebody rang meanwhile, and may have found the turn taken
  }
  // Where another thread has the turn, it sees to what it has taken; what it has not taken stands
  // in the list.
  if (work) wake_if_asleep();
}

void Engine::look_hard(Channel& channel) noexcept {
  const std::lock_guard turn(turn_);
  for (int i = 0; i < hard_passes; ++i) pass(&channel);
  wake_if_needed();
}

plan::Buffer Engine::find_buffer(Channel& channel, protocol::Epoch epoch, bool& asked) noexcept {
  const std::lock_guard turn(turn_);
  if (!asked) asked = channel.ask_what_is_taken();
  pass(&channel);
  wake_if_needed();
  if (channel.buffer_free(epoch)) return plan::Buffer::free;
  // What has been taken has been delivered, so that the buffer here will be free when the network
  // has told.
  return asked && channel.brought() && !channel.room(epoch) ? plan::Buffer::full
                                                            : plan::Buffer::unknown;
}

bool Engine::arrived(Channel& channel, protocol::Epoch epoch) noexcept {
  const std::lock_guard turn(turn_);
  for (int i = 0; i < hard_passes && !channel.arrived(epoch); ++i) pass(&channel);
  wake_if_needed();
  return channel.arrived(epoch);
}

void Engine::release(Channel& channel, protocol::Epoch closed) noexcept {
  const std::lock_guard turn(turn_);
  pass(&channel);  // afterwards this channel is not in the ready list
  channel.tell(closed, ErrorKind::peer_freed);
  channel.released = true;
  leaving_.push_back(&channel);
  move(channel);
  wake_if_asleep();
}

void Engine::spoil(Channel& channel, protocol::Epoch closed, ErrorKind reason) noexcept {
  const std::lock_guard turn(turn_);
  channel.tell(closed, reason);
  // Buffered messages are the library's own: those that had been started are still delivered.
  if (!channel.buffered()) channel.give_up();
  move(channel);
  wake_if_asleep();
}

// ---- Under the lock

bool Engine::take_ready() noexcept {
  const bool took = ready_.take([this](Channel& channel) { move(channel); });
  return take_completions() || took;
}

bool Engine::pass(Channel* favourite) noexcept {
  bool moved = take_ready();
  if (favourite && favourite->active && move(*favourite)) moved = true;
  if (move_some(favourite)) moved = true;
  if (deferred_.post(*this)) moved = true;  // what was ready has left by now
  reap_one();
  return moved;
}

bool Engine::move(Channel& channel) noexcept {
  const bool moved = channel.advance();
  if (const unsigned freed = std::exchange(channel.freed, 0); freed > 0) deferred_.completed(freed);
  if (std::exchange(channel.taken_over, false)) {
    ++taken_over_;
    deferred_.overtaken(channel);
  }
  deferred_.join(channel, channel.entries());
  list(channel);
  return moved;
}

// The list of active channels is that of those who are restless.
void Engine::list(Channel& channel) noexcept {
  const bool restless = channel.restless();
  if (restless == channel.active) return;
  if (restless) {
    channel.active = true;
    channel.active_place = active_.size();
    active_.push_back(&channel);
  } else {
    unlist(channel);
  }
}

void Engine::unlist(Channel& channel) noexcept {
  if (!std::exchange(channel.active, false)) return;
  active_.back()->active_place = channel.active_place;
  active_[channel.active_place] = active_.back();
  active_.pop_back();
}

bool Engine::move_some(const Channel* moved_already) noexcept {
  bool moved = false;
  for (std::size_t i = 0, end = std::min(window, active_.size()); i < end && !active_.empty();
       ++i) {
    if (cursor_ >= active_.size()) cursor_ = 0;
    Channel& channel = *active_[cursor_];
    if (&channel != moved_already && move(channel)) moved = true;
    if (channel.active) ++cursor_;  // otherwise another one stands in its place
  }
  return moved;
}

// Reading the queue is also what lets the provider make progress.
bool Engine::take_completions() noexcept {
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
      operation.channel->ended(operation);
      move(*operation.channel);
    }
  }
}

void Engine::take_failure() noexcept {
  fi_cq_err_entry entry{};
  if (fi_cq_readerr(fabric_.completions(), &entry, 0) < 0) return;
  if (entry.op_context == nullptr) return;
  RdmaOperation& operation = RdmaOperation::of(entry.op_context);
  Channel& channel = *operation.channel;
  channel.failed(operation, base::error_by(ErrorKind::transport, [&] {
                   return fmt::format("the network ({}) reports for rank {}: {}",
                                      fabric_.provider(), channel.peer,
                                      libfabric().strerror(entry.err));
                 }));
  move(channel);
}

// Released channels wait for the peer's half to go: looked at one after the other, since nobody
// waits for that.
void Engine::reap_one() noexcept {
  if (leaving_.empty()) return;
  if (leaving_cursor_ >= leaving_.size()) leaving_cursor_ = 0;
  Channel& channel = *leaving_[leaving_cursor_];
  // What the peer will never receive need not be waited for any longer.
  if (closed_epoch(load(channel.words().closed)) != 0 && !channel.over()) {
    // Nor need what has been posted beyond the last start.
    const protocol::Epoch last = channel.started.load(std::memory_order_relaxed);
    if (channel.closed_before(last) || (channel.sends() && channel.complete(last)))
      channel.give_up();
    move(channel);
  }
  if (!channel.over()) {
    ++leaving_cursor_;
    return;
  }
  leaving_[leaving_cursor_] = leaving_.back();
  leaving_.pop_back();
  forget(channel);
}

void Engine::forget(Channel& channel) noexcept {
  deferred_.leave(channel);
  unlist(channel);  // what the network writes may have made it idle since it was last moved
  const std::size_t place = channel.place;
  channels_.back()->place = place;
  std::swap(channels_[place], channels_.back());
  channels_.pop_back();
}

Statistics Engine::statistics() const noexcept {
  const std::lock_guard turn(turn_);
  Statistics statistics = deferred_.statistics();
  statistics.taken_over = taken_over_;
  return statistics;
}

// ---- The progress thread

plan::ProgressThread::Outcome Engine::advance() noexcept {
  using enum plan::ProgressThread::Outcome;
  // Whoever waits makes all the progress there is to make; looking beside it would take its core,
  // or the peer's.
  if (attended_.exchange(false, std::memory_order_relaxed)) return attended;
  const std::unique_lock turn(turn_, std::try_to_lock);
  if (!turn) return waiting;
  if (pass(nullptr)) return moved;
  if (!active_.empty() || !deferred_.empty()) return waiting;
  return channels_.empty() ? idle : listening;
}

bool Engine::nothing_to_do(bool listening) noexcept {
  const std::lock_guard turn(turn_);
  return !has_work() && (listening || channels_.empty());
}

}  // namespace penstock::ofi
