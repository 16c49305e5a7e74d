// SPDX-License-Identifier: Apache-2.0
#include <mpi.h>

#include <algorithm>
#include <climits>
#include <deque>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "base/error.hpp"
#include "group/mailbox.hpp"
#include "group/mpi_check.hpp"
#include "group/private_communicator.hpp"

namespace penstock::group {

namespace {

using Letter = Mailbox::Letter;
using Handler = std::function<void(int rank, std::span<const std::byte> letter)>;

constexpr int tag = 1;
// Sends to one rank that MPI holds at a time. Few, since each poll asks for all of them; the others wait here, in
// order. Each rank has its own, so that one that has stopped taking letters does not hold up those to others.
constexpr std::size_t sends_in_mpi = 16;
// Letters taken in one poll, so that it ends although more and more arrive.
constexpr int letters_per_poll = 1024;

class Outbox {
 public:
  explicit Outbox(MPI_Comm comm) : comm_(comm) {}

  ~Outbox() {
    // MPI still reads what it has not taken, and a peer that is gone will never let it finish: such letters are left to
    // it.
    if (requests_.empty()) return;
    for (MPI_Request& request : requests_) PMPI_Request_free(&request);
    new std::vector<InMpi>(std::move(in_mpi_));
  }

  void add(int rank, Letter letter) {
    if (letter.size() > INT_MAX)
      throw base::Error(base::ErrorKind::resources, "a letter between processes exceeds 2 GiB");
    const std::lock_guard lock(mutex_);
    Destination& destination = destinations_[rank];
    if (destination.waiting.empty()) held_up_.push_back(rank);
    destination.waiting.push_back(std::move(letter));
    advance();
  }

  bool move_along() {
    const std::lock_guard lock(mutex_);
    return advance();
  }

  bool empty(int rank) {
    const std::lock_guard lock(mutex_);
    const auto found = destinations_.find(rank);
    return found == destinations_.end() || (found->second.waiting.empty() && found->second.in_mpi == 0);
  }

 private:
  struct Destination {
    std::deque<Letter> waiting;
    std::size_t in_mpi = 0;
  };
  struct InMpi {
    int rank;
    Letter letter;
  };

  bool advance() {
    bool moved = collect_finished();
    std::erase_if(held_up_, [&](int rank) {
      Destination& destination = destinations_[rank];
      while (!destination.waiting.empty() && destination.in_mpi < sends_in_mpi) {
        hand_over(rank, destination, std::move(destination.waiting.front()));
        destination.waiting.pop_front();
        moved = true;
      }
      return destination.waiting.empty();
    });
    return moved;
  }

  void hand_over(int rank, Destination& destination, Letter letter) {
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(PMPI_Isend(letter.data(), static_cast<int>(letter.size()), MPI_BYTE, rank, tag, comm_, &request),
              "MPI_Isend");
    int done = 0;  // short letters are as a rule
    check_mpi(PMPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (done) return;
    requests_.push_back(request);
    in_mpi_.push_back({rank, std::move(letter)});  // moving a vector keeps its bytes where they are
    ++destination.in_mpi;
  }

  bool collect_finished() {
    if (requests_.empty()) return false;
    int count = 0;
    finished_.resize(requests_.size());
    check_mpi(PMPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count, finished_.data(),
                            MPI_STATUSES_IGNORE),
              "MPI_Testsome");
    if (count == MPI_UNDEFINED || count == 0) return false;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      if (requests_[i] == MPI_REQUEST_NULL) {
        --destinations_[in_mpi_[i].rank].in_mpi;
        continue;
      }
      if (kept != i) {
        requests_[kept] = requests_[i];
        in_mpi_[kept] = std::move(in_mpi_[i]);
      }
      ++kept;
    }
    requests_.resize(kept);
    in_mpi_.resize(kept);
    return true;
  }

  MPI_Comm comm_;
  std::mutex mutex_;
  std::unordered_map<int, Destination> destinations_;  // by rank
  std::vector<int> held_up_;                           // ranks with waiting letters
  std::vector<MPI_Request> requests_;
  std::vector<InMpi> in_mpi_;  // the letters of requests_
  std::vector<int> finished_;
};

class Inbox {
 public:
  explicit Inbox(MPI_Comm comm) : comm_(comm) {}

  ~Inbox() {
    for (Incoming& letter : incoming_) {
      if (letter.complete) continue;
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
    int rank;
    Letter bytes;
    MPI_Request request = MPI_REQUEST_NULL;
    bool complete = false;
  };

  bool take_arrived(const Handler& handle) {
    int taken = 0;
    for (; taken < letters_per_poll; ++taken) {
      int found = 0, length = 0;
      MPI_Message message = MPI_MESSAGE_NULL;
      MPI_Status status;
      check_mpi(PMPI_Improbe(MPI_ANY_SOURCE, tag, comm_, &found, &message, &status), "MPI_Improbe");
      if (!found) break;
      check_mpi(PMPI_Get_count(&status, MPI_BYTE, &length), "MPI_Get_count");
      Incoming letter{status.MPI_SOURCE, Letter(static_cast<std::size_t>(length))};
      check_mpi(PMPI_Imrecv(letter.bytes.data(), length, MPI_BYTE, &message, &letter.request), "MPI_Imrecv");
      incoming_.push_back(std::move(letter));
      deliver_finished(handle);
    }
    return taken > 0;
  }

  // In the order of arrival per sender: a long letter that is still on its way holds back those behind it.
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
      handle(arrived.rank, arrived.bytes);
    }
    return delivered;
  }

  static bool is_complete(Incoming& letter) {
    if (letter.complete) return true;
    int done = 0;
    check_mpi(PMPI_Test(&letter.request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    return letter.complete = done != 0;
  }

  bool is_held_back(int rank) const {
    return std::find(held_back_.begin(), held_back_.end(), rank) != held_back_.end();
  }

  MPI_Comm comm_;
  std::mutex mutex_;
  std::deque<Incoming> incoming_;  // as a rule empty or one
  std::vector<int> held_back_;
};

class MpiMailbox final : public Mailbox {
 public:
  MpiMailbox() : outbox_(comm_.get()), inbox_(comm_.get()) {}

  void send(int rank, Letter letter) override { outbox_.add(rank, std::move(letter)); }

  bool poll(const Handler& handle) override {
    const bool sent = outbox_.move_along();
    const bool received = inbox_.poll(handle);
    return sent || received;
  }

  bool flushed(int rank) override { return outbox_.empty(rank); }

 private:
  PrivateCommunicator comm_;  // first, so that it ends last
  Outbox outbox_;
  Inbox inbox_;
};

}  // namespace

std::unique_ptr<Mailbox> Mailbox::open() {
  return std::make_unique<MpiMailbox>();
}

}  // namespace penstock::group
