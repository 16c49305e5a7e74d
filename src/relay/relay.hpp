// SPDX-License-Identifier: Apache-2.0
// The thread that communicates for streams of GPUs where no kernel can do it: it looks at the words
// that streams write, runs host plans, and writes the words that streams wait for. It knows no
// vendor, and makes no call of one: what waits on a device cannot hold it up.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "relay/lane.hpp"

namespace penstock::relay {

class Relay {
 public:
  using Ended = void (*)(void*);

  explicit Relay(std::chrono::microseconds spin) : spin_(spin) {}
  ~Relay() { stop(); }
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  // Makes the thread, unless it is there: so that no enqueue call has to. Throws
  // base::Error(resources).
  void begin();
  void add(Lane& lane);  // begins as well
  // Enqueue calls: the stream will start the lane's next epoch, or, `replayed`, each launch of a
  // graph will start one.
  void expect(Lane& lane, bool replayed) noexcept;
  // The lane's queue has failed: its pair serves no more, of which the peer knows when this
  // returns. Any thread.
  void abandon(Lane& lane) noexcept;
  // The stream has run all that was enqueued for the lane: the peer is told that this half is gone,
  // then `ended(argument)` is called from the relay's thread, after which the lane may be deleted.
  // Does not wait for that.
  void close(Lane& lane, Ended ended, void* argument) noexcept;
  // The same at once, for a lane that no stream uses.
  void close(Lane& lane) noexcept;
  // Ends the thread, when all lanes that are closing have been closed. A later begin() or add()
  // starts it again.
  void stop() noexcept;

 private:
  void begin_in_turn();
  void run() noexcept;
  Activity round() noexcept;
  bool rest(bool listening, std::chrono::steady_clock::duration quiet) noexcept;
  bool may_sleep(bool listening) noexcept;
  void wake_if_asleep() noexcept;
  void remove(Lane& lane) noexcept;

  const std::chrono::microseconds spin_;
  std::mutex turn_;  // the lanes and their plans
  std::vector<Lane*> lanes_;
  std::thread thread_;
  std::atomic<bool> asleep_{false};
  std::atomic<bool> stopping_{false};
  std::mutex sleep_mutex_;
  std::condition_variable awake_;
};

}  // namespace penstock::relay
