// SPDX-License-Identifier: Apache-2.0
// The process-wide state between PST_Init and PST_Finalize or, without that, MPI_Finalize.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "base/settings.hpp"
#include "core/cores.hpp"
#include "group/mailbox.hpp"
#include "group/world.hpp"

namespace penstock::base {
class TraceFile;
}

namespace penstock::core {

class Matcher;
class Monitor;
class Queues;
class Transports;

class Library {
 public:
  // Null before initialise(), after finalise() and in a child of fork().
  static Library* get() noexcept;
  static Library& require();      // throws Error(not_initialized), Error(forked)
  static void refuse_in_child();  // throws Error(forked) in a child of fork()

  // Collective over MPI_COMM_WORLD; does nothing the second time. Throws base::Error, on all
  // processes when one fails; then nothing is left behind.
  static void initialise();
  // Collective, while MPI still works; `call` is the function that has begun it. Reports unmatched
  // and unfinished requests, ends all threads of ours. `when_drained` is called when what is
  // enqueued has ended.
  static void finalise(const char* call, void (*when_drained)() noexcept) noexcept;
  static bool finalised() noexcept;  // there is no way back

  const base::Settings& settings() const noexcept { return settings_; }
  group::World& world() noexcept { return *world_; }
  Matcher& matcher() noexcept { return *matcher_; }
  Monitor& monitor() noexcept { return *monitor_; }
  Queues& queues() noexcept { return *queues_; }
  const Cores& cores() const noexcept { return cores_; }
  Transports& transports() noexcept { return *transports_; }
  // PENSTOCK_SPIN_US or its default, and how many workers may be awake in this process for one to
  // spin: each process that shares our cores may keep its part of them busy. No limit where the
  // variable is set.
  std::chrono::microseconds spin() const noexcept;
  int most_spinning() const noexcept;
  std::chrono::microseconds spin_beside_a_worker() const noexcept;  // of a progress thread
  // Whether this thread may call MPI in a call of ours that the program need not treat as a call of
  // MPI.
  bool may_call_mpi() const noexcept;
  // What a call that blocks for a stream does now and then, as MPI_Wait in its place would: moves
  // matches and MPI's messages along. True while a match is under way. Empty where this thread may
  // not call MPI.
  std::function<bool()> meanwhile();
  // Moves matches under way and MPI's messages along. Never blocks. Calls MPI.
  void drive() noexcept;
  // Lines of a room above for the table of what is waited for: each begins with a line break. The
  // monitor's thread asks.
  void add_to_table(std::string (*lines)()) noexcept {
    more_lines_.store(lines, std::memory_order_release);
  }

  ~Library();

 private:
  Library();
  void begin();
  void tell_at_the_end() noexcept;

  std::atomic<std::string (*)()> more_lines_{nullptr};
  std::thread::id main_thread_ = std::this_thread::get_id();
  base::Settings settings_;
  Cores cores_;
  std::unique_ptr<group::World> world_;
  std::unique_ptr<group::Mailbox> mailbox_;
  std::unique_ptr<Transports> transports_;
  std::unique_ptr<base::TraceFile> trace_;  // null unless PENSTOCK_TRACE is set
  std::unique_ptr<Queues> queues_;
  std::unique_ptr<Matcher> matcher_;
  std::unique_ptr<Monitor> monitor_;  // last, so that it ends first
};

// The recorder's one relaxed load: true while a match is under way, so that the Wait and Test
// families drive it.
bool match_under_way() noexcept;
// Moves every match under way as far as it goes. Never blocks. Calls MPI.
void drive_matches() noexcept;
// Takes a request out of the registry and gives up its half of the pair. Throws Error(in_use) if it
// is started and not waited for, Error(stream) while its stream is being captured.
void free_request(std::uintptr_t handle);

}  // namespace penstock::core
