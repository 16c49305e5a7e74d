// SPDX-License-Identifier: Apache-2.0
#include "core/monitor.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <string_view>
#include <utility>

#include "base/log.hpp"
#include "base/thread.hpp"

namespace penstock::core {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds longest_tick{100};
constexpr milliseconds shortest_tick{5};

std::atomic<bool> table_wanted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");

// The MPI library's own handler, which is called on.
std::atomic<void (*)(int)> mpi_handler{nullptr};
static_assert(std::atomic<void (*)(int)>::is_always_lock_free, "a signal handler reads it");

extern "C" void want_table(int number) {
  table_wanted.store(true, std::memory_order_relaxed);
  if (void (*const next)(int) = mpi_handler.load(std::memory_order_relaxed)) next(number);
}

// MPICH takes SIGUSR1 in MPI_Init, to be told of failed processes; that is no use of the program's.
bool is_of_mpi(void (*handler)(int)) noexcept {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(handler), &info) == 0 || !info.dli_fname) return false;
  const std::string_view path(info.dli_fname);
  return path.substr(path.rfind('/') + 1).starts_with("libmpi");
}

}  // namespace

// SIGUSR1, taken only from a program that has no use for it itself, and given back.
class TableSignal {
 public:
  ~TableSignal() {
    struct sigaction now {};
    // The program may have taken it since.
    if (taken_ && sigaction(SIGUSR1, nullptr, &now) == 0 && now.sa_handler == &want_table) {
      sigaction(SIGUSR1, &before_, nullptr);
    }
  }
  bool take() noexcept {
    if (sigaction(SIGUSR1, nullptr, &before_) != 0) return false;
    if ((before_.sa_flags & SA_SIGINFO) != 0 || before_.sa_handler == SIG_IGN) return false;
    if (before_.sa_handler != SIG_DFL) {
      if (!is_of_mpi(before_.sa_handler)) return false;
      mpi_handler.store(before_.sa_handler, std::memory_order_relaxed);
    }
    struct sigaction ours {};
    ours.sa_handler = &want_table;
    ours.sa_flags = SA_RESTART;
    sigemptyset(&ours.sa_mask);
    taken_ = sigaction(SIGUSR1, &ours, nullptr) == 0;
    return taken_;
  }

 private:
  struct sigaction before_ {};
  bool taken_ = false;
};

Monitor::Monitor(const base::Settings& settings, group::World& world, Queues& queues,
                 DescribeMatches matches)
    : world_(world),
      queues_(queues),
      matches_(std::move(matches)),
      timeout_(settings.timeout),
      limit_(settings.timeout, matches_),
      signal_(std::make_unique<TableSignal>()) {
  thread_ = base::start_thread("penstock-watch", [this] { run(); });
}

Monitor::~Monitor() {
  stopping_.store(true, std::memory_order_release);
  world_.wake();
  thread_.join();
}

void Monitor::begin_watching() {
  if (begun_.exchange(true, std::memory_order_relaxed)) return;
  const bool taken = signal_->take();
  if (!taken && timeout_.count() == 0) return;
  ticking_.store(true, std::memory_order_release);
  world_.wake();
}

// A signal handler may only set a flag, and nothing wakes us for a time-out: both are looked for a
// few times a second.
int Monitor::watch_milliseconds() const noexcept {
  if (!ticking_.load(std::memory_order_acquire)) return -1;
  if (timeout_.count() == 0) return static_cast<int>(longest_tick.count());
  return static_cast<int>(std::clamp(timeout_ / 4, shortest_tick, longest_tick).count());
}

void Monitor::run() noexcept {
  while (!stopping_.load(std::memory_order_acquire)) {
    world_.watch(watch_milliseconds());
    if (!ticking_.load(std::memory_order_acquire)) continue;
    base::log::failures_in([&] { check_waits(); });
  }
}

void Monitor::check_waits() {
  if (table_wanted.exchange(false, std::memory_order_relaxed))
    base::log::report(describe_waits(queues_, matches_));
  if (timeout_.count() > 0) limit_.enforce(queues_);
}

}  // namespace penstock::core
