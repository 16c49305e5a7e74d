// SPDX-License-Identifier: Apache-2.0
// The thread that moves what no worker waits for. It spins, yields and sleeps in short steps while
// something is under way. It polls less and less often while only others can begin something. It
// blocks when no process can, so that an idle process uses next to no processor time.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

namespace penstock::plan {

class ProgressThread {
 public:
  // How soon to look again. The last one counts least.
  enum class Outcome {
    moved,
    waiting,       // something of ours is under way
    worker_polls,  // others look after it, as they wait for it
    listening,  // a peer, or a graph, may begin something at any time and tells no thread of ours
    idle
  };

  class ProgressWork {
   public:
    virtual ~ProgressWork() = default;
    virtual Outcome advance() noexcept = 0;
    // Asked once more after the thread has announced its sleep: whether it still has no work of its
    // own. `listening`: it will look again by itself; otherwise it sleeps until it is woken.
    virtual bool nothing_to_do(bool listening) noexcept = 0;
  };

  // `name`: see base::start_thread.
  ProgressThread(const char* name, ProgressWork& work, std::chrono::microseconds spin)
      : name_(name), work_(work), spin_(spin) {}
  ~ProgressThread() { stop(); }

  void start();  // does nothing when it runs; throws base::Error
  // The work is advanced once more before the thread ends. A later start() begins again.
  void stop() noexcept;

  // Is called after new work has become visible. It is sequentially consistent, so that either the
  // caller sees the sleeper or the sleeper sees the work.
  void wake_if_asleep() noexcept {
    if (asleep_.load(std::memory_order_seq_cst)) wake();
  }

 private:
  void wake() noexcept;
  void run() noexcept;
  // `since`: from when on workers have polled without a break, so far as the thread knows.
  static void leave_to_workers(std::optional<std::chrono::steady_clock::time_point>& since);
  // Returns true when it was woken, because there is something new.
  bool sleep(std::optional<std::chrono::steady_clock::duration> limit) noexcept;

  const char* const name_;
  ProgressWork& work_;
  const std::chrono::microseconds spin_;
  std::thread thread_;
  std::atomic<bool> asleep_{false};
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  std::condition_variable awake_;
};

}  // namespace penstock::plan
