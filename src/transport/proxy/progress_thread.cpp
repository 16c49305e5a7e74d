// SPDX-License-Identifier: Apache-2.0
#include "transport/proxy/progress_thread.hpp"

#include "base/backoff.hpp"
#include "base/thread.hpp"

namespace penstock::transport::proxy {

namespace {

// How long it stays up after the last work: waking a blocked thread costs a system call, which a program that
// communicates all the time should not pay at each start.
constexpr int linger_steps = 20;
constexpr std::chrono::microseconds step{100};

}  // namespace

void ProgressThread::start() {
  if (!thread_.joinable()) thread_ = base::start_thread("penstock-proxy", [this] { run(); });
}

void ProgressThread::stop() noexcept {
  if (!thread_.joinable()) return;
  stopping_.store(true, std::memory_order_seq_cst);
  wake();
  thread_.join();
}

void ProgressThread::wake() noexcept {
  {
    const std::lock_guard lock(mutex_);
    asleep_.store(false, std::memory_order_seq_cst);
  }
  awake_.notify_one();
}

void ProgressThread::run() noexcept {
  base::Backoff backoff(spin_);
  int idle = 0;
  while (!stopping_.load(std::memory_order_relaxed)) {
    switch (work_.advance()) {
      case Outcome::moved:
        backoff.reset();
        idle = 0;
        break;
      case Outcome::waiting:
        backoff.pause();
        idle = 0;
        break;
      case Outcome::idle:
        if (++idle < linger_steps) {
          std::this_thread::sleep_for(step);
        } else {
          sleep();
          idle = 0;
        }
        backoff.reset();
        break;
    }
  }
}

void ProgressThread::sleep() noexcept {
  asleep_.store(true, std::memory_order_seq_cst);
  if (!work_.nothing_to_do() || stopping_.load(std::memory_order_seq_cst)) {
    asleep_.store(false, std::memory_order_seq_cst);
    return;
  }
  std::unique_lock lock(mutex_);
  awake_.wait(lock, [this] { return !asleep_.load(std::memory_order_seq_cst); });
}

}  // namespace penstock::transport::proxy
