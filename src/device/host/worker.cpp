// SPDX-License-Identifier: Apache-2.0
#include "device/host/worker.hpp"

#include <algorithm>
#include <atomic>

#include "base/backoff.hpp"
#include "base/thread.hpp"

namespace penstock::device::host {
namespace {

// Of calls of `meanwhile`, several at once: waking up costs a message of 1 MiB more than they do,
// and what MPI has under way takes several.
constexpr std::chrono::microseconds shortest_interval{100}, longest_interval{4000};
constexpr int calls_at_once = 16;
constexpr int yields_before_sleep = 8;

thread_local bool is_worker = false;
std::atomic<int> awake{0};  // workers of this process that are not asleep for want of commands

}  // namespace

// The last thing a worker writes there is `set`.
struct Stream::Worker::Arrival {
  Worker* worker;
  std::atomic<bool> set{false};
};

Stream::Worker::Worker(std::chrono::microseconds spin, int most_spinning)
    : spin_(spin), most_spinning_(most_spinning) {
  thread_ = base::start_thread("penstock-stream", [this] { run(); });
}

Stream::Worker::~Worker() {
  push({&stop, this, nullptr, 0});
  thread_.join();
}

bool Stream::Worker::stop(Command& command) noexcept {
  static_cast<Worker*>(command.object)->stopping_ = true;
  return true;
}

bool Stream::Worker::runs_here() noexcept {
  return is_worker;
}

void Stream::Worker::run() noexcept {
  is_worker = true;
  awake.fetch_add(1, std::memory_order_relaxed);
  std::uint64_t ended = 0;
  while (!stopping_) {
    if (!store_.ready()) [[unlikely]]
      await_command();
    Command command = store_.take();
    if (!command.step(command)) await_end(command);
    // Release: who finds the stream idle sees what its commands have done.
    ended_.store(++ended, std::memory_order_release);
  }
  awake.fetch_sub(1, std::memory_order_relaxed);
}

std::chrono::microseconds Stream::Worker::spin_now() const noexcept {
  return awake.load(std::memory_order_relaxed) <= most_spinning_ ? spin_
                                                                 : std::chrono::microseconds{0};
}

void Stream::Worker::await_end(Command& command) noexcept {
  base::Backoff backoff(spin_now(), true);
  do {
    backoff.pause();
  } while (!command.step(command));
}

void Stream::Worker::await_command() noexcept {
  for (base::Backoff backoff(spin_now()); backoff.spinning();) {
    if (store_.ready()) return;
    backoff.pause();
  }
  for (int i = 0; i < yields_before_sleep; ++i) {
    if (store_.ready()) return;
    std::this_thread::yield();
  }
  awake.fetch_sub(1, std::memory_order_relaxed);
  while (!store_.ready()) sleeper_.sleep_unless([this] { return store_.ready(); });
  awake.fetch_add(1, std::memory_order_relaxed);
}

bool Stream::Worker::arrive(Command& command) noexcept {
  auto& arrival = *static_cast<Arrival*>(command.object);
  auto& worker = *arrival.worker;
  // Counted before anybody is told, so that who has synchronised finds the stream idle; run()
  // stores the same number.
  worker.ended_.store(worker.ended_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  const std::lock_guard lock(worker.mutex_);
  arrival.set.store(true, std::memory_order_release);
  worker.arrived_.notify_all();
  return true;
}

// The calls of `meanwhile` are wake-ups, which may take the core from the worker.
void Stream::Worker::synchronize(const std::function<bool()>& meanwhile) {
  Arrival arrival{this};
  push({&arrive, &arrival, nullptr, 0});
  const auto set = [&] { return arrival.set.load(std::memory_order_acquire); };
  const auto spin = spin_now();
  for (base::Backoff backoff(meanwhile ? std::min(spin, shortest_interval) : spin);
       backoff.spinning();) {
    if (set()) return;
    backoff.pause();
  }
  std::unique_lock lock(mutex_);
  if (!meanwhile) return arrived_.wait(lock, set);
  for (auto interval = shortest_interval; !arrived_.wait_for(lock, interval, set);) {
    lock.unlock();
    bool busy = false;
    for (int i = 0; i < calls_at_once && !set(); ++i) busy = meanwhile();
    interval = busy ? shortest_interval : std::min(2 * interval, longest_interval);
    lock.lock();
  }
}

}  // namespace penstock::device::host
