// SPDX-License-Identifier: Apache-2.0
#include "core/library.hpp"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cstring>
#include <limits>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/forked.hpp"
#include "base/log.hpp"
#include "base/run_delay.hpp"
#include "base/trace_file.hpp"
#include "core/matching/matcher.hpp"
#include "core/monitor.hpp"
#include "core/queues.hpp"
#include "core/registry.hpp"
#include "core/request_error.hpp"
#include "core/transports.hpp"
#include "group/carrier.hpp"

namespace penstock::core {

using base::Error;
using base::ErrorKind;

namespace {

constexpr double notable_run_delay = 0.25;
constexpr double notable_seconds = 0.5;

std::atomic<Library*> current{nullptr};
std::atomic<bool> has_ended{false};
std::atomic<Library*> of_parent{nullptr};  // in a child of fork(): for leak checkers alone

// A child of fork() does not find the library. It is not destroyed either: what it holds is the
// parent's.
void leave_to_parent() noexcept {
  if (Library* library = current.exchange(nullptr, std::memory_order_relaxed))
    of_parent.store(library, std::memory_order_relaxed);
}

// Why the library could not be initialised, for the calls that come after.
class InitFailure {
 public:
  static InitFailure& last() {
    static auto* const one = new InitFailure;  // never destroyed: exit handlers may still ask
    return *one;
  }
  void set(const std::string& why) {
    const std::lock_guard lock(mutex_);
    why_ = why;
  }
  std::string get() {
    const std::lock_guard lock(mutex_);
    return why_;
  }

