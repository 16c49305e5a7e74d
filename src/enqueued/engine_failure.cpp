// SPDX-License-Identifier: Apache-2.0
// A queue that fails: its receives are taken back, its requests complete with the error, and
// nothing of it is handed to MPI any more. MPI cannot take a send back, and goes on reading its
// buffer.
#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "enqueued/engine.hpp"
#include "enqueued/staged_pieces.hpp"
#include "group/mpi_check.hpp"
#include "group/mpi_communicator.hpp"

namespace penstock::enqueued {

using base::Error;
using base::ErrorKind;

// ---- Calls of the program

// MPI finishes what it still has; we keep no request of it. But no receive may write into a buffer
// of a queue that is gone: what cannot be cancelled is on its way, and comes soon.
void MessageEngine::remove_queue(QueueMessages& messages, const Error& why) noexcept {
  constexpr auto soon = std::chrono::seconds(1);
  std::unique_lock lock(progress_lock_);
  take_ready();  // afterwards this queue is in no list
  catch_up_with(messages);
  stop(messages, why);
  give_up_rest(messages);
  // Threads of the program that copy need the lock to finish.
  while (messages.staging_ &&
         (messages.program_looks_ > 0 || messages.staging_->pieces().program_copies())) {
    lock.unlock();
    std::this_thread::yield();
    lock.lock();
  }
  for (const auto began = std::chrono::steady_clock::now();
       !only_reads(messages) && std::chrono::steady_clock::now() - began < soon;
       std::this_thread::yield())
    test_some(messages);
  while (!messages.in_lines_.empty()) {  // for kernels, which run no more
    EnqueuedMessage& message = **messages.in_lines_.begin();
    deactivate(message);
    end(message, empty_status(MPI_ANY_SOURCE), &why);
  }
  while (!messages.active_.empty()) {
    EnqueuedMessage& message = **messages.active_.begin();
    if (message.arrived) {
      end_arrived(message, why);
      continue;
    }
    deactivate(message);
    PMPI_Request_free(&message.mpi);
    static_cast<void>(message.promised.too_long.release());  // MPI may still write there
    end(message, empty_status(MPI_ANY_SOURCE), &why);
  }
  if (messages.active) active_.remove(messages);
  std::erase(queues_, &messages);
  wake_if_needed();
}

void MessageEngine::drop(QueueMessages& messages) noexcept {
  const std::lock_guard lock(progress_lock_);
  drop_bundles(messages, *messages.broken_by_);
  settle(messages);
}

// ---- On a stream's worker

void MessageEngine::give_up(QueueMessages& messages, const Error& error) noexcept {
  const std::lock_guard lock(progress_lock_);
  stop(messages, error);
  give_up_rest(messages);
  wake_if_needed();
}

bool MessageEngine::untouched(const QueueMessages& messages) const noexcept {
  const std::lock_guard lock(progress_lock_);
  return only_reads(messages);
}

// ---- Under the lock

void MessageEngine::fail(QueueMessages& messages, const Error& error) noexcept {
  stop(messages, error);
  messages.queue_.fail(error);
  // A bundle that is being handed over must stay until its end.
  if (!messages.issuing_) give_up_rest(messages);
}

Error MessageEngine::mpi_failure(const EnqueuedMessage& message, int code) noexcept {
  int error_class = MPI_ERR_OTHER;
  PMPI_Error_class(code, &error_class);
  const bool truncated = error_class == MPI_ERR_TRUNCATE;
  return base::error_by(truncated ? ErrorKind::truncate : ErrorKind::mpi, [&] {
    return "enqueued " + message.label() +
           (truncated ? ": the message is longer than this receive, whose count or buffer must be "
                        "larger; MPI reports: "
                      : ": MPI reports: ") +
           group::mpi_error_text(code);
  });
}

// The reason comes before the flag, and the flag before the look for bundles.
void MessageEngine::stop(QueueMessages& messages, const Error& why) noexcept {
  if (!messages.broken_by_) messages.broken_by_ = why;
  messages.broken_.store(true, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // see QueueMessages::drop_if_broken
}

// Another queue that fails with it may end some of its messages. Waits end where nothing is left.
void MessageEngine::give_up_rest(QueueMessages& messages) noexcept {
  drop_bundles(messages, *messages.broken_by_);
  for (auto* const list : {&messages.active_, &messages.in_lines_})
    list->visit_all([&](EnqueuedMessage& one) { give_up(one, *messages.broken_by_); });
  settle(messages);
}

void MessageEngine::give_up(EnqueuedMessage& message, const Error& error) noexcept {
  if (message.arrived) return give_up_arrived(message, error);
  if (is_held(message)) return;  // it ends with that
  if (message.given_up) return;
  if (!message.promised.quiet) end_under_way(message);
  message.given_up = true;
  if (message.request)
    complete(*std::exchange(message.request, nullptr), empty_status(MPI_ANY_SOURCE), &error);
  if (message.promised.in_line) {
    deactivate(message);
    return end(message, empty_status(MPI_ANY_SOURCE), &error);
  }
  if (!message.sends()) PMPI_Cancel(&message.mpi);
  test(message);
}

// Where a wait of the stream may be copying it, it ends with that (test_arrived); where a thread of
// the program copies it, it has it.
void MessageEngine::give_up_arrived(EnqueuedMessage& message, const Error& error) noexcept {
  if (message.with_program || message.staged->stream_may_copy(message.owner->words_)) return;
  end_arrived(message, error);
}

void MessageEngine::drop_bundles(QueueMessages& messages, const Error& error) noexcept {
  while (Bundle* const bundle = messages.bundles_.take()) {
    count_issued(messages, *bundle);
    while (EnqueuedMessage* const message = bundle->take_first()) {
      if (!message->promised.envelope)
        message->communicator->enqueued.fetch_sub(1, std::memory_order_release);
      end(*message, empty_status(MPI_ANY_SOURCE), &error);
    }
  }
}

// Calls of MPI may still drive the engine when the library has ended, and the world with it: but
// while a queue has messages it is there.
void MessageEngine::look_for_dead_peers() noexcept {
  if (active_.empty() || !world().anybody_dead()) return;
  active_.visit_all([this](QueueMessages& messages) {
    if (messages.broken_by_)
      complete_bundles(messages);  // the peer of a receive that could not be taken back may be dead
    else if (find_lost(messages) != nullptr)
      fail_if_lost(messages);
  });
}

// What came before its sender died is taken first.
void MessageEngine::fail_if_lost(QueueMessages& messages) noexcept {
  for (int look = 0; look < passes_until_sure; ++look) {
    test_some(messages);
    envelopes_.move_some([this](Envelope& envelope) { return advance_line(envelope); });
  }
  const EnqueuedMessage* const lost = find_lost(messages);
  if (lost == nullptr) return;
  fail(messages, base::error_by(ErrorKind::peer_dead, [&] {
         return "enqueued " + lost->label() + ": the peer process has ended";
       }));
}

// Null: none.
const EnqueuedMessage* MessageEngine::find_lost(const QueueMessages& messages) const noexcept {
  for (const auto* const list : {&messages.active_, &messages.in_lines_})
    for (const EnqueuedMessage* one : *list)
      if (!one->arrived && is_dead(*one) && !has_come(*one)) return one;
  return nullptr;
}

// A kernel will find it, or has.
bool MessageEngine::has_come(const EnqueuedMessage& message) noexcept {
  if (!message.promised.by_kernel || message.sends() || !message.promised.in_line) return false;
  return message.staged->stream_has_copied(message.owner->words_) || lies_in_lane(message);
}

bool MessageEngine::is_dead(const EnqueuedMessage& message) const noexcept {
  const int peer = group::world_rank(*message.communicator, message.peer);
  return peer >= 0 && dead(peer);
}

// What stands in a line is moved by us, or by kernels, which know how they end.
bool MessageEngine::only_reads(const QueueMessages& messages) const noexcept {
  return std::all_of(messages.in_lines_.begin(), messages.in_lines_.end(),
                     [](const EnqueuedMessage* one) {
                       return one->sends() || (one->promised.by_kernel && !one->with_program);
                     }) &&
         std::all_of(messages.active_.begin(), messages.active_.end(),
                     [this](const EnqueuedMessage* one) {
                       return one->sends() || (one->staged && !one->with_program) || is_dead(*one);
                     });
}

}  // namespace penstock::enqueued
