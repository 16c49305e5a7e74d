// SPDX-License-Identifier: Apache-2.0
// Messages that this process receives: what has been announced finds its receive, and who may reads
// it.
#include "overlap/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <exception>
#include <mutex>

#include "base/reserve.hpp"
#include "overlap/ports.hpp"
#include "peer/copy_error.hpp"

namespace penstock::overlap {

using base::ErrorKind;
namespace rget = protocol::rget;

void Engine::receive(Receive& message, Caller caller) {
  const std::lock_guard lock(mutex_);
  start_thread();
  note_beginning(message);
  base::reserve_for(ready_, ready_.size() + 1);  // should it match
  if (const auto arrival = unexpected_.take(envelope_of(message)))
    match(message, *arrival);
  else
    post(message);
  tell_thread(caller);
}

void Engine::receive(Receive& message, const Arrival& arrival, Caller caller) {
  const std::lock_guard lock(mutex_);
  start_thread();
  note_beginning(message);
  base::reserve_for(ready_, ready_.size() + 1);
  match(message, arrival);
  tell_thread(caller);
}

void Engine::post(Receive& message) {
  unmatched_.insert(&message);
  try {
    posted_.post(posted_.next_number(), envelope_of(message), &message);
  } catch (...) {
    unmatched_.erase(&message);
    throw;
  }
}

bool Engine::take_lines() noexcept {
  bool moved = false;
  Announcement unused;
  for (std::size_t word = 0; word < station_.rung_words(); ++word) {
    const int first = static_cast<int>(word) * 64;
    HostRing bell(station_, station_, first, rank_, unused);
    if (!rget::listen(bell)) continue;
    for (std::uint64_t left = bell.heard(); left != 0; left &= left - 1)
      moved |= take_lines_of(first + std::countr_zero(left));
  }
  return moved;
}

bool Engine::take_lines_of(int process) noexcept {
  Partner& partner = partners_[static_cast<std::size_t>(process)];
  if (partner.to == nullptr) return false;
  bool moved = false;
  for (;;) {
    if (!partner.stalled) {
      Arrival arrival{process, {}};
      HostRing ring(station_, partner.station, process, rank_, arrival.announced);
      if (!rget::take(ring, partner.taken + 1)) return moved;
      ++partner.taken;
      partner.stalled = arrival;
    }
    if (!sort_in(*partner.stalled)) {  // once more at the next look
      Announcement unused;
      HostRing bell(station_, station_, process, rank_, unused);
      bell.exchange(rget::Word::rung, 1);
      return moved;
    }
    partner.stalled.reset();
    moved = true;
  }
}

// False: there is no memory for it.
bool Engine::sort_in(Arrival& arrival) noexcept {
  const core::Envelope envelope = envelope_of(arrival.announced);
  try {
    arrival.answer = &answer_of(arrival);
    base::reserve_for(ready_, ready_.size() + 1);
    if (const auto receive = posted_.take(envelope)) {
      unmatched_.erase(receive->second);
      match(*receive->second, arrival);
    } else {
      unexpected_.add(unexpected_.next_number(), envelope, arrival);
      ++counts_.unexpected;
    }
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

// Throws base::Error where its block cannot be mapped.
std::uint64_t& Engine::answer_of(const Arrival& arrival) const {
  const Announcement& line = arrival.announced;
  if (line.answer < answers)
    return partners_[static_cast<std::size_t>(arrival.sender)].station.answer(line.answer);
  return words_of(peer_.map(arrival.sender, line.more))[line.answer % answers];
}

void Engine::match(Receive& message, const Arrival& arrival) noexcept {
  message.matched = true;
  message.arrival = arrival;
  message.source = arrival.announced.source;
  message.its_tag = arrival.announced.tag;
  if (arrival.announced.bytes != message.bytes) {
    message.error = base::error_by(ErrorKind::assertion, [&] {
      return fmt::format(
          "{} has met a message of {} bytes from rank {} with tag {}: PENSTOCK_OVERLAP=exact is "
          "the promise that receives are as long as their messages; give the receive that length, "
          "or leave PENSTOCK_OVERLAP off",
          message.label(), arrival.announced.bytes, message.source, message.its_tag);
    });
    refuse(partners_[static_cast<std::size_t>(arrival.sender)].station, arrival);
    end(message);
    return;
  }
  message.matched_at = Clock::now();
  ready_.push_back(&message);  // there is room
  ++news_;
}

// The first that is nobody's yet, and may be the caller's.
Receive* Engine::claim_for(Caller caller) noexcept {
  for (Receive* const each : ready_) {
    if (each->claimed || left_to(caller, *each)) continue;
    each->claimed = true;
    if (caller == Caller::thread) ++pulled_by_thread_;
    return each;
  }
  return nullptr;
}

// Whether the caller leaves it to the other thread.
bool Engine::left_to(Caller caller, Receive& message) noexcept {
  if (caller == Caller::waiting) return false;
  if (caller == Caller::passing) return core_is_free_ && !message.left_to_program;
  if (policy_ == base::OverlapPolicy::always) return false;
  if (Clock::now() - message.matched_at >= grace) return false;
  if (policy_ == base::OverlapPolicy::adaptive && look_for_core()) return false;
  return message.left_to_program = true;
}

// The copy is made without the lock. The message may be gone when its owner has seen its end.
void Engine::pull(Receive& message, Caller caller) noexcept {
  const Station& sender = partners_[static_cast<std::size_t>(message.arrival.sender)].station;
  TakenMessage port(message, courier_);
  rget::pull(port, answer_word(message.arrival.announced.number, Answer::pulled));
  wake_program(sender);
  const std::lock_guard lock(mutex_);
  if (message.copy_failed != 0)
    message.error = peer::copy_error(message.arrival.sender, message.copy_failed);
  ready_.erase(std::find(ready_.begin(), ready_.end(), &message));
  if (caller != Caller::thread)
    ++counts_.by_program;
  else if (message.left_to_program)
    ++counts_.by_grace;
  else
    ++counts_.by_thread;
  if (caller == Caller::thread) --pulled_by_thread_;
  end(message);
  if (caller == Caller::thread) wake_program(station_);
}

}  // namespace penstock::overlap
