// SPDX-License-Identifier: Apache-2.0
#include "put_collective.hpp"

#include <mpi.h>

#include <algorithm>
#include <utility>

#include "collective_call.hpp"

namespace penstock::bench {
namespace {

using Blocks = CollectiveBlocks<MpiFunctions>;

// From the first byte of the receive buffer to behind its last block, wherever that lies.
MPI_Aint window_length(const Blocks& taken) {
  MPI_Aint length = 0;
  for (std::size_t i = 0; i < taken.counts.size(); ++i)
    length = std::max<MPI_Aint>(length, MPI_Aint{taken.places[i]} + taken.counts[i]);
  return length;
}

// A window over all that a rank takes, and where its own blocks go at the others. All ranks make
// and free theirs together.
class BlockWindow {
 public:
  BlockWindow(const Blocks& given, const Blocks& taken)
      : given_(given), targets_(given.counts.size()) {
    MPI_Win_create(taken.memory, window_length(taken), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window_);
    MPI_Alltoall(taken.places.data(), 1, MPI_INT, targets_.data(), 1, MPI_INT, MPI_COMM_WORLD);
  }
  ~BlockWindow() { MPI_Win_free(&window_); }
  BlockWindow(const BlockWindow&) = delete;
  BlockWindow& operator=(const BlockWindow&) = delete;

  MPI_Win get() const { return window_; }
  void put_all() const {
    auto* const memory = static_cast<std::byte*>(given_.memory);
    for (std::size_t to = 0; to < targets_.size(); ++to)
      MPI_Put(memory + given_.places[to], given_.counts[to], MPI_BYTE, static_cast<int>(to),
              targets_[to], given_.counts[to], MPI_BYTE, window_);
  }

 private:
  const Blocks& given_;
  std::vector<int> targets_;
  MPI_Win window_ = MPI_WIN_NULL;
};

class FenceEpoch {
 public:
  explicit FenceEpoch(const BlockWindow& window) : window_(window) {}
  void run() const {
    MPI_Win_fence(MPI_MODE_NOPRECEDE, window_.get());
    window_.put_all();
    MPI_Win_fence(MPI_MODE_NOSUCCEED, window_.get());
  }

 private:
  const BlockWindow& window_;
};

// Of one collective, whose window is new on all ranks: a barrier tells that all have put.
class LockEpoch {
 public:
  explicit LockEpoch(const BlockWindow& window) : window_(window) {}
  void run() const {
    MPI_Win_lock_all(0, window_.get());
    window_.put_all();
    MPI_Win_unlock_all(window_.get());
    MPI_Barrier(MPI_COMM_WORLD);
  }

 private:
  const BlockWindow& window_;
};

// Of many: outside its epochs each rank keeps the others out of its own part by a lock. The first
// barrier tells that all have put, so that none is locked out with puts to make; the second that
// all have locked, so that nobody puts the next epoch's data into a part that is still read.
class PersistentLockEpoch {
 public:
  explicit PersistentLockEpoch(const BlockWindow& window) : window_(window) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    lock_own();
    MPI_Barrier(MPI_COMM_WORLD);
  }
  ~PersistentLockEpoch() { MPI_Win_unlock(rank_, window_.get()); }
  PersistentLockEpoch(const PersistentLockEpoch&) = delete;
  PersistentLockEpoch& operator=(const PersistentLockEpoch&) = delete;

  void run() const {
    start();
    wait();
  }

 private:
  void lock_own() const { MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank_, 0, window_.get()); }
  void start() const {
    MPI_Win_unlock(rank_, window_.get());
    MPI_Win_lock_all(0, window_.get());
    window_.put_all();
  }
  void wait() const {
    MPI_Win_unlock_all(window_.get());
    MPI_Barrier(MPI_COMM_WORLD);
    lock_own();
    MPI_Barrier(MPI_COMM_WORLD);
  }

  const BlockWindow& window_;
  int rank_ = 0;
};

template <class Library>
class PutExchange : public LibraryExchange<Library> {
 public:
  PutExchange(const Traffic& traffic, const MemorySource& source, std::function<void()> synchronize)
      : LibraryExchange<Library>(traffic, source),
        synchronize_(std::move(synchronize)),
        given_(this->sent()),
        taken_(this->received()) {}

  bool on_stream() const override { return false; }

 protected:
  const std::function<void()> synchronize_;
  const Blocks given_, taken_;
};

// Makes its window anew each time, as a collective without a request has to.
template <class Epoch>
class SinglePuts final : public PutExchange<SinglePuts<Epoch>> {
 public:
  using PutExchange<SinglePuts>::PutExchange;
  void move(bool, bool) {
    this->synchronize_();
    const BlockWindow window(this->given_, this->taken_);
    Epoch(window).run();
  }
};

template <class Epoch>
class PersistentPuts final : public PutExchange<PersistentPuts<Epoch>> {
 public:
  PersistentPuts(const Traffic& traffic, const MemorySource& source,
                 std::function<void()> synchronize)
      : PutExchange<PersistentPuts>(traffic, source, std::move(synchronize)),
        window_(this->given_, this->taken_),
        epoch_(window_) {}
  void move(bool, bool) {
    this->synchronize_();
    epoch_.run();
  }

 private:
  const BlockWindow window_;
  const Epoch epoch_;
};

}  // namespace

std::unique_ptr<Exchange> make_put_collective(const std::string& library, const Traffic& traffic,
                                              const MemorySource& source,
                                              std::function<void()> synchronize) {
  if (library == rma_fence)
    return std::make_unique<SinglePuts<FenceEpoch>>(traffic, source, std::move(synchronize));
  if (library == rma_lock)
    return std::make_unique<SinglePuts<LockEpoch>>(traffic, source, std::move(synchronize));
  if (library == rma_fence_persistent)
    return std::make_unique<PersistentPuts<FenceEpoch>>(traffic, source, std::move(synchronize));
  return std::make_unique<PersistentPuts<PersistentLockEpoch>>(traffic, source,
                                                               std::move(synchronize));
}

}  // namespace penstock::bench
