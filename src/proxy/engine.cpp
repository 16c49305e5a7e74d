// SPDX-License-Identifier: Apache-2.0
#include "proxy/engine.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/reserve.hpp"
#include "device/gpu.hpp"
#include "protocol/giving_up.hpp"
#include "proxy/mpi_call.hpp"

namespace penstock::proxy {

using base::ErrorKind;

namespace {

int gpu_of(const PairEnd& end) noexcept {
  return end.memory == device::MemoryKind::host ? -1 : device::gpu_of(end.buffer);
}

}  // namespace

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
  enroll(end, gpu_of(*end));
  return end;
}

std::shared_ptr<PairEnd> ProxyEngine::add_receiver(const transport::Message& receive,
                                                   protocol::Mode send_mode) {
  const AnswerRecord name{name_pair(), take_tag(receive.peer)};
  auto end = std::make_shared<PairEnd>(receive, send_mode, name, slots_, communicator());
  enroll(end, gpu_of(*end));
  return end;
}

std::uint64_t ProxyEngine::name_pair() noexcept {
  const std::lock_guard lock(progress_lock_);
  return next_pair_++;
}

int ProxyEngine::take_tag(int peer) {
  const std::lock_guard lock(progress_lock_);
  return tags_.take(peer);
}

void ProxyEngine::enroll(const std::shared_ptr<End>& end, int gpu) {
  const std::lock_guard lock(progress_lock_);
  try {
    // All the room that progress will need, so that it never allocates.
    const std::size_t operations = operations_ + end->operations.size();
    active_.reserve(operations);
    notices_.reserve(ends_.size() + 1);
    notices_.listen();
    start_thread();
    ends_.emplace(end->key(), end);
    if (gpu >= 0) gpu_ = gpu;
    operations_ = operations;
    wake_if_asleep();
  } catch (...) {
    end->free_requests();
    throw;
  }
}

// The peer may have closed its end before, and our answer to that be under way: then MPI has a part
// of this one, which goes when that has left.
void ProxyEngine::destroy(End& end) noexcept {
  const std::lock_guard lock(progress_lock_);
  end.closing = end.abandoned = end.told = true;
  end.owes_notice = false;
  destroy_if_over(end);
}

void ProxyEngine::forget(End& end) noexcept {
  operations_ -= end.operations.size();
  ends_.erase(end.key());
}

// ---- On a stream's worker

plan::BufferState ProxyEngine::find_buffer(PairEnd& end, protocol::Epoch epoch,
                                           bool& asked) noexcept {
  return state_of_buffer(end, epoch, asked, [&] { return query_credits(end); });
}

