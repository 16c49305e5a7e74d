// SPDX-License-Identifier: Apache-2.0
// The thread that moves what nobody waits for. It spins, yields and sleeps in short steps while something is under way,
// and blocks when nothing is, so that an idle process uses no processor time.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace penstock::transport::proxy {

class ProgressThread {
 public:
  enum class Outcome { moved, waiting, idle };

  class Work {
   public:
    virtual ~Work() = default;
    virtual Outcome advance() noexcept = 0;
    virtual bool nothing_to_do() noexcept = 0;  // asked once more after the thread has announced its sleep
  };

  ProgressThread(Work& work, std::chrono::microseconds spin) : work_(work), spin_(spin) {}
  ~ProgressThread() { stop(); }

  void start();  // does nothing when it runs; throws base::Error
  void stop() noexcept;

  // A ringer calls this after its work has become visible. Sequentially consistent, so that either it sees the sleeper
  // or the sleeper sees the work.
  bool asleep() const noexcept { return asleep_.load(std::memory_order_seq_cst); }
  void wake() noexcept;

 private:
  void run() noexcept;
  void sleep() noexcept;

  Work& work_;
  const std::chrono::microseconds spin_;
  std::thread thread_;
  std::atomic<bool> asleep_{false};
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  std::condition_variable awake_;
};

}  // namespace penstock::transport::proxy
