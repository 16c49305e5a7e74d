// SPDX-License-Identifier: Apache-2.0
// How calls wait for large messages, and what they look at meanwhile.
#include <fmt/format.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>

#include "api/overlap_messages.hpp"
#include "api/recorder_driving.hpp"
#include "base/forked.hpp"
#include "base/log.hpp"
#include "core/library.hpp"
#include "group/mpi_communicator.hpp"

namespace penstock::api {

namespace large {

// MPI moves its own messages only in calls of the program's.
void give_mpi_time() noexcept {
  int found = 0;
  PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &found, MPI_STATUS_IGNORE);
}

void wait_for_end(Message& message) noexcept {
  std::optional<OverlapWait> wait;
  for (;;) {
    if (wait) wait->look();
    drive(Caller::waiting);
    if (engine->ended(message)) return;
    give_mpi_time();
    if (wait)
      wait->pause();
    else
      wait.emplace(false);
  }
}

void wait_for_result(Message& message, MPI_Status* status) {
  wait_for_end(message);
  if (message.error) throw *message.error;
  give_status(status, status_of(message));
}

namespace {

// ---- Promises

// MPI has a message that the receive would take if it were MPI's, and its sender has announced none
// that could: so the receive is longer than its message, or the message came to MPI past us.
void doubt(const Engine::Unmatched& receive) noexcept {
  if (!receive.communicator->alive.load()) return;
  int found = 0;
  MPI_Status status;
  if (PMPI_Iprobe(receive.peer == core::any_rank ? MPI_ANY_SOURCE : receive.peer,
                  receive.tag == core::any_tag ? MPI_ANY_TAG : receive.tag,
                  group::handle_of(*receive.communicator), &found, &status) != MPI_SUCCESS ||
      found == 0)
    return;
  const int sender = group::world_rank(*receive.communicator, status.MPI_SOURCE);
  if (engine->may_bring_more(sender)) return;
  MPI_Count bytes = 0;
  PMPI_Get_elements_x(&status, MPI_BYTE, &bytes);
  engine->fail_unmatched(
      receive.serial, base::error_by(ErrorKind::assertion, [&] {
        return fmt::format(
            "{} waits, and MPI has a message for it of {} bytes from rank {} with tag {}: "
            "PENSTOCK_OVERLAP=exact is the promise that receives are as long as their messages, "
            "and that both ends make calls that the library sees; give the receive that length, "
            "or leave PENSTOCK_OVERLAP off",
            receive.label, bytes, status.MPI_SOURCE, status.MPI_TAG);
      }));
}

// In calls that wait and in those that test, of whichever thread.
void doubt_now_and_then() noexcept {
  using Clock = std::chrono::steady_clock;
  static std::atomic<Clock::rep> next{0};
  const Clock::rep now = Clock::now().time_since_epoch().count();
  Clock::rep due = next.load(std::memory_order_relaxed);
  const Clock::rep later = now + std::chrono::duration_cast<Clock::duration>(before_doubt).count();
  if (now < due || !next.compare_exchange_strong(due, later, std::memory_order_relaxed)) return;
  base::log::failures_in([] {
    for (const Engine::Unmatched& each : engine->unmatched(before_doubt)) doubt(each);
  });
}

void report_long_wait() noexcept {
  base::log::failures_in([] {
    base::log::error(
        "PENSTOCK_TIMEOUT has passed in a call that waits for messages; the large ones under way:" +
        engine->lines());
  });
}

}  // namespace
}  // namespace large

OverlapWait::OverlapWait(bool beside_mpi) noexcept
    : beside_mpi_(beside_mpi), begun_(Clock::now()), last_news_(begun_) {
  if (const core::Library* const library = core::Library::get())
    limit_ = library->settings().timeout;
  large::engine->begin_waiting();
}

OverlapWait::~OverlapWait() {
  large::engine->end_waiting();
}

void OverlapWait::look() noexcept {
  seen_ = large::engine->news();
}

void OverlapWait::report_if_long(Clock::time_point now) noexcept {
  if (limit_.count() == 0 || now - begun_ < limit_) return;
  limit_ = {};  // once
  large::report_long_wait();
}

// At first the core is given to who may need it, since waking up takes as long as a message of some
// tens of kilobytes. A thread that reads needs the core at once.
void OverlapWait::pause() noexcept {
  constexpr std::chrono::microseconds awake{100}, between_looks{100}, longest{1000};
  const auto now = Clock::now();
  report_if_long(now);
  if (const std::uint64_t news = large::engine->news(); news != seen_) last_news_ = now;
  if (now - last_news_ < awake && !large::engine->thread_is_at_it())
    sched_yield();
  else
    large::engine->doze(seen_, beside_mpi_ ? between_looks : longest);
}

// Nobody knows whether its message comes: MPI may hold a small one at a sender that computes, while
// a large one that was sent later is announced. So it is no error, and PENSTOCK_TIMEOUT tells.
int receive_small(MPI_Request request, MPI_Status* status) noexcept {
  constexpr int looks_at_once = 100;
  constexpr std::chrono::milliseconds awake{100};
  const auto begun = std::chrono::steady_clock::now();
  std::optional<OverlapWait> wait;
  for (;;) {
    if (wait) wait->look();
    int done = 0;
    for (int i = 0; i < looks_at_once && done == 0; ++i)
      if (const int code = PMPI_Test(&request, &done, status); code != MPI_SUCCESS) return code;
    if (done != 0) return MPI_SUCCESS;
    drive(overlap::Caller::waiting);
    if (wait)
      wait->pause();
    else if (sched_yield(); std::chrono::steady_clock::now() - begun > awake)
      wait.emplace(true);
  }
}

void drive_overlap(overlap::Caller caller) noexcept {
  if (base::forked()) return;  // the tables are the parent's, and their lock may be held for ever
  large::engine->advance(caller);
  large::doubt_now_and_then();
  while (overlap::Message* const ended = large::engine->take_ended()) large::complete(*ended);
}

}  // namespace penstock::api
