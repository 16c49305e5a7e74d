// SPDX-License-Identifier: Apache-2.0
// Notices the end of other processes on this host, by file descriptors that the kernel makes readable when a process
// ends.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include <poll.h>

namespace penstock::group {

// Where a process can be found again. Process numbers mean something only within one kernel's run and one process
// namespace, and are reused: the start time tells one user of a number from the next.
struct ProcessPlace {
  char boot[40] = "";  // the kernel's boot id
  std::uint64_t pid_namespace = 0;
  std::uint64_t start_time = 0;  // in clock ticks since boot; 0: could not be read
  std::int64_t pid = 0;

  static ProcessPlace of_this_process();
  bool same_kernel(const ProcessPlace& other) const noexcept;
  bool can_see(const ProcessPlace& other) const noexcept;  // its process number means the same to both
};

class ProcessWatch {
 public:
  // One place for each rank; `own` is ours, which is not watched.
  ProcessWatch(const std::vector<ProcessPlace>& places, int own);
  ~ProcessWatch();
  ProcessWatch(const ProcessWatch&) = delete;
  ProcessWatch& operator=(const ProcessWatch&) = delete;

  const std::atomic<bool>& dead(int rank) const noexcept { return dead_[static_cast<std::size_t>(rank)]; }
  void watch(int milliseconds) noexcept;
  void wake() noexcept;

 private:
  void add(int rank, const ProcessPlace& place);
  void mark_ended() noexcept;

  std::unique_ptr<std::atomic<bool>[]> dead_;
  std::vector<pollfd> descriptors_;  // the first is the event of wake(); the others are of ranks_[i - 1]
  std::vector<int> ranks_;
};

}  // namespace penstock::group
