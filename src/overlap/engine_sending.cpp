// SPDX-License-Identifier: Apache-2.0
// Messages that this process sends: announced in their order, and answered in any.
#include "overlap/engine.hpp"

#include <exception>
#include <mutex>

#include "base/reserve.hpp"
#include "base/shared_word.hpp"
#include "overlap/ports.hpp"

namespace penstock::overlap {

using base::ErrorKind;
namespace rget = protocol::rget;

void Engine::send(Send& message) {
  message.announced.communicator = message.communicator->id;
  message.announced.source = message.communicator->rank;
  message.announced.tag = message.tag;
  courier_.expose(message);
  const std::lock_guard lock(mutex_);
  start_thread();
  Partner& partner = partners_[static_cast<std::size_t>(message.peer_world)];
  note_beginning(message);
  with_waiting_.insert(message.peer_world);
  partner.waiting.push_back(&message);
  base::store(partner.to->begun, ++partner.begun);
  ++counts_.sent;
  announce_waiting(message.peer_world);
  if (!partner.waiting.empty()) ring_thread();  // it has to look for room
}

// In their order, as far as there is room.
bool Engine::announce_waiting(int process) noexcept {
  Partner& partner = partners_[static_cast<std::size_t>(process)];
  bool moved = false;
  while (!partner.waiting.empty() && !partner.dead && find_answer()) {
    Send& message = *partner.waiting.front();
    message.announced.answer = free_answers_.back();
    message.announced.more = message.announced.answer < answers
                                 ? peer::ArenaAddress{}
                                 : more_answers_[message.announced.answer / answers - 1].place();
    message.announced.number = numbers_ + 1;
    HostRing ring(partner.station, station_, rank_, process, message.announced);
    if (!rget::announce(ring, partner.announced + 1)) break;
    wake_program(partner.station);
    ++partner.announced;
    ++numbers_;
    free_answers_.pop_back();
    sent_.push_back(&message);  // there is room for all answers
    partner.waiting.pop_front();
    moved = true;
  }
  return moved;
}

// Whether there is a word that nobody is to answer by. A receiver may want any message first, so
// there is no end of them but that of memory.
bool Engine::find_answer() noexcept {
  if (!free_answers_.empty()) return true;
  try {
    const auto blocks = static_cast<std::uint32_t>(1 + more_answers_.size());
    base::reserve_for(free_answers_, std::size_t{blocks + 1} * answers);
    base::reserve_for(sent_, std::size_t{blocks + 1} * answers);
    base::reserve_for(more_answers_, blocks);
    more_answers_.push_back(peer_.hold(answers * sizeof(std::uint64_t), nullptr));
    for (std::uint32_t i = answers; i > 0; --i) free_answers_.push_back(blocks * answers + i - 1);
    return true;
  } catch (const std::exception&) {
    return false;  // once more at the next look
  }
}

std::uint64_t& Engine::answer(std::uint32_t which) const noexcept {
  if (which < answers) return station_.answer(which);
  return words_of(more_answers_[which / answers - 1].block())[which % answers];
}

bool Engine::look_at_answers() noexcept {
  bool moved = false;
  for (std::size_t i = 0; i < sent_.size();) {
    Send& message = *sent_[i];
    SentMessage port(answer(message.announced.answer));
    const std::uint64_t told = rget::told(port);
    if (told >> 2 != message.announced.number) {
      ++i;
      continue;
    }
    if (static_cast<Answer>(told & 3) == Answer::copy_failed)
      fail(message, ErrorKind::transport,
           ": its receiver could not read it, for which it has its own error");
    free_answers_.push_back(message.announced.answer);
    sent_[i] = sent_.back();
    sent_.pop_back();
    end(message);
    moved = true;
  }
  return moved;
}

}  // namespace penstock::overlap
