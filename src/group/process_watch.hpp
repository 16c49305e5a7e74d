// SPDX-License-Identifier: Apache-2.0
// Notices the end of other processes on this host, by file descriptors that the kernel makes
// readable when a process ends.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include <poll.h>

#include "base/no_copy.hpp"

namespace penstock::group {

// Where a process can be found. Its number means something only within one kernel and one process
// namespace, and is given away again. Identifiers do not tell these apart (copies of a machine
// share their boot id), so whoever finds a process of that number looks for the mark that only the
// right one holds.
struct ProcessPlace {
  std::uint64_t nonce[2] = {};
  std::int64_t pid = 0;
  std::int64_t mark = -1;  // descriptor of a file named after the nonce; negative: there is none

  // The process that we see under this number is the one that is meant. False as well where it
  // hides from us.
  bool is_here() const;
};

// The mark of this process.
class ProcessMark : private base::NoCopy {
 public:
  ProcessMark();
  ~ProcessMark();
  const ProcessPlace& place() const noexcept { return place_; }

 private:
  ProcessPlace place_;
};

// A program may close descriptors that it does not own, and then have others under their numbers:
// each is asked what it stands for before it is used. Who is watched by one that is gone is not
// seen to end any more.
class ProcessWatch {
 public:
  // One place for each rank; `own` is ours, which is not watched. Those are watched that are seen
  // to be alive.
  ProcessWatch(const std::vector<ProcessPlace>& places, int own);
  ~ProcessWatch();

  const std::atomic<bool>& dead(int rank) const noexcept {
    return dead_[static_cast<std::size_t>(rank)];
  }
  bool anybody_dead() const noexcept { return any_dead_.load(std::memory_order_acquire); }
  int found() const noexcept { return found_; }  // others that live where we can see them
  // Returns when a process has ended, when it is woken, after so many milliseconds (negative: no
  // limit of the caller's), and now and then without a reason.
  void watch(int milliseconds) noexcept;
  void wake() noexcept;

 private:
  void add(int rank, const ProcessPlace& place);
  void mark_ended() noexcept;
  void mark_dead(int rank) noexcept;
  void mend_event() noexcept;
  void take_out(std::size_t descriptor) noexcept;

  std::unique_ptr<std::atomic<bool>[]> dead_;
  std::atomic<bool> any_dead_{false};
  std::atomic<int> event_{-1};       // of wake()
  std::vector<pollfd> descriptors_;  // the first is the event; the others are of ranks_[i - 1]
  std::vector<int> ranks_;
  int found_ = 0;
};

}  // namespace penstock::group
