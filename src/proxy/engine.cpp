// SPDX-License-Identifier: Apache-2.0
#include "proxy/engine.hpp"

#include <algorithm>
#include <utility>

#include "base/reserve.hpp"
#include "device/gpu.hpp"
#include "proxy/mpi_call.hpp"

namespace penstock::proxy {

using base::ErrorKind;

namespace {

// Active operations tested in one pass: enough to get through many soon, few enough that one more
// pass is cheap.
constexpr std::size_t window = 32;
// Passes before bad news is believed. MPI does not tell whether anything of a peer that is gone is
// still on its way; so this proves nothing, and nothing rests on it: it finds the better of two
// right answers, a message that has come before its sender died, or the peer's own word instead of
// MPI's.
constexpr int hard_passes = 64;
// Looks for a message that should not be there yet: PENSTOCK_CHECK finds what it can, and no more
// is promised.
constexpr int probes = 8;

}  // namespace

Engine::Engine(const Options& options, group::World& world)
    : options_(options),
      world_(world),
      communicator_(std::make_unique<group::PrivateCommunicator>()),
      tags_(world.size(), options.last_tag),
      notices_(communicator_->get()),
      thread_("penstock-proxy", *this, options.spin) {}

// ---- At match

std::shared_ptr<Channel> Engine::add_sender(const transport::Message& send, const PairName& name) {
  auto channel = std::make_shared<Channel>(send, send.mode, name, options_.slots, communicator());
  enroll(channel);
  return channel;
}

std::shared_ptr<Channel> Engine::add_receiver(const transport::Message& receive,
                                              protocol::Mode send_mode) {
  PairName name;
  {
    const std::lock_guard turn(turn_);
    name = {next_pair_++, tags_.take(receive.peer)};
  }
  auto channel =
      std::make_shared<Channel>(receive, send_mode, name, options_.slots, communicator());
  enroll(channel);
  return channel;
}

void Engine::enroll(const std::shared_ptr<Channel>& channel) {
  const std::lock_guard turn(turn_);
  try {
    // All the room that progress will need, so that it never allocates.
    const std::size_t operations = operations_ + channel->operations.size();
    base::reserve_for(active_, operations);
    notices_.reserve(channels_.size() + 1);
    notices_.listen();
    thread_.start();
    channels_.emplace(channel->key(), channel);
    if (channel->memory != device::MemoryKind::host) gpu_ = device::gpu_of(channel->buffer);
    operations_ = operations;
    if (channel->may_be_asked()) ++listeners_;
    if (must_listen() && thread_.asleep()) thread_.wake();
  } catch (...) {
    channel->free_requests();
    throw;
  }
}

void Engine::drop(Channel& channel) noexcept {
  const std::lock_guard turn(turn_);
  channel.free_requests();
  forget(channel);
}

void Engine::forget(Channel& channel) noexcept {
  operations_ -= channel.operations.size();
  if (channel.may_be_asked()) --listeners_;
  channels_.erase(channel.key());
}

// ---- On a stream's worker

void Engine::mark_ready(Channel& channel) noexcept {
  ready_.mark(channel);
  look(channel);
}

void Engine::look(Channel& channel) noexcept {
  bool active = false;
  if (turn_.try_lock()) {
    pass(&channel);
    active = !active_.empty();
    turn_.unlock();
  }
  // Where another thread has the turn, it sees to what it has taken; what it has not taken stands
  // in the list.
  if (thread_.asleep() && (active || !ready_.empty())) thread_.wake();
}

void Engine::look_hard(Channel& channel) noexcept {
  const std::lock_guard turn(turn_);
  for (int i = 0; i < hard_passes; ++i) pass(&channel);
}

plan::Buffer Engine::find_buffer(Channel& channel, protocol::Epoch epoch, bool& asked) noexcept {
  const std::lock_guard turn(turn_);
  pass(&channel);
  if (!channel.operation(epoch).taken.load(std::memory_order_relaxed)) return plan::Buffer::free;
  // An answer to an earlier question may be older than what the program knows.
  if (!asked && !channel.asking && !channel.query.under_way) {
    ask(channel);
    asked = true;
  }
  // What has been taken has been delivered, of which MPI only has to tell.
  const bool full = asked && !channel.asking && channel.taken + channel.operations.size() < epoch;
  return full ? plan::Buffer::full : plan::Buffer::unknown;
}

bool Engine::arrived(const Channel& channel, protocol::Epoch) noexcept {
  for (int i = 0; i < probes; ++i) {
    int here = 0;
    if (PMPI_Iprobe(channel.peer, channel.tag, communicator(), &here, MPI_STATUS_IGNORE) ==
            MPI_SUCCESS &&
        here)
      return true;
  }
  return false;
}

void Engine::release(Channel& channel, protocol::Epoch closed) noexcept {
  const std::lock_guard turn(turn_);
  take_ready();  // afterwards this channel is in no list
  tell(channel, closed, ErrorKind::peer_freed);
  channel.released = true;
  // Of a pair in order only buffered sends can be under way here; those go on without us.
  give_up(channel, channel.buffered() ? channel.closed.load(std::memory_order_relaxed) : 1);
  channel.free_requests();
  reap(channel);
  wake_for_notices();
}

void Engine::spoil(Channel& channel, protocol::Epoch closed, ErrorKind reason) noexcept {
  const std::lock_guard turn(turn_);
  channel.spoiled = true;
  tell(channel, closed, reason);
  give_up(channel, channel.buffered() ? channel.closed.load(std::memory_order_relaxed) : 1);
  wake_for_notices();
}

// ---- Under the lock

void Engine::wake_for_notices() noexcept {
  if (!notices_.all_sent() && thread_.asleep()) thread_.wake();
}

void Engine::take_ready() noexcept {
  ready_.take([this](Channel& channel) { issue(channel); });
}

bool Engine::pass(Channel* favourite) noexcept {
  if (gpu_ >= 0) device::enter_gpu(gpu_);
  bool moved = ready_.take([this](Channel& channel) { issue(channel); });
  if (favourite)
    for (MpiSlot& operation : favourite->operations)
      if (operation.active && test(operation)) moved = true;
  if (test_some(favourite)) moved = true;
  if (take_notices()) moved = true;
  return moved;
}

void Engine::issue(Channel& channel) noexcept {
  const protocol::Epoch wanted = channel.started.load(std::memory_order_acquire);
  while (channel.issued < wanted && !channel.spoiled) {
    MpiSlot& operation = channel.operation(channel.issued + 1);
    const int code = PMPI_Start(&operation.request);
    if (code != MPI_SUCCESS) {
      channel.spoiled = true;
      channel.fail(mpi_error("proxy: MPI_Start", code));
      return;
    }
    operation.epoch = ++channel.issued;
    activate(operation);
  }
}

void Engine::activate(MpiSlot& operation) noexcept {
  operation.active = true;
  operation.place = active_.size();
  active_.push_back(&operation);
}

void Engine::deactivate(MpiSlot& operation) noexcept {
  operation.active = false;
  if (std::exchange(operation.given_up, false)) --given_up_;
  active_.back()->place = operation.place;
  active_[operation.place] = active_.back();
  active_.pop_back();
}

// One at a time: MPI_Testsome reports a failure through the error handler of MPI_COMM_WORLD in some
// libraries, which may end the process; MPI_Test uses that of the request's communicator.
bool Engine::test(MpiSlot& operation) noexcept {
  int ended = 0;
  const int code = PMPI_Test(&operation.request, &ended, MPI_STATUS_IGNORE);
  if (code == MPI_SUCCESS && !ended) return false;
  Channel& channel = *operation.channel;
  const bool given_up = operation.given_up;
  deactivate(operation);
  if (given_up) {
    // Neither a message nor an error: both ends know.
  } else if (code != MPI_SUCCESS) {
    channel.spoiled = true;
    channel.fail(
        mpi_error(channel.sends() ? "proxy: the send failed" : "proxy: the receive failed", code));
  } else if (channel.buffered()) {
    operation.taken.store(false, std::memory_order_release);
  } else {
    // A sender that has given up may have overwritten what MPI fetched from it afterwards. Its
    // notice left before that, over the same communicator, so it is looked for before the message
    // counts. MPI keeps the order in which they are matched; in which they end it does not say, so
    // that docs/semantics.md makes an exception of this.
    if (!channel.sends() && !channel.released) take_notices();
    channel.completed.store(operation.epoch, std::memory_order_release);
  }
  if (channel.released) {
    channel.free_requests();
    reap(channel);
  }
  return true;
}

bool Engine::test_some(const Channel* tested) noexcept {
  bool moved = false;
  for (std::size_t i = 0, end = std::min(window, active_.size()); i < end && !active_.empty();
       ++i) {
    if (cursor_ >= active_.size()) cursor_ = 0;
    MpiSlot& operation = *active_[cursor_];
    if (operation.channel != tested && test(operation))
      moved = true;  // another one stands in its place now
    else
      ++cursor_;
  }
  return moved;
}

bool Engine::take_notices() noexcept {
  bool moved = false;
  const auto reap_owner = [this](Outgoing& sent) {
    if (sent.channel != nullptr) reap(*sent.channel);
  };
  if (!notices_.all_sent()) notices_.flush(reap_owner);
  while (!stray_.under_way) {
    const auto arrived = notices_.take();
    if (!arrived) break;
    moved = true;
    read(arrived->first, arrived->second);
  }
  return moved;
}

void Engine::read(int sender, const Notice& notice) noexcept {
  const auto found = channels_.find({sender, notice.pair, notice.addressee});
  Channel* const channel = found != channels_.end() ? found->second.get() : nullptr;
  if (notice.kind == Notice::Kind::question) return answer(sender, notice.pair, channel);
  if (channel == nullptr) return;
  if (notice.kind == Notice::Kind::answer) {
    channel->taken = notice.messages;
    channel->asking = false;
  } else {
    channel->peer_closed(notice);
    // What the peer will never receive need not be waited for any longer.
    if (channel->released) give_up(*channel, notice.closed);
  }
  reap(*channel);
}

void Engine::ask(Channel& channel) noexcept {
  channel.asking = true;
  channel.query.notice = {.pair = channel.pair,
                          .addressee = transport::Direction::receive,
                          .kind = Notice::Kind::question};
  notices_.send(channel.query, channel.peer);
}

// Who asks again has had the answer before, which MPI has therefore taken.
void Engine::answer(int sender, std::uint64_t pair, Channel* channel) noexcept {
  Outgoing& outgoing = channel != nullptr ? channel->query : stray_;
  while (outgoing.under_way)
    notices_.flush([&](Outgoing& sent) {
      if (sent.channel != nullptr && sent.channel != channel) reap(*sent.channel);
    });
  outgoing.notice = {
      .pair = pair,
      .messages = channel != nullptr ? channel->completed.load(std::memory_order_relaxed) : 0,
      .addressee = transport::Direction::send,
      .kind = Notice::Kind::answer};
  notices_.send(outgoing, sender);
}

void Engine::tell(Channel& channel, protocol::Epoch closed, ErrorKind reason) noexcept {
  if (channel.told) return;
  channel.told = true;
  if (dead(channel.peer)) return;
  channel.farewell.notice = {
      .pair = channel.pair,
      .closed = closed,
      .messages = channel.issued,
      .addressee = channel.sends() ? transport::Direction::receive : transport::Direction::send,
      .reason = static_cast<std::uint8_t>(reason)};
  notices_.send(channel.farewell, channel.peer);
}

// Cancels what is under way from epoch `first` on (0: nothing). MPI says when it is done with it: a
// receive that nothing has come for ends at once, and what MPI cannot cancel it keeps until it has
// moved it. Until then the half is there.
void Engine::give_up(Channel& channel, protocol::Epoch first) noexcept {
  if (first == 0) return;
  for (MpiSlot& operation : channel.operations) {
    if (!operation.active || operation.given_up || operation.epoch < first) continue;
    operation.given_up = true;
    ++given_up_;
    PMPI_Cancel(&operation.request);
    int ended = 0;
    if (PMPI_Test(&operation.request, &ended, MPI_STATUS_IGNORE) != MPI_SUCCESS || ended)
      deactivate(operation);
  }
}

// At the end of the library: MPI keeps what it is not done with, without us.
void Engine::leave_to_mpi(Channel& channel) noexcept {
  for (MpiSlot& operation : channel.operations) {
    if (!operation.active) continue;
    deactivate(operation);
    PMPI_Request_free(&operation.request);
    static_cast<void>(operation.buffer.release());  // MPI may still read it
  }
}

// Both halves are gone and MPI holds nothing: forget the channel.
void Engine::reap(Channel& channel) noexcept {
  if (!channel.released || channel.farewell.under_way || channel.query.under_way ||
      channel.closed.load(std::memory_order_relaxed) == 0)
    return;
  if (channel.any_active()) return;
  channel.free_requests();
  const bool all_received = channel.messages == channel.completed.load(std::memory_order_relaxed);
  if (!channel.sends() && all_received) tags_.give_back(channel.peer, channel.tag);
  forget(channel);
}

// ---- The progress thread

// What has been given up may last for ever: it is looked at now and then.
bool Engine::has_work() const noexcept {
  return active_.size() > given_up_ || !notices_.all_sent();
}

bool Engine::must_listen() const noexcept {
  return listeners_ > 0 || given_up_ > 0;
}

plan::ProgressThread::Outcome Engine::advance() noexcept {
  using enum plan::ProgressThread::Outcome;
  const std::unique_lock turn(turn_, std::try_to_lock);
  if (!turn) return waiting;
  if (pass(nullptr)) return moved;
  if (has_work()) return waiting;
  return must_listen() ? listening : idle;
}

bool Engine::nothing_to_do(bool listening) noexcept {
  const std::lock_guard turn(turn_);
  if (must_listen() && !listening) return false;
  return !has_work() && ready_.empty();
}

}  // namespace penstock::proxy
