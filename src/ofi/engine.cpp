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

using base::ErrorKind;

namespace {

constexpr std::size_t completions_at_once = 16;

// Of how many ends a pass looks whether their peers are gone: a worker's, and one of the thread's.
// While nothing is under way these are seldom.
constexpr std::size_t looks_of_worker = 1;
constexpr std::size_t looks_beside_work = 8;
constexpr std::size_t looks_while_idle = 128;

}  // namespace

OfiEngine::OfiEngine(const OfiOptions& options, group::World& world, FabricInfo provider)
    : ProgressEngine("penstock-ofi", options.progress, world),
      options_(options),
      fabric_(std::move(provider)),
      words_(fabric_),
      operations_(options.entries),
      addresses_(static_cast<std::size_t>(world.size()), FI_ADDR_UNSPEC),
      names_(static_cast<std::size_t>(world.size())),
      common_{
          .fabric = fabric_,
          .words = words_,
          .operations = operations_,
          .one = {},
          .self = FI_ADDR_UNSPEC,
          .counter_limit = options.counter_limit ? *options.counter_limit : fabric_.counter_limit(),
          .signals = MappedDoorbell::offered(*fabric_.counter())},
      constants_(words_.take()),
      deferred_(options.throttle, options.entries) {
  constants_.words->done = 1;
  common_.one = {&constants_.words->done, sizeof(std::uint64_t), constants_.region->descriptor()};
}

void OfiEngine::add_peer(int rank, std::span<const std::byte> name) {
  const std::lock_guard lock(progress_lock_);
  names_.keep(static_cast<std::size_t>(rank), name);
  if (rank == world().rank()) common_.self = address_of(rank);
}

fi_addr_t OfiEngine::address_of(int peer) {
  const auto place = static_cast<std::size_t>(peer);
  fi_addr_t& address = addresses_[place];
  if (address == FI_ADDR_UNSPEC) address = fabric_.insert(names_.at(place));
  return address;
}

// ---- At match

// Small messages need no receive: they wait in slots. A synchronous send waits for its receive in
// any case, a ready one never does.
Cut OfiEngine::cut_for(const transport::Message& send) const {
  Cut cut;
  cut.bytes = send.bytes;
  cut.slots = options_.slots;
  if (send.mode == protocol::Mode::ready)
    cut.path = Path::ready;
  else if (send.mode == protocol::Mode::buffered ||
           (send.mode == protocol::Mode::standard && send.bytes <= options_.eager_max))
    cut.path = Path::ring;
  else
    cut.path = Path::rendezvous;
  cut.part_bytes = std::min<std::uint64_t>(cut.wire_bytes(), fabric_.largest_write());
  cut.parts = static_cast<std::uint32_t>((cut.wire_bytes() + cut.part_bytes - 1) / cut.part_bytes);
  return cut;
}

// Makes the end, and before it all the room that progress will need, so that it never allocates,
// and its thread: nothing may fail later, when the peer has begun.
template <class Make>
auto OfiEngine::make_end(Make make) {
  const std::lock_guard lock(progress_lock_);
  const std::size_t room = ends_.size() + promised_ + 1;
  active_.reserve(room);
  base::reserve_for(leaving_, room);
  base::reserve_for(ends_, room);
  start_thread();
  auto end = make();
  ++promised_;
  return end;
}

std::shared_ptr<PairEnd> OfiEngine::add(const transport::Message& message, protocol::Mode send_mode,
                                        const Cut& cut) {
  // The calling thread may be one of ours.
  if (message.memory != device::MemoryKind::host) device::enter_gpu(message.gpu);
  return make_end([&] {
    return std::make_shared<PairEnd>(common_, message, send_mode, cut, address_of(message.peer));
  });
}

std::shared_ptr<WindowOrigin> OfiEngine::add_origin(int peer) {
  return make_end([&] { return std::make_shared<WindowOrigin>(common_, peer, address_of(peer)); });
}

std::shared_ptr<WindowTarget> OfiEngine::add_target(int peer, const transport::WindowMemory& ours) {
  return make_end([&] {
    return std::make_shared<WindowTarget>(common_, peer, address_of(peer), ours,
                                          options_.window_eager_max);
  });
}

void OfiEngine::enroll(const std::shared_ptr<End>& end) noexcept {
  const std::lock_guard lock(progress_lock_);
  --promised_;
  end->seat.enrolled = true;
  end->seat.place = ends_.size();
  ends_.push_back(end);
  wake_if_asleep();
}

// ---- Where starts are enqueued

void OfiEngine::expect_start(End& end) noexcept {
  if (!end.arm()) return;
  ready_.mark(end);
  wake_if_asleep();
}

void OfiEngine::reclaim() noexcept {
  const std::lock_guard lock(progress_lock_);
  deferred_.reclaim();
}

// ---- On a stream's worker

plan::BufferState OfiEngine::find_buffer(PairEnd& end, protocol::Epoch epoch,
                                         bool& asked) noexcept {
  return state_of_buffer(end, epoch, asked, [&] { return end.query_credits(); });
}

