// SPDX-License-Identifier: Apache-2.0
// How a half ends: what its peer is told, what is given up, and when the provider has nothing of it
// any more.
#include "ofi/pair_end.hpp"

#include <rdma/fi_errno.h>

#include <algorithm>
#include <utility>

namespace penstock::ofi {

using base::ErrorKind;

void PairEnd::tell(protocol::Epoch closed, ErrorKind reason) noexcept {
  if (notice_.words[0] != 0) return;
  notice_.words[0] = closing_word(closed, static_cast<int>(reason));
  notice_.owed = true;
}

// The last that goes to the peer's words, which are the peer's own from then on.
bool PairEnd::send_notice() noexcept {
  if (!notice_.owed || !protocol::may_part(credits_.count, load(words().taken),
                                           credits_.query.under_way, is_writing()))
    return false;
  notice_.words[1] = protocol::parting_word(credits_.count);
  notice_.operation.make_write(common_.fabric.endpoint(),
                               {notice_.words, sizeof notice_.words, nullptr},
                               memory_.remote_word(offsetof(PairWords, closed)));
  const ssize_t code = notice_.operation.issue(true, true);
  if (code == -FI_EAGAIN) return false;
  notice_.owed = false;
  notice_.operation.under_way = code == 0;
  return true;
}

void PairEnd::stop() noexcept {
  if (stopped_.now) return;
  stopped_.now = true;
  // The stream may be more than one ahead of us.
  while (rings_ahead() && rung_ < started()) take_doorbell();
  // From here on late data finds no place and no CTS comes, nor does a doorbell ring: so this is
  // all that can have begun. The trigger stays for it, which may have met with a full queue.
  memory_.close_regions();
  stopped_.begun = rendezvous() && sends() ? std::min(rung_, load(words().cts)) : rung_;
}

// At the library's end there may be starts without a wait, of queues that have failed.
bool PairEnd::is_writing() const noexcept {
  if (!sends() || buffered()) return false;
  return stopped_.now ? !stopped_.forgotten : !complete(started());
}

// For the peer's sake: what it sends may lie in a copy of ours and go to the program's memory
// there.
bool PairEnd::part_by_itself() noexcept {
  if (!sends() || buffered() || stopped_.now) return false;
  if (closed_epoch(load(words().closed)) == 0 || !starts_.refuse() || !is_wanted_no_more())
    return false;
  tell(completed() + 1, ErrorKind::peer_freed);
  stop();
  return true;
}

bool PairEnd::is_wanted_no_more() const noexcept {
  const protocol::Epoch last = started();
  if (!sends()) return closed_before(last);
  return protocol::parts_by_itself(closed_epoch(load(words().closed)), last, completed());
}

bool PairEnd::untouched() const noexcept {
  if (!moves_program_memory()) return true;
  if (sends()) return stopped_.forgotten;
  return protocol::receive_is_untouched(stopped_.all_arrived, load(words().closed),
                                        load(words().parting));
}

// The last epoch that the sender may write. A ready one asks nobody: a receive that has been
// started is enough, though no pass has seen it.
protocol::Epoch PairEnd::offered() const noexcept {
  return rendezvous() ? rung_ : started();
}

// Whether operations that had begun when the pair was given up have not ended yet. Of failed ones
// nothing else is heard.
bool PairEnd::in_flight() const noexcept {
  const std::uint64_t counted = read(counters_.data);
  if (sends()) {
    const bool by_hand = hand_.under_way() && hand_.epoch <= stopped_.begun && !hand_.counted;
    const std::uint64_t writes =
        cut.parts * relative(stopped_.begun) - (by_hand ? cut.parts - hand_.issued : 0);
    if (counted + (by_hand ? hand_.placed : 0) + lost_ < writes) return true;
  }
  for (const RdmaOperation* operation = posted_.first(); operation != nullptr;
       operation = operation->next) {
    const bool signal = operation->role == RdmaOperation::Role::signal;
    if (signal && counted >= cut.parts * relative(operation->epoch) &&
        read(counters_.signals) + lost_ < operation->number)
      return true;
    const bool cts = operation->role == RdmaOperation::Role::cts;
    if (cts && operation->epoch <= rung_ && read(counters_.cts_ends) + lost_ < operation->number)
      return true;
  }
  return false;
}

// The provider may have operations of ours that will never run. When no other ones are left they
// are forgotten with the counter that they wait for.
bool PairEnd::forget_posted() noexcept {
  if (!stopped_.now || stopped_.forgotten) return false;
  if (arrived(offered())) stopped_.all_arrived = true;
  if (in_flight()) return false;
  stopped_.forgotten = true;
  counters_.close();
  for (; !posted_.empty(); ++freed_entries_) common_.operations.give(posted_.pop());
  return true;
}

// What is reported names its operation, which must be there until then.
bool PairEnd::anything_under_way() const noexcept {
  if (notice_.operation.under_way || credits_.query.under_way || hand_.cts.under_way) return true;
  for (unsigned i = 0; credits_.operations && i < cut.slots; ++i)
    if (credits_.operations[i].under_way) return true;
  return false;
}

bool PairEnd::over() const noexcept {
  const PairWords& ours = words();
  return seat.closing && !has_work() && !anything_under_way() &&
         protocol::words_are_free(load(ours.closed), load(ours.parting), load(ours.consumed));
}

}  // namespace penstock::ofi
