// SPDX-License-Identifier: Apache-2.0
// What is kept of letters between the matcher and their carrier.
#include <algorithm>
#include <atomic>
#include <climits>
#include <cstring>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/reserve.hpp"
#include "group/carrier.hpp"
#include "group/mailbox.hpp"

namespace penstock::group {

namespace {

using Letter = Mailbox::Letter;
using Handler = std::function<void(int rank, std::span<const std::byte> letter)>;

// Sends to one rank that MPI holds at a time. Few, since each poll asks for all of them; the others
// wait here, in order. Each rank has its own, so that one that has stopped taking letters does not
// hold up those to others.
constexpr std::size_t sends_in_mpi = 16;
// Letters that wait for the same rank travel together, up to this many bytes: so few that MPI takes
// them although the other process, inside a call of MPI, asks for no letters.
constexpr std::size_t bundle_bytes = 3072;
// Letters taken in one poll, so that it ends although more and more arrive.
constexpr int letters_per_poll = 1024;

// A message of MPI is one letter or more: the length of each, then its bytes.
void append(Letter& bundle, const Letter& letter) {
  const std::uint64_t length = letter.size();
  const auto* bytes = reinterpret_cast<const std::byte*>(&length);
  bundle.insert(bundle.end(), bytes, bytes + sizeof length);
  bundle.insert(bundle.end(), letter.begin(), letter.end());
}

void deliver(int rank, std::span<const std::byte> bundle, const Handler& handle) {
  std::uint64_t length = 0;
  while (bundle.size() >= sizeof length) {
    std::memcpy(&length, bundle.data(), sizeof length);
    bundle = bundle.subspan(sizeof length);
    length = std::min<std::uint64_t>(length, bundle.size());
    handle(rank, bundle.first(length));
    bundle = bundle.subspan(length);
  }
}

// Ranks that a letter has failed to reach or to come from. Asked often and hardly ever with any in
// it. Takes no memory after it has been made, as want of memory may be what has failed.
class LostRanks {
 public:
  explicit LostRanks(const Carrier& carrier)
      : carrier_(carrier), ranks_(static_cast<std::size_t>(carrier.ranks())) {}
  template <class Why>
  void add(int rank, Why&& why) noexcept {
    if (ranks_[static_cast<std::size_t>(rank)].exchange(true, std::memory_order_acq_rel)) return;
    any_.store(true, std::memory_order_release);
    try {
      base::log::warn("no more letters to and from rank " + std::to_string(rank) + ": " + why());
    } catch (const std::exception&) {
      base::log::warn("no more letters to and from a rank");
    }
  }
  void add(int rank, const Carrier::Step& step) noexcept {
    add(rank, [&] { return std::string(step.failed) + " failed: " + carrier_.text_of(step.code); });
  }
  bool any() const noexcept { return any_.load(std::memory_order_acquire); }
  bool has(int rank) const noexcept {
    return any() && ranks_[static_cast<std::size_t>(rank)].load(std::memory_order_acquire);
  }

 private:
  const Carrier& carrier_;
  std::atomic<bool> any_{false};
  std::vector<std::atomic<bool>> ranks_;
};

// What MPI still reads or writes when a mailbox ends, as a peer that is gone will never let it
// finish: it stays in memory. The place for it is had beforehand, since an end may have none.
template <class Item>
class LeftToMpi {
 public:
  ~LeftToMpi() {
    if (!kept_->empty()) (void)kept_.release();
  }
  void take(std::list<Item>& from, typename std::list<Item>::iterator item) noexcept {
    kept_->splice(kept_->end(), from, item);
  }

 private:
  std::unique_ptr<std::list<Item>> kept_ = std::make_unique<std::list<Item>>();
};

class Outbox {
 public:
  Outbox(Carrier& carrier, LostRanks& lost) : carrier_(carrier), lost_(lost) {}

  ~Outbox() {
    for (const int rank : with_mpi_) {
      std::list<Sent>& left = destinations_[rank].in_mpi;
      while (!left.empty()) {
        carrier_.abandon(left.front().transfer);
        left_to_mpi_.take(left, left.begin());
      }
    }
  }

  std::uint64_t add(int rank, Letter letter) {
    if (letter.size() > INT_MAX - sizeof(std::uint64_t))
      throw base::Error(base::ErrorKind::resources, "a letter between processes exceeds 2 GiB");
    const std::lock_guard lock(mutex_);
    Destination& destination = destinations_[rank];
    if (lost_.has(rank)) return destination.handed_over;
    const bool first = destination.waiting.empty();
    if (first) held_up_.push_back(rank);
    try {
      destination.waiting.push_back(std::move(letter));
    } catch (...) {
      if (first) held_up_.pop_back();
      throw;
    }
    return destination.handed_over + destination.waiting.size();
  }