bool OfiEngine::arrived(End& end, protocol::Epoch epoch) noexcept {
  const std::lock_guard lock(progress_lock_);
  for (int i = 0; i < passes_of_check && !end.arrived(epoch); ++i) pass(&end);
  wake_if_needed();
  return end.arrived(epoch);
}

void OfiEngine::close(End& end, protocol::Epoch closed) noexcept {
  const std::lock_guard lock(progress_lock_);
  pass(&end);  // afterwards this end is not in the ready list
  end.tell(closed, ErrorKind::peer_freed);
  end.seat.closing = true;
  leaving_.push_back(&end);
  move(end);
  wake_if_asleep();
}

void OfiEngine::poison(End& end, protocol::Epoch closed, ErrorKind reason) noexcept {
  const std::lock_guard lock(progress_lock_);
  end.tell(closed, reason);
  // Buffered messages are the library's own: those that had been started are still delivered.
  if (!end.buffered()) end.stop();
  move(end);
  wake_if_asleep();
}

bool OfiEngine::untouched(End& end) const noexcept {
  const std::lock_guard lock(progress_lock_);
  return end.untouched();
}

// ---- Under the lock

bool OfiEngine::take_ready() noexcept {
  const bool took = ready_.take([this](EngineClient& client) { move(client); });
  return take_completions() || took;
}

bool OfiEngine::pass(EngineClient* favourite) noexcept {
  bool moved = take_ready();
  if (favourite && favourite->active && move(*favourite)) moved = true;
  if (active_.move_some([&](EngineClient& client) { return &client != favourite && move(client); }))
    moved = true;
  // What was ready has left by now.
  for (EngineClient* posted; (posted = deferred_.post_next()) != nullptr; moved = true)
    list(*posted);
  destroy_one_closed();
  let_some_part(favourite ? looks_of_worker : under_way() ? looks_beside_work : looks_while_idle);
  return moved;
}

bool OfiEngine::move(EngineClient& client) noexcept {
  const bool moved = client.advance();
  if (const unsigned freed = std::exchange(client.freed_entries_, 0); freed > 0)
    deferred_.completed(freed);
  if (std::exchange(client.taken_over_, false)) {
    ++taken_over_;
    deferred_.overtaken(client);
  }
  deferred_.join(client);
  list(client);
  return moved;
}

void OfiEngine::list(EngineClient& client) noexcept {
  const bool has_work = client.has_work();
  if (has_work == client.active) return;
  if (has_work)
    active_.add(client);
  else
    active_.remove(client);
}

// Network writes tell nobody that they have come, so that all ends are looked at in turns.
void OfiEngine::let_some_part(std::size_t most) noexcept {
  for (std::size_t i = 0; i < std::min(most, ends_.size()); ++i) {
    if (parting_cursor_ >= ends_.size()) parting_cursor_ = 0;
    End& end = *ends_[parting_cursor_++];
    if (end.part_by_itself()) move(end);
  }
}

// Reading the queue is also what lets the provider make progress.
bool OfiEngine::take_completions() noexcept {
  fi_cq_entry entries[completions_at_once];
  bool moved = false;
  while (true) {
    const ssize_t count = fi_cq_read(fabric_.completions(), entries, completions_at_once);
    if (count == -FI_EAVAIL) {
      if (!take_failure()) return moved;
      moved = true;
      continue;
    }
    if (count <= 0) return moved;
    moved = true;
    for (ssize_t i = 0; i < count; ++i) {
      if (entries[i].op_context == nullptr) continue;
      RdmaOperation& operation = RdmaOperation::of(entries[i].op_context);
      operation.owner->ended(operation);
      move(*operation.owner);
    }
  }
}

bool OfiEngine::take_failure() noexcept {
  fi_cq_err_entry entry{};
  if (fi_cq_readerr(fabric_.completions(), &entry, 0) <= 0) return false;
  if (entry.op_context == nullptr) {
    // All that we give it has one, so no message of ours is known to be lost.
    base::log::failures_in([&] {
      base::log::error(fmt::format(
          "the network ({}) reports for no message that it names: {}; a wait that lasts may be for "
          "what it means",
          fabric_.provider(), libfabric().strerror(entry.err)));
    });
    return true;
  }
  RdmaOperation& operation = RdmaOperation::of(entry.op_context);
  operation.owner->failed(operation, entry.err);
  move(*operation.owner);
  return true;
}

// Released ends wait for the peer's half to go. They are looked at one after the other, since no
// program waits for that.
void OfiEngine::destroy_one_closed() noexcept {
  if (leaving_.empty()) return;
  if (leaving_cursor_ >= leaving_.size()) leaving_cursor_ = 0;
  End& end = *leaving_[leaving_cursor_];
  // What the peer will never receive need not be waited for any longer.
  if (closed_epoch(load(end.words().closed)) != 0 && !end.over()) {
    // Nor need what has been posted beyond the last start.
    if (end.is_wanted_no_more()) end.stop();
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

void OfiEngine::forget(End& end) noexcept {
  deferred_.leave(end);
  // What the network writes may have made it idle since it was last moved.
  if (end.active) active_.remove(end);
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

}  // namespace penstock::ofi
