// SPDX-License-Identifier: Apache-2.0
// The ports of protocol/rget.hpp between processes of one host.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>
#include <optional>

#include "overlap/courier.hpp"
#include "overlap/message.hpp"
#include "overlap/station.hpp"
#include "protocol/rget.hpp"

namespace penstock::overlap {

// Who sleeps on a word sleeps while it is 1.
inline void wake(std::uint32_t& word) noexcept {
  if (std::atomic_ref(word).exchange(0, std::memory_order_acq_rel) == 0)
    return;  // another one does
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}
inline void sleep_on(std::uint32_t& word, std::optional<Clock::duration> limit) noexcept {
  const auto nanoseconds =
      std::chrono::duration_cast<std::chrono::nanoseconds>(limit.value_or(Clock::duration{}))
          .count();
  const timespec wait{static_cast<time_t>(nanoseconds / 1'000'000'000),
                      static_cast<long>(nanoseconds % 1'000'000'000)};
  syscall(SYS_futex, &word, FUTEX_WAIT, 1, limit ? &wait : nullptr, nullptr, 0);
  std::atomic_ref(word).store(0, std::memory_order_relaxed);
}
// Behind news for it.
inline void wake_program(const Station& station) noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (std::atomic_ref(station.dozing()).load(std::memory_order_relaxed) != 0)
    wake(station.dozing());
}

// A ring of `sender` at `receiver`. Either end makes one when it needs it.
class HostRing {
 public:
  using Word = protocol::rget::Word;

  HostRing(const Station& at_receiver, const Station& at_sender, int sender, int receiver,
           Announcement& line) noexcept
      : at_receiver_(at_receiver),
        at_sender_(at_sender),
        sender_(sender),
        receiver_(receiver),
        line_(line) {}

  template <protocol::rget::Order order>
  std::uint64_t load(Word word, unsigned slot) const noexcept {
    if (word == Word::asleep) return std::atomic_ref(at_receiver_.asleep()).load(order);
    return std::atomic_ref(this->word(word, slot)).load(order);
  }
  template <protocol::rget::Order order>
  void store(Word word, unsigned slot, std::uint64_t value) const noexcept {
    if (word == Word::asleep)
      std::atomic_ref(at_receiver_.asleep()).store(static_cast<std::uint32_t>(value), order);
    else
      std::atomic_ref(this->word(word, slot)).store(value, order);
  }
  // RUNG alone: our bit of it to be set, or the whole word to be cleared.
  std::uint64_t exchange(Word, std::uint64_t value) noexcept {
    std::atomic_ref rung(rung_word());
    if (value != 0) return rung.fetch_or(bit(), std::memory_order_acq_rel);
    return heard_ = rung.exchange(0, std::memory_order_acq_rel);
  }
  template <protocol::rget::Order order>
  void fence() const noexcept {
    std::atomic_thread_fence(order);
  }
  void fill(unsigned slot) const noexcept { at_receiver_.ring(sender_).lines[slot] = line_; }
  void drain(unsigned slot) const noexcept { line_ = at_receiver_.ring(sender_).lines[slot]; }
  void wake() const noexcept { overlap::wake(at_receiver_.asleep()); }
  unsigned slots() const noexcept { return ring_slots; }
  // Behind listen(): the bits of those who have rung, of the word that the sender's is in.
  std::uint64_t heard() const noexcept { return heard_; }

 private:
  std::uint64_t& rung_word() const noexcept {
    return at_receiver_.rung(static_cast<std::size_t>(sender_) / 64);
  }
  std::uint64_t bit() const noexcept { return std::uint64_t{1} << (sender_ % 64); }
  std::uint64_t& word(Word word, unsigned slot) const noexcept {
    if (word == Word::head) return at_receiver_.ring(sender_).heads[slot];
    return word == Word::taken ? at_sender_.taken(receiver_) : rung_word();
  }

  const Station& at_receiver_;
  const Station& at_sender_;
  const int sender_, receiver_;
  Announcement& line_;
  std::uint64_t heard_ = 0;
};
static_assert(protocol::rget::RingPort<HostRing>);

// What a sender is told: the number of its message, and how it went.
enum class Answer : std::uint64_t { pulled, not_pulled, copy_failed };
inline std::uint64_t answer_word(std::uint64_t number, Answer answer) noexcept {
  return number << 2 | static_cast<std::uint64_t>(answer);
}
// Of a message that is not pulled.
inline void refuse(const Station& sender, const Arrival& arrival) noexcept {
  std::atomic_ref(*arrival.answer)
      .store(answer_word(arrival.announced.number, Answer::not_pulled), std::memory_order_release);
  wake_program(sender);
}

// A message that this process sends.
class SentMessage {
 public:
  explicit SentMessage(std::uint64_t& answer) noexcept : answer_(answer) {}
  template <protocol::rget::Order order>
  std::uint64_t load(protocol::rget::Word, unsigned) const noexcept {
    return std::atomic_ref(answer_).load(order);
  }

 private:
  std::uint64_t& answer_;
};
static_assert(protocol::rget::SentPort<SentMessage>);

// A message that this process receives.
class TakenMessage {
 public:
  using Word = protocol::rget::Word;

  TakenMessage(Receive& receive, const Courier& courier) noexcept
      : receive_(receive), courier_(courier) {}

  template <protocol::rget::Order order>
  void store(Word, unsigned, std::uint64_t value) const noexcept {
    if (receive_.copy_failed != 0)
      value = answer_word(receive_.arrival.announced.number, Answer::copy_failed);
    std::atomic_ref(*receive_.arrival.answer).store(value, order);
  }
  void pull() const noexcept { receive_.copy_failed = courier_.pull(receive_); }

 private:
  Receive& receive_;
  const Courier& courier_;
};
static_assert(protocol::rget::TakenPort<TakenMessage>);

}  // namespace penstock::overlap
