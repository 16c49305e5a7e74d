// SPDX-License-Identifier: Apache-2.0
#include "proxy/engine.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/reserve.hpp"
#include "device/gpu.hpp"
#include "proxy/mpi_call.hpp"

namespace penstock::proxy {

using base::ErrorKind;

ProxyEngine::ProxyEngine(const ProxyOptions& options, group::World& world)
    : ProgressEngine("penstock-proxy", options.progress, world),
      slots_(options.slots),
      communicator_(std::make_unique<group::PrivateCommunicator>()),
      tags_(world.size(), options.last_tag),
      notices_(communicator_->get()) {}

// ---- At match

std::shared_ptr<PairEnd> ProxyEngine::add_sender(const transport::Message& send,
                                                 const AnswerRecord& name) {
  auto end = std::make_shared<PairEnd>(send, send.mode, name, slots_, communicator());
  enroll(end);
  return end;
}

std::shared_ptr<PairEnd> ProxyEngine::add_receiver(const transport::Message& receive,
                                                   protocol::Mode send_mode) {
  AnswerRecord name;
  {
    const std::lock_guard lock(progress_lock_);
    name = {next_pair_++, tags_.take(receive.peer)};
  }
  auto end = std::make_shared<PairEnd>(receive, send_mode, name, slots_, communicator());
  enroll(end);
  return end;
}

void ProxyEngine::enroll(const std::shared_ptr<PairEnd>& end) {
  const std::lock_guard lock(progress_lock_);
  try {
    // All the room that progress will need, so that it never allocates.
    const std::size_t operations = operations_ + end->operations.size();
    active_.reserve(operations);
    notices_.reserve(ends_.size() + 1);
    notices_.listen();
    start_thread();
    ends_.emplace(end->key(), end);
    if (end->memory != device::MemoryKind::host) gpu_ = device::gpu_of(end->buffer);
    operations_ = operations;
    wake_if_asleep();
  } catch (...) {
    end->free_requests();
    throw;
  }
}

void ProxyEngine::destroy(PairEnd& end) noexcept {
  const std::lock_guard lock(progress_lock_);
  end.free_requests();
  forget(end);
}

void ProxyEngine::forget(PairEnd& end) noexcept {
  operations_ -= end.operations.size();
  ends_.erase(end.key());
}

// ---- On a stream's worker

plan::BufferState ProxyEngine::find_buffer(PairEnd& end, protocol::Epoch epoch,
                                           bool& asked) noexcept {
  return state_of_buffer(end, epoch, asked, [&] { return query_credits(end); });
}

bool ProxyEngine::arrived(const PairEnd& end, protocol::Epoch) noexcept {
  for (int i = 0; i < passes_of_check; ++i) {
    int here = 0;
    if (PMPI_Iprobe(end.peer, end.tag, communicator(), &here, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
        here)
      return true;
  }
  return false;
}

void ProxyEngine::close(PairEnd& end, protocol::Epoch closed) noexcept {
  const std::lock_guard lock(progress_lock_);
  take_ready();  // afterwards this end is in no list
  tell(end, closed, ErrorKind::peer_freed);
  end.closing = true;
  // Of a pair in order only buffered sends can be under way here; those go on without us.
  give_up(end, end.buffered() ? end.closed.load(std::memory_order_relaxed) : 1);
  settle(end);
  wake_if_needed();  // for its notice, and for what was taken of others
}

void ProxyEngine::poison(PairEnd& end, protocol::Epoch closed, ErrorKind reason) noexcept {
  const std::lock_guard lock(progress_lock_);
  end.poisoned = true;
  tell(end, closed, reason);
  give_up(end, end.buffered() ? end.closed.load(std::memory_order_relaxed) : 1);
  send_notice(end);
  wake_if_needed();
}

bool ProxyEngine::untouched(const PairEnd& end) const noexcept {
  const std::lock_guard lock(progress_lock_);
  return end.untouched();
}

// ---- Under the lock

bool ProxyEngine::take_ready() noexcept {
  if (gpu_ >= 0) device::enter_gpu(gpu_);
  return ready_.take([this](PairEnd& end) {
    issue(end);
    test_all(end);
  });
}

bool ProxyEngine::pass(PairEnd* favourite) noexcept {
  bool moved = take_ready();
  if (favourite && test_all(*favourite)) moved = true;
  if (active_.move_some(
          [&](MpiSlot& operation) { return operation.end != favourite && test(operation); }))
    moved = true;
  if (take_notices()) moved = true;
  return moved;
}

void ProxyEngine::issue(PairEnd& end) noexcept {
  const protocol::Epoch wanted = end.started.load(std::memory_order_acquire);
  while (end.issued < wanted && !end.poisoned && !end.closed_before(end.issued + 1)) {
    MpiSlot& operation = end.operation(end.issued + 1);
    const int code = PMPI_Start(&operation.request);
    if (code != MPI_SUCCESS) {
      end.poisoned = true;
      end.fail(mpi_error("proxy: MPI_Start", code));
      return;
    }
    operation.epoch = ++end.issued;
    active_.add(operation);
    large_.begin(end.bytes);
  }
}

void ProxyEngine::deactivate(MpiSlot& operation) noexcept {
  active_.remove(operation);
  if (std::exchange(operation.given_up, false))
    --given_up_;
  else
    large_.end(operation.end->bytes);
}

// One at a time: MPI_Testsome reports a failure through the error handler of MPI_COMM_WORLD in some
// libraries, which may end the process; MPI_Test uses that of the request's communicator.
bool ProxyEngine::test(MpiSlot& operation) noexcept {
  int ended = 0;
  const int code = PMPI_Test(&operation.request, &ended, MPI_STATUS_IGNORE);
  if (code == MPI_SUCCESS && !ended) return false;
  PairEnd& end = *operation.end;
  const bool given_up = operation.given_up;
  deactivate(operation);
  if (given_up) {
    // Neither a message nor an error: both ends know.
  } else if (code != MPI_SUCCESS) {
    end.poisoned = true;
    end.fail(mpi_error(end.sends() ? "proxy: the send failed" : "proxy: the receive failed", code));
  } else if (end.buffered()) {
    operation.taken.store(false, std::memory_order_release);
  } else {
    // A sender that PENSTOCK_TIMEOUT has let go may have overwritten what MPI fetched. Its notice
    // left before that, over the same communicator, so it is looked for before the message counts.
    if (!end.sends() && !end.closing) take_notices();
    end.completed.store(operation.epoch, std::memory_order_release);
  }
  settle(end);
  return true;
}

bool ProxyEngine::test_all(PairEnd& end) noexcept {
  bool moved = false;
  for (MpiSlot& operation : end.operations)
    if (operation.active && test(operation)) moved = true;
  return moved;
}

bool ProxyEngine::take_notices() noexcept {
  bool moved = false;
  const auto reap_owner = [this](Outgoing& sent) {
    if (sent.end != nullptr) settle(*sent.end);
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

void ProxyEngine::read(int sender, const Notice& notice) noexcept {
  const auto found = ends_.find({sender, notice.pair, notice.addressee});
  PairEnd* const end = found != ends_.end() ? found->second.get() : nullptr;
  if (notice.kind == Notice::NoticeKind::credit_query)
    return tell_credits(sender, notice.pair, end);
  if (end == nullptr) return;
  if (notice.kind == Notice::NoticeKind::credits) {
    end->taken = notice.messages;
    end->credits_asked = false;
  } else {
    end->peer_closed(notice);
    // What the peer does not serve need not be waited for any longer. A sender may wait for our
    // notice, which our program need not give.
    give_up(*end, notice.closed);
    if (end->sends())
      end->answered = end->answered || notice.answers;
    else
      answer_end(*end, notice);
  }
  settle(*end);
}

// What may be said is said, and who has nothing left is forgotten. Asked when MPI is done with
// something of this end, a notice of its own or the peer's among that.
void ProxyEngine::settle(PairEnd& end) noexcept {
  send_notice(end);
  if (end.closing) end.free_requests();
  destroy_if_over(end);
}

// Buffered sends are the library's own, and go on.
void ProxyEngine::answer_end(PairEnd& receive, const Notice& of_send) noexcept {
  if (receive.mode == protocol::Mode::buffered) return;
  tell(receive, of_send.closed, ErrorKind::peer_freed);
  // The first one has left, and was no answer.
  const bool said_before = !receive.owes_notice && !receive.last_notice.notice.answers;
  if (of_send.asks && said_before && !dead(receive.peer)) receive.owes_notice = true;
}

bool ProxyEngine::query_credits(PairEnd& end) noexcept {
  if (end.credits_asked || end.query.under_way) return false;
  end.credits_asked = true;
  end.query.notice = {.pair = end.pair,
                      .addressee = transport::Direction::receive,
                      .kind = Notice::NoticeKind::credit_query};
  if (!notices_.send(end.query, end.peer))
    end.fail(base::error_by(ErrorKind::mpi, [&] {
      return "MPI cannot ask rank " + std::to_string(end.peer) +
             " whether it has taken the messages before";
    }));
  return true;
}

// Who asks again has had the answer before, which MPI has therefore taken.
void ProxyEngine::tell_credits(int sender, std::uint64_t pair, PairEnd* end) noexcept {
  Outgoing& outgoing = end != nullptr ? end->query : stray_;
  while (outgoing.under_way)
    notices_.flush([&](Outgoing& sent) {
      if (sent.end != nullptr && sent.end != end) settle(*sent.end);
    });
  outgoing.notice = {
      .pair = pair,
      .messages = end != nullptr ? end->completed.load(std::memory_order_relaxed) : 0,
      .addressee = transport::Direction::send,
      .kind = Notice::NoticeKind::credits};
  notices_.send(outgoing, sender);
}

void ProxyEngine::tell(PairEnd& end, protocol::Epoch closed, ErrorKind reason) noexcept {
  if (end.told) return;
  end.told = true;
  if (dead(end.peer)) return;
  end.owes_notice = true;
  end.last_notice.notice = {
      .pair = end.pair,
      .closed = closed,
      .messages = end.issued,
      .addressee = end.sends() ? transport::Direction::receive : transport::Direction::send,
      .reason = static_cast<std::uint8_t>(reason)};
}

void ProxyEngine::send_notice(PairEnd& end) noexcept {
  if (!end.owes_notice || end.last_notice.under_way) return;
  const bool active = end.any_active();
  if (!protocol::may_part_from_mpi(end.sends(), active)) return;
  end.owes_notice = false;
  end.last_notice.notice.asks = end.sends() && active;
  end.last_notice.notice.answers = !end.sends() && end.closed.load(std::memory_order_relaxed) != 0;
  notices_.send(end.last_notice, end.peer);
}

// Cancels what is under way from epoch `first` on (0: nothing). MPI says when it is done with it: a
// receive that nothing has come for ends at once, and what MPI cannot cancel it keeps until it has
// moved it. Until then the half is there.
void ProxyEngine::give_up(PairEnd& end, protocol::Epoch first) noexcept {
  if (first == 0) return;
  for (MpiSlot& operation : end.operations) {
    if (!operation.active || operation.given_up || operation.epoch < first) continue;
    operation.given_up = true;
    ++given_up_;
    large_.end(end.bytes);
    PMPI_Cancel(&operation.request);
    int ended = 0;
    if (PMPI_Test(&operation.request, &ended, MPI_STATUS_IGNORE) != MPI_SUCCESS || ended)
      deactivate(operation);
  }
}

// Both halves are gone and MPI holds nothing: forget the end.
void ProxyEngine::destroy_if_over(PairEnd& end) noexcept {
  if (!end.closing || end.owes_notice || end.last_notice.under_way || end.query.under_way ||
      end.closed.load(std::memory_order_relaxed) == 0)
    return;
  if (end.any_active()) return;
  end.free_requests();
  const bool all_received = end.messages == end.completed.load(std::memory_order_relaxed);
  if (!end.sends() && all_received) tags_.give_back(end.peer, end.tag);
  forget(end);
}

}  // namespace penstock::proxy