  void hand_over_all() {
    const std::lock_guard lock(mutex_);
    for (const int rank : held_up_) {
      Destination& destination = destinations_[rank];
      if (lost_.has(rank)) destination.waiting.clear();
      while (!destination.waiting.empty()) hand_over(rank, destination);
    }
    held_up_.clear();
  }

  // True: something moved.
  bool move_along() {
    const std::lock_guard lock(mutex_);
    const bool collected = collect_finished();
    return hand_over_some() || collected;
  }

  void dispatch() {
    const std::lock_guard lock(mutex_);
    hand_over_some();
  }

  bool has_left(int rank, std::uint64_t last) {
    const std::lock_guard lock(mutex_);
    const auto found = destinations_.find(rank);
    if (found == destinations_.end()) return last == 0;
    const auto& in_mpi = found->second.in_mpi;
    return found->second.handed_over >= last && (in_mpi.empty() || in_mpi.front().first > last);
  }

  bool empty() {
    const std::lock_guard lock(mutex_);
    const auto rests = [this](int rank) { return lost_.has(rank); };
    const auto nothing_waits = [this](int rank) {
      return lost_.has(rank) || destinations_[rank].waiting.empty();
    };
    return std::all_of(with_mpi_.begin(), with_mpi_.end(), rests) &&
           std::all_of(held_up_.begin(), held_up_.end(), nothing_waits);
  }

 private:
  struct Sent {
    std::uint64_t first = 0;  // number of the first letter in it
    Letter letter;
    Carrier::Transfer transfer = 0;
  };
  // Its lists take nothing while they are empty, as most are.
  struct Destination {
    std::list<Letter> waiting;
    std::uint64_t handed_over = 0;  // letters that MPI has been given
    std::list<Sent> in_mpi;         // in their order
  };

  bool hand_over_some() {
    bool moved = false;
    std::erase_if(held_up_, [&](int rank) {
      Destination& destination = destinations_[rank];
      if (lost_.has(rank)) destination.waiting.clear();
      while (!destination.waiting.empty() && destination.in_mpi.size() < sends_in_mpi) {
        hand_over(rank, destination);
        moved = true;
      }
      return destination.waiting.empty();
    });
    return moved;
  }

  // The first waiting letters. What may throw comes before they leave their place, as MPI reads
  // them from then on.
  void hand_over(int rank, Destination& destination) {
    auto& waiting = destination.waiting;
    Letter bundle;
    std::size_t letters = 0, bytes = 0;
    auto behind = waiting.begin();
    for (; behind != waiting.end(); ++behind, ++letters) {
      const std::size_t size = sizeof(std::uint64_t) + behind->size();
      if (letters > 0 && bytes + size > bundle_bytes) break;
      bytes += size;
    }
    bundle.reserve(bytes);
    for (auto letter = waiting.begin(); letter != behind; ++letter) append(bundle, *letter);
    base::reserve_for(with_mpi_, with_mpi_.size() + 1);
    Sent& sent = destination.in_mpi.emplace_back();
    sent.first = destination.handed_over + 1;
    sent.letter = std::move(bundle);
    waiting.erase(waiting.begin(), behind);
    destination.handed_over += letters;
    if (is_over(rank, carrier_.send(rank, sent.letter, sent.transfer)))
      destination.in_mpi.pop_back();
    else if (destination.in_mpi.size() == 1)
      with_mpi_.push_back(rank);
  }

  // Of each rank the earliest: MPI takes those to one rank in their order, as a rule, and many may
  // be under way to one that reads none.
  bool collect_finished() {
    bool moved = false;
    std::erase_if(with_mpi_, [&](int rank) {
      std::list<Sent>& in_mpi = destinations_[rank].in_mpi;
      while (!in_mpi.empty() && is_over(rank, carrier_.test(in_mpi.front().transfer))) {
        in_mpi.pop_front();
        moved = true;
      }
      return in_mpi.empty();
    });
    return moved;
  }

  bool is_over(int rank, const Carrier::Step& step) {
    if (step.failed != nullptr) lose(rank, step);
    return step.failed != nullptr || step.done;
  }

  void lose(int rank, const Carrier::Step& step) {
    lost_.add(rank, step);
    destinations_[rank].waiting.clear();
  }

  Carrier& carrier_;
  LostRanks& lost_;
  std::mutex mutex_;
  std::unordered_map<int, Destination> destinations_;  // by rank
  std::vector<int> held_up_;                           // ranks with waiting letters
  std::vector<int> with_mpi_;                          // those with letters that MPI has not taken
  LeftToMpi<Sent> left_to_mpi_;
};

class Inbox {
 public:
  Inbox(Carrier& carrier, LostRanks& lost) : carrier_(carrier), lost_(lost) {}

