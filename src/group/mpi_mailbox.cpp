// SPDX-License-Identifier: Apache-2.0
#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstring>
#include <deque>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "group/mailbox.hpp"
#include "group/mpi_check.hpp"
#include "group/private_communicator.hpp"

namespace penstock::group {

namespace {

using Letter = Mailbox::Letter;
using Handler = std::function<void(int rank, std::span<const std::byte> letter)>;

constexpr int tag = 1;
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
  explicit LostRanks(MPI_Comm comm) {
    int size = 0;
    check_mpi(PMPI_Comm_size(comm, &size), "MPI_Comm_size");
    ranks_ = std::vector<std::atomic<bool>>(static_cast<std::size_t>(size));
  }
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
  void add(int rank, int code, const char* call) noexcept {
    add(rank, [&] { return std::string(call) + " failed: " + mpi_error_text(code); });
  }
  bool any() const noexcept { return any_.load(std::memory_order_acquire); }
  bool has(int rank) const noexcept {
    return any() && ranks_[static_cast<std::size_t>(rank)].load(std::memory_order_acquire);
  }

 private:
  std::atomic<bool> any_{false};
  std::vector<std::atomic<bool>> ranks_;
};

class Outbox {
 public:
  Outbox(MPI_Comm comm, LostRanks& lost) : comm_(comm), lost_(lost) {}

  ~Outbox() {
    // MPI still reads what it has not taken, and a peer that is gone will never let it finish: such
    // letters are left to it.
    if (in_mpi_.empty()) return;
    for (InMpi& letter : in_mpi_) PMPI_Request_free(&letter.request);
    new std::vector<InMpi>(std::move(in_mpi_));
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
    const auto holds = [&](const InMpi& sent) { return sent.rank == rank && sent.first <= last; };
    return destinations_[rank].handed_over >= last &&
           std::none_of(in_mpi_.begin(), in_mpi_.end(), holds);
  }

  bool empty() {
    const std::lock_guard lock(mutex_);
    const auto rests = [this](const InMpi& sent) { return lost_.has(sent.rank); };
    const auto nothing_waits = [this](int rank) {
      return lost_.has(rank) || destinations_[rank].waiting.empty();
    };
    return std::all_of(in_mpi_.begin(), in_mpi_.end(), rests) &&
           std::all_of(held_up_.begin(), held_up_.end(), nothing_waits);
  }

 private:
  struct Destination {
    std::deque<Letter> waiting;
    std::uint64_t handed_over = 0;  // letters that MPI has been given
    std::size_t in_mpi = 0;         // sends
  };
  struct InMpi {
    int rank = -1;
    std::uint64_t first = 0;  // number of the first letter in it
    Letter letter;            // moving a vector keeps its bytes where they are
    MPI_Request request = MPI_REQUEST_NULL;
  };

