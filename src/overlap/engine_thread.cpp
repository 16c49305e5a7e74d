// SPDX-License-Identifier: Apache-2.0
// The thread that reads: how it sleeps, naps where no core is free, and is woken; and calls of the
// program's that wait, which look in its place.
#include "overlap/engine.hpp"

#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/thread.hpp"
#include "overlap/ports.hpp"

namespace penstock::overlap {

namespace rget = protocol::rget;

namespace {

// While messages come and no core is free for the thread, it looks so often as not to be late for
// that, and senders need not wake it, which would cost them and who computes here. After this time
// without news it sleeps.
constexpr std::chrono::milliseconds attentive{100};
constexpr std::chrono::microseconds first_look{5};
// How often the thread looks whether a full ring has room: nobody tells it.
constexpr std::chrono::microseconds until_room{200};

// Threads inherit the cores of who starts them, which a launcher may have cut down to one.
void run_on_any_core() noexcept {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (int core = 0; core < CPU_SETSIZE; ++core) CPU_SET(core, &all);
  sched_setaffinity(0, sizeof all, &all);
}

}  // namespace

void Engine::start_thread() {
  if (thread_.joinable()) return;
  thread_ = base::start_thread("pst-overlap", [this] { run(); });
}

// The bell alone could be heard by a call of the program's in the thread's place.
void Engine::ring_thread() noexcept {
  thread_news_.store(true, std::memory_order_relaxed);
  Announcement unused;
  HostRing bell(station_, station_, rank_, rank_, unused);
  rget::ring(bell);
}

// Of messages that are to be read, which who returns to the program leaves to it.
void Engine::tell_thread(Caller caller) noexcept {
  if (caller != Caller::passing) return;
  if (std::ranges::any_of(
          ready_, [](const Receive* each) { return !each->claimed && !each->left_to_program; }))
    ring_thread();
}

void Engine::run() noexcept {
  run_on_any_core();
  prctl(PR_SET_TIMERSLACK, 1);  // of this thread: it wakes as soon as it asks for
  while (!stopping_.load(std::memory_order_relaxed)) {
    thread_news_.store(false, std::memory_order_relaxed);
    advance(Caller::thread);
    const std::optional<Clock::duration> limit = may_sleep_for();
    if (limit && *limit <= Clock::duration::zero()) continue;
    if (naps())
      nap(std::min<Clock::duration>(limit.value_or(grace), grace));
    else
      sleep(limit);
  }
}

bool Engine::naps() noexcept {
  const std::lock_guard lock(mutex_);
  return !core_is_free_ && Clock::now() - last_news_ < attentive;
}

// A core may come free at any moment, as the program goes on to wait for something else: while
// there is a message for the thread it looks soon, and then less and less often.
void Engine::nap(Clock::duration limit) noexcept {
  {
    const std::lock_guard lock(mutex_);
    next_look_ = ready_.empty() ? first_look : std::min<Clock::duration>(2 * next_look_, grace);
    if (!ready_.empty()) limit = std::min(limit, next_look_);
  }
  std::this_thread::sleep_for(limit);
  const std::lock_guard lock(mutex_);
  look_for_core();
}

bool Engine::look_for_core() noexcept {
  return core_is_free_ = policy_ == base::OverlapPolicy::always ||
                         (policy_ == base::OverlapPolicy::adaptive && free_core_.found());
}

// Nothing: until somebody rings.
std::optional<Clock::duration> Engine::may_sleep_for() noexcept {
  const std::lock_guard lock(mutex_);
  std::optional<Clock::duration> limit;
  if (!with_waiting_.empty()) limit = until_room;
  for (const Receive* const each : ready_) {
    if (each->claimed) continue;
    const Clock::duration left = each->matched_at + grace - Clock::now();
    if (!limit || left < *limit) limit = left;
  }
  return limit;
}

// False: somebody has rung.
bool Engine::may_sleep() noexcept {
  Announcement unused;
  bool may = true;
  for (std::size_t word = 0; word < station_.rung_words(); ++word) {
    HostRing bell(station_, station_, static_cast<int>(word) * 64, rank_, unused);
    may = rget::may_sleep(bell) && may;
  }
  return may;
}

void Engine::sleep(std::optional<Clock::duration> limit) noexcept {
  if (may_sleep() && !thread_news_.load(std::memory_order_relaxed) &&
      !stopping_.load(std::memory_order_relaxed))
    sleep_on(station_.asleep(), limit);
  else
    std::atomic_ref(station_.asleep()).store(0, std::memory_order_relaxed);
}

// ---- Calls of the program's that wait

// A thread that has just looked and is about to sleep misses that it is parked: then senders wake
// it in vain until the next wait.
void Engine::begin_waiting() noexcept {
  const std::lock_guard lock(mutex_);
  if (waiting_++ == 0)
    parked_ = std::atomic_ref(station_.asleep()).exchange(0, std::memory_order_acq_rel) != 0;
}

// As a thread that is about to sleep: what comes from now on wakes it, and what has come is seen.
void Engine::end_waiting() noexcept {
  const std::lock_guard lock(mutex_);
  if (--waiting_ != 0 || !std::exchange(parked_, false)) return;
  if (!may_sleep() || !ready_.empty() || !with_waiting_.empty() ||
      thread_news_.load(std::memory_order_relaxed))
    ring_thread();
}

bool Engine::thread_is_at_it() noexcept {
  const std::lock_guard lock(mutex_);
  return pulled_by_thread_ > 0;
}

// The word first and then the last look: as in rget::may_sleep.
void Engine::doze(std::uint64_t seen, Clock::duration limit) noexcept {
  std::atomic_ref(station_.dozing()).store(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  bool nothing = false;
  {
    const std::lock_guard lock(mutex_);
    look();
    nothing = news_ == seen;
  }
  if (nothing)
    sleep_on(station_.dozing(), limit);
  else
    std::atomic_ref(station_.dozing()).store(0, std::memory_order_relaxed);
}

}  // namespace penstock::overlap