 private:
  std::mutex mutex_;
  std::string why_;
};

base::Settings read_settings(const group::World& world) {
  base::Settings settings = base::Settings::from_environment();
  base::log::configure(settings.log_level, settings.log_file);
  base::log::set_rank(world.rank());
  return settings;
}

void report_ready(const group::World& world) {
  if (world.rank() == 0)
    base::log::info(
        fmt::format("Penstock is ready: {} ranks, {}", world.size(), world.mpi_version()));
}

// Large messages go by one way at both of their ends. Collective; throws base::Error on all.
void require_same_overlap(const base::Settings& settings, group::World& world) {
  struct Mode {
    base::Overlap overlap;
    std::size_t least;
    bool operator==(const Mode&) const = default;
  };
  const auto text = [](const Mode& mode) {
    return mode.overlap == base::Overlap::off
               ? std::string("PENSTOCK_OVERLAP=off")
               : fmt::format("PENSTOCK_OVERLAP=exact with PENSTOCK_OVERLAP_MIN={}", mode.least);
  };
  std::array<std::uint64_t, 2> mine{static_cast<std::uint64_t>(settings.overlap),
                                    settings.overlap_min};
  if (settings.overlap == base::Overlap::off) mine[1] = 0;
  const auto all = world.all_gather(std::as_bytes(std::span(mine)));
  const auto mode_of = [&](std::size_t rank) {
    std::array<std::uint64_t, 2> theirs{};
    std::memcpy(theirs.data(), all[rank].data(), sizeof theirs);
    return Mode{static_cast<base::Overlap>(theirs[0]), theirs[1]};
  };
  for (std::size_t rank = 1; rank < all.size(); ++rank)
    if (mode_of(rank) != mode_of(0))
      throw Error(ErrorKind::setting,
                  fmt::format("rank 0 has {} and rank {} has {}: give all ranks the same",
                              text(mode_of(0)), rank, text(mode_of(rank))));
}

void report_unknown_settings(const group::World& world) {
  if (world.rank() != 0) return;
  for (const auto& [name, nearest] : base::unknown_settings())
    base::log::warn(name + " is not a setting of Penstock, and is ignored: " +
                    (nearest.empty() ? "penstock info lists them" : "the nearest is " + nearest));
}

void report_only_core(const Cores& cores) {
  const std::string text = cores.only_core();
  if (text.empty()) return;
  if (cores.processes() > 1)
    base::log::warn(text);
  else
    base::log::info(text);
}

void report_run_delay(const Cores& cores) {
  const base::RunDelay delay = base::look_at_run_delay();
  if (delay.share() < notable_run_delay || delay.waited < notable_seconds) return;
  const std::string only_core = cores.only_core();
  const std::string text = fmt::format(
      "threads of this process were ready to run but had no core for {:.0f} % of the time ({:.1f} "
      "s): {}",
      100 * delay.share(), delay.waited,
      only_core.empty() ? "give it more cores, or end what else runs there" : only_core);
  if (only_core.empty())
    base::log::info(text);
  else
    base::log::warn(text);
}

void warn_of_unfinished_work(const Queue& queue) noexcept {
  try {
    base::log::warn(
        fmt::format("queue {} has unfinished work, and the end of the library "
                    "waits for it: call PST_Queue_wait before; SIGUSR1 prints what "
                    "it waits for, PENSTOCK_TIMEOUT (seconds) ends such a wait",
                    queue.number()));
  } catch (const std::exception&) {
    base::log::warn("a queue has unfinished work, and the end of the library waits for it");
  }
}

// What is enqueued at MPI_Finalize still completes, as far as the peers let it; a queue that has
// failed does not hold it up.
void drain(Queues& queues, const std::function<bool()>& meanwhile) {
  queues.for_each([&](Queue& queue) {
    if (queue.implicit()) return queue.stream().wait_for_device();
    try {
      if (queue.settled() || queue.test()) return;
      warn_of_unfinished_work(queue);
      queue.complete(meanwhile);
    } catch (const std::exception&) {  // logged when the queue failed
    }
  });
  queues.streams().for_each([&](HostStream& stream) { stream.stream.synchronize(meanwhile); });
}

}  // namespace

Library::Library() = default;
Library::~Library() = default;

Library* Library::get() noexcept {
  return current.load(std::memory_order_acquire);
}

bool Library::finalised() noexcept {
  return has_ended.load(std::memory_order_relaxed);
}

void Library::refuse_in_child() {
  if (base::forked())
    throw Error(ErrorKind::forked,
                "this process is a child of fork(): only the process that "
                "called MPI_Init may use Penstock; a child may exec or end");
}

Library& Library::require() {
  Library* library = get();
  if (library) return *library;
  refuse_in_child();
  if (const std::string why = InitFailure::last().get(); !why.empty())
    throw Error(ErrorKind::not_initialized,
                "Penstock is not initialised: PST_Init, or MPI_Init, has failed: " + why);
  if (finalised())
    throw Error(ErrorKind::not_initialized,
                "Penstock has ended with PST_Finalize or MPI_Finalize: free "
                "queues and streams before, and call nothing of it after that");
  throw Error(ErrorKind::not_initialized,
              "Penstock is not initialised: call PST_Init after MPI_Init. If MPI_Init "
              "alone was to initialise it, MPI_Init does not resolve to libpenstock: "
              "name libpenstock before the MPI library when linking, or preload it");
}

void Library::initialise() {
  if (get()) return;
  base::mark_forks(leave_to_parent);
  try {
    std::unique_ptr<Library> library(new Library);
    library->world_ = group::World::join();
    library->begin();
    current.store(library.release(), std::memory_order_release);
    InitFailure::last().set("");
  } catch (const std::exception& error) {
    InitFailure::last().set(error.what());
    throw;
  }
}

// What only one process may fail at comes first, while nothing has been made that all have to free
// together.
void Library::begin() {
  world_->together([this] {
    settings_ = read_settings(*world_);
    if (!settings_.trace_file.empty())
      trace_ = std::make_unique<base::TraceFile>(settings_.trace_file, world_->rank());
    queues_ = std::make_unique<Queues>(trace_.get());
    monitor_ = std::make_unique<Monitor>(settings_, *world_, *queues_, [this] {
      const auto more = more_lines_.load(std::memory_order_acquire);
      return matcher_->describe() + (more ? more() : "");
    });
  });
  require_same_overlap(settings_, *world_);
  world_->together([this] { cores_.share(*world_); });
  report_unknown_settings(*world_);
  report_only_core(cores_);
  mailbox_ = group::Mailbox::open(group::make_mpi_carrier());
  transports_ = std::make_unique<Transports>(settings_, *world_, spin_beside_a_worker());
  world_->together([this] {
    matcher_ = std::make_unique<Matcher>(settings_, *world_, *mailbox_, *transports_);
  });
  report_ready(*world_);
}

void Library::finalise(const char* call, void (*when_drained)() noexcept) noexcept {
  const std::unique_ptr<Library> library(get());
  if (!library) return;
  has_ended.store(true, std::memory_order_relaxed);
  library->matcher_->stop_driving();  // its thread looks at requests, which end below
  library->matcher_->give_up_matches(call);
  library->tell_at_the_end();
  // The caller is inside a call of MPI's, or of ours that stands for one.
  drain(*library->queues_, [&library] {
    library->drive();
    return match_under_way();
  });
  when_drained();
  current.store(nullptr, std::memory_order_release);
  std::size_t from = 0;
  while (MatchedRequest* const request = Registry::get().remove_any(from))
    MatchedRequest::close(request);
  library->monitor_.reset();
  library->queues_.reset();  // ends the workers, after the commands that close() has enqueued
  library->trace_.reset();
  library->matcher_->end_together();
  library->matcher_.reset();
  library->transports_.reset();
  library->mailbox_.reset();
  library->world_.reset();
}

// Only reports: what fails here is logged, and the end goes on.
void Library::tell_at_the_end() noexcept {
  try {
    matcher_->report_leftovers();
    if (const std::string pairs = matcher_->pairs().text(); !pairs.empty())
      base::log::info("halves of pairs by transport: " + pairs);
    report_run_delay(cores_);
  } catch (const std::exception& failure) {
    base::log::warn(failure.what());
  }
}

std::chrono::microseconds Library::spin() const noexcept {
  return settings_.spin.value_or(std::chrono::microseconds(20));
}

int Library::most_spinning() const noexcept {
  if (settings_.spin) return std::numeric_limits<int>::max();
  return cores_.our_part();
}

std::chrono::microseconds Library::spin_beside_a_worker() const noexcept {
  return most_spinning() < 2 ? std::chrono::microseconds(0) : spin();
}

bool match_under_way() noexcept {
  return Matcher::under_way();
}

void drive_matches() noexcept {
  Library* library = Library::get();
  if (library && Matcher::under_way()) library->drive();
}

void Library::drive() noexcept {
  base::log::failures_in([&] { matcher_->drive(); });
}

bool Library::may_call_mpi() const noexcept {
  using group::ThreadLevel;
  switch (world_->thread_level()) {
    case ThreadLevel::multiple:
      return true;
    case ThreadLevel::serialized:
      return false;  // another thread may be inside MPI right now
    default:
      return std::this_thread::get_id() == main_thread_;
  }
}

std::function<bool()> Library::meanwhile() {
  if (!may_call_mpi()) return {};
  return [this] {
    drive();
    return match_under_way();
  };
}

void free_request(std::uintptr_t handle) {
  MatchedRequest* request = Registry::get().find(handle);
  if (!request) return;
  if (request->started_on)
    throw RequestError(*request, ErrorKind::in_use,
                       " is started and not waited for: enqueue its wait before MPI_Request_free");
  if (request->match_under_way())
    throw RequestError(*request, ErrorKind::in_use,
                       " is being matched: complete the match before MPI_Request_free");
  if (request->in_captured_stream())
    throw RequestError(
        *request, ErrorKind::stream,
        ": a stream that it was used on is being captured: free it after the capture has ended");
  Registry::get().remove(handle);
  MatchedRequest::close(request);
}

}  // namespace penstock::core