  bool hand_over_some() {
    bool moved = false;
    std::erase_if(held_up_, [&](int rank) {
      Destination& destination = destinations_[rank];
      if (lost_.has(rank)) destination.waiting.clear();
      while (!destination.waiting.empty() && destination.in_mpi < sends_in_mpi) {
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
    const auto size = [&] { return sizeof(std::uint64_t) + waiting[letters].size(); };
    for (; letters < waiting.size() && (letters == 0 || bytes + size() <= bundle_bytes); ++letters)
      bytes += size();
    bundle.reserve(bytes);
    for (std::size_t i = 0; i < letters; ++i) append(bundle, waiting[i]);
    InMpi& sent = in_mpi_.emplace_back();
    sent.rank = rank;
    sent.first = destination.handed_over + 1;
    sent.letter = std::move(bundle);
    waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(letters));
    destination.handed_over += letters;
    ++destination.in_mpi;
    const int code = PMPI_Isend(sent.letter.data(), static_cast<int>(sent.letter.size()), MPI_BYTE,
                                rank, tag, comm_, &sent.request);
    if (code != MPI_SUCCESS) lose(rank, code, "MPI_Isend");
    // Short letters are taken at once as a rule.
    if (code != MPI_SUCCESS || finished(sent)) forget(in_mpi_.size() - 1);
  }

  bool collect_finished() {
    bool moved = false;
    for (std::size_t i = 0; i < in_mpi_.size();) {
      if (finished(in_mpi_[i])) {
        forget(i);
        moved = true;
      } else {
        ++i;
      }
    }
    return moved;
  }

  // One at a time: MPI_Testsome reports a failure through the error handler of MPI_COMM_WORLD in
  // some libraries, which may end the process; MPI_Test uses that of the request's communicator.
  bool finished(InMpi& sent) {
    int done = 0;
    const int code = PMPI_Test(&sent.request, &done, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) lose(sent.rank, code, "MPI_Test");
    return code != MPI_SUCCESS || done != 0;
  }

  void forget(std::size_t place) {
    --destinations_[in_mpi_[place].rank].in_mpi;
    if (place + 1 != in_mpi_.size()) in_mpi_[place] = std::move(in_mpi_.back());
    in_mpi_.pop_back();
  }

  void lose(int rank, int code, const char* call) {
    lost_.add(rank, code, call);
    destinations_[rank].waiting.clear();
  }

  MPI_Comm comm_;
  LostRanks& lost_;
  std::mutex mutex_;
  std::unordered_map<int, Destination> destinations_;  // by rank
  std::vector<int> held_up_;                           // ranks with waiting letters
  std::vector<InMpi> in_mpi_;
};

class Inbox {
 public:
  Inbox(MPI_Comm comm, LostRanks& lost) : comm_(comm), lost_(lost) {}

  ~Inbox() {
    for (Incoming& letter : incoming_) {
      if (letter.complete || letter.message != MPI_MESSAGE_NULL) continue;
      PMPI_Request_free(&letter.request);
      new Letter(std::move(letter.bytes));  // as in ~Outbox: MPI may still write it
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
    int rank = -1;
    Letter bytes;
    MPI_Message message = MPI_MESSAGE_NULL;  // until there is memory for it
    int length = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    bool complete = false;
  };

  bool take_arrived(const Handler& handle) {
    int taken = 0;
    for (; taken < letters_per_poll; ++taken) {
      if (!find(incoming_.emplace_back())) break;
      deliver_finished(handle);
    }
    return taken > 0;
  }

  // The letter has its place already: what MPI has given out it will not show again.
  bool find(Incoming& letter) {
    int found = 0;
    MPI_Status status;
    const int code = PMPI_Improbe(MPI_ANY_SOURCE, tag, comm_, &found, &letter.message, &status);
    if (code != MPI_SUCCESS || !found) incoming_.pop_back();
    check_mpi(code, "MPI_Improbe");
    if (!found) return false;
    letter.rank = status.MPI_SOURCE;
    check_mpi(PMPI_Get_count(&status, MPI_BYTE, &letter.length), "MPI_Get_count");
    return true;
  }

  // Where there is no memory, the next poll tries again.
  void receive(Incoming& letter) {
    letter.bytes.resize(static_cast<std::size_t>(letter.length));
    const int code =
        PMPI_Imrecv(letter.bytes.data(), letter.length, MPI_BYTE, &letter.message, &letter.request);
    letter.message = MPI_MESSAGE_NULL;
    if (code != MPI_SUCCESS) lose(letter, code, "MPI_Imrecv");
  }

  // In the order of arrival per sender: a long letter that is still on its way holds back those
  // behind it.
  bool deliver_finished(const Handler& handle) {
    bool delivered = false;
    held_back_.clear();
    for (auto letter = incoming_.begin(); letter != incoming_.end();) {
      if (!is_complete(*letter) || is_held_back(letter->rank)) {
        held_back_.push_back(letter->rank);
        ++letter;
        continue;
      }
      const Incoming arrived = std::move(*letter);
      letter = incoming_.erase(letter);
      delivered = true;
      if (!lost_.has(arrived.rank)) deliver_to(handle, arrived);
    }
    return delivered;
  }

  void deliver_to(const Handler& handle, const Incoming& arrived) noexcept {
    try {
      deliver(arrived.rank, arrived.bytes, handle);
    } catch (const std::exception& failure) {
      lost_.add(arrived.rank, [&] { return std::string("one is lost: ") + failure.what(); });
    }
  }

  bool is_complete(Incoming& letter) {
    if (letter.message != MPI_MESSAGE_NULL) receive(letter);
    if (letter.complete) return true;
    int done = 0;
    const int code = PMPI_Test(&letter.request, &done, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) lose(letter, code, "MPI_Test");
    letter.complete = letter.complete || done != 0;
    return letter.complete;
  }

  void lose(Incoming& letter, int code, const char* call) noexcept {
    lost_.add(letter.rank, code, call);
    letter.complete = true;
  }

  bool is_held_back(int rank) const {
    return std::find(held_back_.begin(), held_back_.end(), rank) != held_back_.end();
  }

  MPI_Comm comm_;
  LostRanks& lost_;
  std::mutex mutex_;
  std::deque<Incoming> incoming_;  // as a rule empty or one
  std::vector<int> held_back_;
};

class MpiMailbox final : public Mailbox {
 public:
  MpiMailbox() : lost_(comm_.get()), outbox_(comm_.get(), lost_), inbox_(comm_.get(), lost_) {}

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
  PrivateCommunicator comm_;  // first, so that it ends last
  LostRanks lost_;
  Outbox outbox_;
  Inbox inbox_;
};

}  // namespace

std::unique_ptr<Mailbox> Mailbox::open() {
  return std::make_unique<MpiMailbox>();
}

}  // namespace penstock::group