  ~Inbox() {
    for (auto next = incoming_.begin(); next != incoming_.end();) {
      const auto letter = next++;
      if (letter->complete || !letter->is_received) continue;
      carrier_.abandon(letter->transfer);
      left_to_mpi_.take(incoming_, letter);
    }
  }

  bool poll(const Handler& handle) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return false;  // another thread is at it
    const bool finished = deliver_finished(handle);
    return take_arrived(handle) || finished;
  }

 private:
  struct Incoming {
    Carrier::Arrival arrival;
    Letter bytes;
    Carrier::Transfer transfer = 0;
    bool is_received = false;  // not until there is memory for it
    bool complete = false;
  };
  using Place = std::list<Incoming>::iterator;

  // Where some cannot be delivered, all are looked at once behind the last, not for each.
  bool take_arrived(const Handler& handle) {
    int taken = 0;
    for (; taken < letters_per_poll && find(); ++taken)
      if (incoming_.size() == 1) deliver_finished(handle);
    if (!incoming_.empty()) deliver_finished(handle);
    return taken > 0;
  }

  // The letter has its place already: what the carrier has shown it will not show again.
  bool find() {
    incoming_.emplace_back();
    try {
      if (const auto arrival = carrier_.find()) {
        incoming_.back().arrival = *arrival;
        return true;
      }
    } catch (...) {
      incoming_.pop_back();
      throw;
    }
    incoming_.pop_back();
    return false;
  }

  // Where there is no memory, the next poll tries again.
  void receive(Incoming& letter) {
    letter.bytes.resize(letter.arrival.bytes);
    letter.is_received = true;
    take_step(letter, carrier_.receive(letter.arrival, letter.bytes, letter.transfer));
  }

  // In the order of arrival per sender: a long letter that is still on its way holds back those
  // behind it.
  bool deliver_finished(const Handler& handle) {
    bool delivered = false;
    held_back_.clear();
    for (auto next = incoming_.begin(); next != incoming_.end();) {
      const Place letter = next++;
      if (!is_complete(*letter) || held_back_.count(letter->arrival.rank) != 0) {
        held_back_.insert(letter->arrival.rank);
        continue;
      }
      delivered = true;
      deliver_to(handle, letter);
    }
    return delivered;
  }

  void deliver_to(const Handler& handle, Place letter) noexcept {
    const int rank = letter->arrival.rank;
    const Letter bytes = std::move(letter->bytes);
    incoming_.erase(letter);
    if (lost_.has(rank)) return;
    try {
      deliver(rank, bytes, handle);
    } catch (const std::exception& failure) {
      lost_.add(rank, [&] { return std::string("one is lost: ") + failure.what(); });
    }
  }

  bool is_complete(Incoming& letter) {
    if (letter.complete) return true;
    if (!letter.is_received)
      receive(letter);
    else
      take_step(letter, carrier_.test(letter.transfer));
    return letter.complete;
  }

  void take_step(Incoming& letter, const Carrier::Step& step) noexcept {
    if (step.failed != nullptr) lost_.add(letter.arrival.rank, step);
    letter.complete = step.done || step.failed != nullptr;
  }

  Carrier& carrier_;
  LostRanks& lost_;
  std::mutex mutex_;
  std::list<Incoming> incoming_;  // as a rule empty or one
  LeftToMpi<Incoming> left_to_mpi_;
  std::unordered_set<int> held_back_;
};

class LetterMailbox final : public Mailbox {
 public:
  explicit LetterMailbox(std::unique_ptr<Carrier> carrier)
      : carrier_(std::move(carrier)),
        lost_(*carrier_),
        outbox_(*carrier_, lost_),
        inbox_(*carrier_, lost_) {}

  std::uint64_t send(int rank, Letter letter) override {
    return outbox_.add(rank, std::move(letter));
  }

  bool poll(const Handler& handle) override {
    const bool sent = outbox_.move_along();
    const bool received = inbox_.poll(handle);
    return sent || received;
  }

  void dispatch() override { outbox_.dispatch(); }
  void hand_over() override { outbox_.hand_over_all(); }
  bool flushed(int rank, std::uint64_t last) override {
    return lost_.has(rank) || outbox_.has_left(rank, last);
  }
  bool all_flushed() override { return outbox_.empty(); }
  bool lost(int rank) override { return lost_.has(rank); }
  bool any_lost() override { return lost_.any(); }

 private:
  const std::unique_ptr<Carrier> carrier_;  // first, so that it ends last
  LostRanks lost_;
  Outbox outbox_;
  Inbox inbox_;
};

}  // namespace

std::unique_ptr<Mailbox> Mailbox::open(std::unique_ptr<Carrier> carrier) {
  return std::make_unique<LetterMailbox>(std::move(carrier));
}

}  // namespace penstock::group
