// SPDX-License-Identifier: Apache-2.0
// The thread that communicates for streams of GPUs where no kernel can do it: it looks at the words
// that streams write, runs host plans, and writes the words that streams wait for. It knows no
// vendor, and makes no call of one: what waits on a device cannot hold it up.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <vector>

#include "plan/progress_thread.hpp"
#include "relay/relayed_pair.hpp"

namespace penstock::relay {

class Relay final : private plan::ProgressThread::ProgressWork {
 public:
  using Ended = void (*)(void*);

  explicit Relay(std::chrono::microseconds spin) : thread_("penstock-relay", *this, spin) {}
  ~Relay() override { stop(); }

  // Makes the thread, unless it is there: so that no enqueue call has to. Throws
  // base::Error(resources).
  void begin();
  void add(RelayedPair& pair);  // begins as well
  // Enqueue calls: the stream will start the pair's next epoch, or, `replayed`, each launch of a
  // graph will start one.
  void expect(RelayedPair& pair, bool replayed) noexcept;
  // The pair's queue has failed. If the pair had started there, or can be started by a graph,
  // nothing starts any more, and the peer is told; what is under way goes on until nothing of it
  // moves. An idle one stays as it is. Any thread.
  void give_up(RelayedPair& pair) noexcept;
  // The same, whatever it has to do.
  void poison(RelayedPair& pair) noexcept;
  // The stream has run all that was enqueued for the pair: the peer is told that this half is gone,
  // then `ended(argument)` is called from the relay's thread, after which the pair may be deleted.
  // Does not wait for that.
  void close(RelayedPair& pair, Ended ended, void* argument) noexcept;
  // The same at once, for a pair that no stream uses.
  void close(RelayedPair& pair) noexcept;
  // Ends the thread, when all pairs that are closing have been closed, however far they are. A
  // later begin() or add() starts it again.
  void stop() noexcept {
    stopping_ = true;
    thread_.stop();
    stopping_ = false;
  }

 private:
  plan::ProgressThread::Outcome advance() noexcept override;
  bool nothing_to_do(bool listening) noexcept override;

  std::mutex progress_lock_;  // the pairs and their plans
  std::vector<RelayedPair*> pairs_;
  std::atomic<bool> stopping_{false};
  plan::ProgressThread thread_;
};

}  // namespace penstock::relay
