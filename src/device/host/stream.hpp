// SPDX-License-Identifier: Apache-2.0
// An in-order stream with a worker thread of its own. Each stream needs its own worker: a pool
// smaller than the number of streams would deadlock when the streams wait for each other.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>

#include "base/trace.hpp"
#include "device/host/command.hpp"
#include "device/stream.hpp"

namespace penstock::device::host {

class Stream final : public device::Stream {
 public:
  // `spin`: how long a worker without work or with an unfinished wait spins before it yields and
  // then sleeps, while not more than `most` workers of the process are awake: with more of them
  // threads outnumber cores. `functions` (may be null) takes what is recorded of launched
  // functions.
  explicit Stream(std::chrono::microseconds spin, int most = std::numeric_limits<int>::max(),
                  base::trace::Track* functions = nullptr);
  ~Stream() override;  // everything enqueued must have ended

  // Enqueues a command. Any thread, several at once, the stream's own worker too. Takes no lock,
  // allocates nothing and makes no system call, except when the command store grows by a chunk and
  // when the worker sleeps. Commands of one thread run in its order.
  void push(const Command& command);
  void launch(void (*function)(void*), void* argument);

  // Stream order: what is enqueued afterwards runs only when `word`, which only grows, has reached
  // `number`. Does not block the caller.
  void await(const std::atomic<std::uint64_t>& word, std::uint64_t number);

  void make_room(std::size_t pieces) override;
  void synchronize(const std::function<bool()>& meanwhile) override;
  bool idle() const override;
  static bool on_a_worker() noexcept;  // the calling thread runs the commands of some stream

 private:
  class Worker;
  base::trace::Track* const functions_;
  std::unique_ptr<Worker> worker_;
};

}  // namespace penstock::device::host