bool ProxyEngine::arrived(const End& end, protocol::Epoch) noexcept {
  for (int i = 0; i < passes_of_check; ++i) {
    int here = 0;
    if (PMPI_Iprobe(end.peer, end.tag, communicator(), &here, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
        here)
      return true;
  }
  return false;
}

void ProxyEngine::close(End& end, protocol::Epoch closed) noexcept {
  const std::lock_guard lock(progress_lock_);
  take_ready();  // afterwards this end is in no list
  tell(end, closed, ErrorKind::peer_freed);
  end.closing = true;
  give_up(end, end.first_given_up(closed));
  settle(end);
  wake_if_needed();  // for its notice, and for what was taken of others
}

void ProxyEngine::poison(End& end, protocol::Epoch closed, ErrorKind reason) noexcept {
  const std::lock_guard lock(progress_lock_);
  end.poisoned = true;
  tell(end, closed, reason);
  give_up(end, end.first_given_up(closed));
  send_notice(end);
  wake_if_needed();
}

bool ProxyEngine::untouched(const End& end) const noexcept {
  const std::lock_guard lock(progress_lock_);
  return end.untouched();
}

// ---- Under the lock

bool ProxyEngine::take_ready() noexcept {
  if (gpu_ >= 0) device::enter_gpu(gpu_);
  return ready_.take([this](End& end) {
    end.issue(*this);
    test_all(end);
  });
}

bool ProxyEngine::pass(End* favourite) noexcept {
  bool moved = take_ready();
  if (favourite && test_all(*favourite)) moved = true;
  if (active_.move_some(
          [&](MpiSlot& operation) { return operation.end != favourite && test(operation); }))
    moved = true;
  if (take_notices()) moved = true;
  return moved;
}

void ProxyEngine::begin(MpiSlot& operation) noexcept {
  active_.add(operation);
  large_.begin(operation.bytes);
}

void ProxyEngine::deactivate(MpiSlot& operation) noexcept {
  active_.remove(operation);
  if (std::exchange(operation.given_up, false))
    --given_up_;
  else
    large_.end(operation.bytes);
}

// One at a time: MPI_Testsome reports a failure through the error handler of MPI_COMM_WORLD in some
// libraries, which may end the process; MPI_Test uses that of the request's communicator.
bool ProxyEngine::test(MpiSlot& operation) noexcept {
  int ended = 0;
  const int code = PMPI_Test(&operation.request, &ended, MPI_STATUS_IGNORE);
  if (code == MPI_SUCCESS && !ended) return false;
  End& end = *operation.end;
  const bool given_up = operation.given_up;
  deactivate(operation);
  if (given_up) {
    // Neither a message nor an error: both ends know.
  } else if (code != MPI_SUCCESS) {
    end.fail(operation.receives ? "proxy: the receive failed" : "proxy: the send failed", code);
  } else {
    end.ended(operation, *this);
  }
  settle(end);
  return true;
}

bool ProxyEngine::test_all(End& end) noexcept {
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
  End* const end = found != ends_.end() ? found->second.get() : nullptr;
  if (notice.kind == Notice::NoticeKind::credit_query)
    return tell_credits(sender, notice.pair, end);
  if (end == nullptr) return;
  if (notice.kind == Notice::NoticeKind::credits) {
    static_cast<PairEnd*>(end)->take_credits(notice);  // nobody else asks
  } else {
    end->peer_closed(notice);
    // What the peer does not serve need not be waited for any longer.
    give_up(*end, notice.closed);
    end->answered = end->answered || notice.answers;
    if (notice.asks) answer(*end);
  }
  settle(*end);
}

// What may be said is said, and who has nothing left is forgotten. Asked when MPI is done with
// something of this end, a notice of its own or the peer's among that.
void ProxyEngine::settle(End& end) noexcept {
  part_with_peer(end);
  send_notice(end);
  if (end.closing) end.free_requests();
  destroy_if_over(end);
}

void ProxyEngine::part_with_peer(End& end) noexcept {
  const protocol::Epoch theirs = end.closed.load(std::memory_order_relaxed);
  if (theirs != 0 && end.parts_by_itself()) tell(end, theirs, ErrorKind::peer_freed);
}

// Where our notice has left already, and was no answer, it leaves once more.
void ProxyEngine::answer(End& end) noexcept {
  const bool said_before = end.told && !end.owes_notice && !end.last_notice.notice.answers;
  if (said_before && !dead(end.peer)) end.owes_notice = true;
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
void ProxyEngine::tell_credits(int sender, std::uint64_t pair, End* end) noexcept {
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

void ProxyEngine::tell(End& end, protocol::Epoch closed, ErrorKind reason) noexcept {
  if (end.told) return;
  end.told = true;
  if (dead(end.peer)) return;
  end.owes_notice = true;
  end.last_notice.notice = {
      .pair = end.pair,
      .closed = closed,
      .messages = end.sent,
      .addressee = end.sends() ? transport::Direction::receive : transport::Direction::send,
      .reason = static_cast<std::uint8_t>(reason)};
}

void ProxyEngine::send_notice(End& end) noexcept {
  if (!end.owes_notice || end.last_notice.under_way) return;
  if (!protocol::may_part_from_mpi(!end.receiving(), end.any_active())) return;
  end.owes_notice = false;
  end.last_notice.notice.asks = end.sending();
  end.last_notice.notice.answers = end.closed.load(std::memory_order_relaxed) != 0;
  notices_.send(end.last_notice, end.peer);
}

// Cancels what is under way from epoch `first` on (0: nothing). MPI says when it is done with it: a
// receive that nothing has come for ends at once, and what MPI cannot cancel it keeps until it has
// moved it. Until then the half is there.
void ProxyEngine::give_up(End& end, protocol::Epoch first) noexcept {
  if (first == 0) return;
  for (MpiSlot& operation : end.operations) {
    if (!operation.active || operation.given_up || operation.epoch < first) continue;
    operation.given_up = true;
    ++given_up_;
    large_.end(operation.bytes);
    PMPI_Cancel(&operation.request);
    int ended = 0;
    if (PMPI_Test(&operation.request, &ended, MPI_STATUS_IGNORE) != MPI_SUCCESS || ended)
      deactivate(operation);
  }
}

// Both halves are gone and MPI holds nothing: forget the end. The tag of one that was abandoned is
// not used again: what its peer may have sent under it nobody knows.
void ProxyEngine::destroy_if_over(End& end) noexcept {
  if (!end.closing || end.owes_notice || end.last_notice.under_way || end.query.under_way ||
      (end.closed.load(std::memory_order_relaxed) == 0 && !end.abandoned))
    return;
  if (end.any_active()) return;
  end.free_requests();
  if (!end.abandoned) end.give_back(tags_);
  forget(end);
}

}  // namespace penstock::proxy
