// SPDX-License-Identifier: Apache-2.0
// How an end parts: what its peer is told, what is given up, and when the provider has nothing of
// it any more.
#include "ofi/end.hpp"

namespace penstock::ofi {

using base::ErrorKind;
using Role = RdmaOperation::Role;

void End::tell(protocol::Epoch closed, ErrorKind reason) noexcept {
  if (notice_.words[0] != 0) return;
  notice_.words[0] = closing_word(closed, static_cast<int>(reason));
  notice_.owed = true;
}

// The last that goes to the peer's words, which are the peer's own from then on. Its failure is
// that of a process that is gone.
bool End::send_notice() noexcept {
  if (!notice_.owed || !may_part()) return false;
  notice_.words[1] = protocol::parting_word(credits());
  notice_.operation.make_write(common_.fabric.endpoint(),
                               {notice_.words, sizeof notice_.words, nullptr},
                               words_.remote(offsetof(PairWords, closed)));
  const ssize_t code = notice_.operation.issue(true, true);
  if (code == -FI_EAGAIN) return false;
  notice_.owed = false;
  notice_.operation.under_way = code == 0;
  return true;
}

void End::stop() noexcept {
  if (stopped_.now) return;
  stopped_.now = true;
  // The stream may be more than one ahead of us.
  while (rings_ahead() && rung_ < started()) take_doorbell();
  // From here on late data finds no place and no addition of the peer's comes, nor does a doorbell
  // ring: so this is all that can have begun. The trigger stays for it, which may have met with a
  // full queue.
  close_regions();
  stopped_.begun = last_begun();
}

// At the library's end there may be starts without a wait, of queues that have failed.
bool End::is_writing() const noexcept {
  if (!sends() || buffered()) return false;
  return stopped_.now ? !stopped_.forgotten : !complete(started());
}

// For the peer's sake: what it sends may lie in a copy of ours and go to the program's memory
// there.
bool End::part_by_itself() noexcept {
  if (!sends() || buffered() || stopped_.now) return false;
  if (closed_epoch(load(words().closed)) == 0 || !starts_.refuse() || !is_wanted_no_more())
    return false;
  tell(completed() + 1, ErrorKind::peer_freed);
  stop();
  return true;
}

bool End::is_wanted_no_more() const noexcept {
  const protocol::Epoch last = started();
  if (!sends()) return closed_before(last);
  return protocol::parts_by_itself(closed_epoch(load(words().closed)), last, completed());
}

bool End::untouched() const noexcept {
  if (!moves_program_memory()) return true;
  if (sends()) return stopped_.forgotten;
  return protocol::receive_is_untouched(stopped_.all_arrived, load(words().closed),
                                        load(words().parting));
}

// Whether operations that had begun when the pair was given up have not ended yet. Of failed ones
// nothing else is heard.
bool End::in_flight() const noexcept {
  if (sends()) {
    const bool by_hand = hand_.under_way() && hand_.epoch <= stopped_.begun && !hand_.counted;
    const std::uint64_t parts = data_through(stopped_.begun) - (by_hand ? unissued() : 0);
    if (read(counters_.data) + (by_hand ? hand_.placed : 0) + lost_.data < parts) return true;
  }
  for (const RdmaOperation* operation = posted_.first(); operation != nullptr;
       operation = operation->next) {
    if (operation->role == Role::signal && signal_fires(operation->epoch) &&
        read(counters_.signals) + lost_.signals < operation->number)
      return true;
    if (operation->role == Role::addition && operation->epoch <= stopped_.begun &&
        read(counters_.added) + lost_.additions < operation->number)
      return true;
  }
  return false;
}

// The provider may have operations of ours that will never run. When no other ones are left they
// are forgotten with the counter that they wait for.
bool End::forget_posted() noexcept {
  if (!stopped_.now || stopped_.forgotten) return false;
  if (arrived(last_offered())) stopped_.all_arrived = true;
  if (in_flight()) return false;
  stopped_.forgotten = true;
  counters_.close();
  for (; !posted_.empty(); ++freed_entries_) common_.operations.give(posted_.pop());
  return true;
}

bool End::over() const noexcept {
  const PairWords& ours = words();
  return seat.closing && !has_work() && !anything_under_way() &&
         protocol::words_are_free(load(ours.closed), load(ours.parting), credits_here());
}

}  // namespace penstock::ofi
