// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <utility>

#include "relay/relay.hpp"

namespace penstock::relay {

// One half of a pair on a stream: what the kernels of its starts and waits do.
class Half {
 public:
  Half(Relay& relay, std::unique_ptr<transport::Plan> plan)
      : relay_(relay), plan_(std::move(plan)), pair(static_cast<plan::HostPlan&>(*plan_), words_) {
    relay_.add(pair);
  }
  ~Half() {
    if (!closed_) relay_.close(pair);
  }

  void enqueue(bool replayed = false) {
    if (!replayed) static_cast<plan::HostPlan&>(*plan_).expect_start();
    relay_.expect(pair, replayed);
  }
  void start() {
    std::atomic_ref(words_.started).store(words_.done + 1, std::memory_order_release);
  }
  bool has_come() {
    return std::atomic_ref(words_.completed).load(std::memory_order_acquire) > words_.done;
  }
  // False: given up.
  bool wait() {
    for (;; std::this_thread::yield()) {
      const auto completed = std::atomic_ref(words_.completed).load(std::memory_order_acquire);
      if (completed == no_more) return false;
      if (completed <= words_.done) continue;
      ++words_.done;
      return true;
    }
  }
  void close_in_order(std::atomic<bool>& closed) {
    closed_ = true;
    relay_.close(
        pair, [](void* flag) { static_cast<std::atomic<bool>*>(flag)->store(true); }, &closed);
  }

 private:
  Relay& relay_;
  std::unique_ptr<transport::Plan> plan_;
  RelayWords words_{};
  bool closed_ = false;

 public:
  RelayedPair pair;
};

}  // namespace penstock::relay
