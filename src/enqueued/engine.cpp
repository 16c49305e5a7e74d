// SPDX-License-Identifier: Apache-2.0
#include "enqueued/engine.hpp"

#include <fmt/format.h>

#include <mutex>
#include <utility>

#include "group/mpi_check.hpp"

namespace penstock::enqueued {

using base::Error;
using base::ErrorKind;

namespace {

constexpr std::size_t described_at_most = 3;
// From so many messages under way on MPI gets time between one message and the next. Open MPI 4.1
// lets sends that find room overtake sends that found none. It numbers the messages between two
// processes with 16 bits, so it delivers a wrong one where a message overtakes 65,536 others
// (Enqueued.Q12_ManyMessagesMayBeEnqueuedAhead).
constexpr std::size_t many_under_way = 512;
constexpr std::size_t issues_between_tests = 32;
// Dead peers are looked for so seldom that it costs nothing, which is often enough for a thread
// that sleeps between its passes.
constexpr unsigned passes_between_looks = 256;

Error mpi_failure(const EnqueuedMessage& message, int code) noexcept {
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

}  // namespace

MessageEngine::MessageEngine(const plan::ProgressOptions& options, group::World& world)
    : ProgressEngine("penstock-msgs", options, world) {}

MessageEngine::~MessageEngine() {
  stop_thread();
}

// ---- Calls of the program

void MessageEngine::add_queue() {
  const std::lock_guard lock(progress_lock_);
  active_.reserve(queues_ + 1);
  start_thread();
  ++queues_;
}

void MessageEngine::make_room(QueueMessages& messages, std::size_t most) {
  const std::lock_guard lock(progress_lock_);
  messages.active_.reserve(most);
}

void MessageEngine::drive() noexcept {
  const std::unique_lock lock(progress_lock_, std::try_to_lock);
  if (!lock) return;
  pass(nullptr);
  wake_if_needed();
}

std::string MessageEngine::describe(const QueueMessages& messages) const {
  const std::lock_guard lock(progress_lock_);
  std::string text;
  std::size_t told = 0;
  for (const EnqueuedMessage* message : messages.active_) {
    if (++told > described_at_most) break;
    text += (told == 1 ? "" : ", ") + message->label();
  }
  if (messages.active_.size() > described_at_most)
    text += fmt::format(" and {} more", messages.active_.size() - described_at_most);
  return text;
}

// ---- Under the lock

bool MessageEngine::take_ready() noexcept {
  return ready_.take([this](QueueMessages& messages) { issue(messages); });
}

bool MessageEngine::pass(QueueMessages* favourite) noexcept {
  if (++passes_ % passes_between_looks == 0) look_for_dead_peers();
  bool moved = take_ready();
  if (favourite && test_some(*favourite)) moved = true;
  if (active_.move_some(
          [&](QueueMessages& messages) { return &messages != favourite && test_some(messages); }))
    moved = true;
  return moved;
}

void MessageEngine::issue(QueueMessages& messages) noexcept {
  const std::uint64_t triggered = messages.triggered_.load(std::memory_order_acquire);
  messages.issuing_ = true;
  while (messages.issued_ < triggered) {
    Bundle* const bundle = messages.bundles_.take();
    if (!bundle) break;  // it has been dropped
    while (EnqueuedMessage* const message = bundle->take_first()) {
      issue(messages, *message);
      const std::size_t under_way = messages.active_.size();
      if (under_way >= many_under_way && under_way % issues_between_tests == 0) test_some(messages);
    }
    ++messages.issued_;
  }
  messages.issuing_ = false;
  if (messages.broken_by_) give_up_rest(messages);
  settle(messages);
}

// MPI has the communicator from its call on: until then the program may not free it.
void MessageEngine::issue(QueueMessages& messages, EnqueuedMessage& message) noexcept {
  int code = MPI_SUCCESS;
  const bool moves = !messages.broken_by_ && message.peer != MPI_PROC_NULL;
  if (moves)
    code = message.sends() ? PMPI_Isend(message.buffer, message.count, message.type, message.peer,
                                        message.tag, message.comm, &message.mpi)
                           : PMPI_Irecv(message.buffer, message.count, message.type, message.peer,
                                        message.tag, message.comm, &message.mpi);
  message.communicator->enqueued.fetch_sub(1, std::memory_order_release);
  if (messages.broken_by_) return end(message, empty_status(MPI_ANY_SOURCE), &*messages.broken_by_);
  if (!moves) return end(message, empty_status(MPI_PROC_NULL), nullptr);
  if (code == MPI_SUCCESS) return activate(message);
  const Error error = mpi_failure(message, code);
  fail(messages, error);
  end(message, empty_status(MPI_ANY_SOURCE), &error);
}

void MessageEngine::activate(EnqueuedMessage& message) noexcept {
  message.owner->active_.add(message);
  ++under_way_;
  large_.begin(message.bytes);
}

void MessageEngine::deactivate(EnqueuedMessage& message) noexcept {
  message.owner->active_.remove(message);
  if (message.given_up) return;
  --under_way_;
  large_.end(message.bytes);
}

bool MessageEngine::test(EnqueuedMessage& message) noexcept {
  int ended = 0;
  MPI_Status status{};
  const int code = PMPI_Test(&message.mpi, &ended, &status);
  if (code == MPI_SUCCESS && !ended) return false;
  QueueMessages& messages = *message.owner;
  deactivate(message);
  if (code == MPI_SUCCESS || message.given_up) {
    end(message, status, nullptr);
  } else {
    const Error error = mpi_failure(message, code);
    fail(messages, error);  // first: who has the request's error finds the queue's
    end(message, status, &error);
  }
  settle(messages);
  return true;
}

bool MessageEngine::test_some(QueueMessages& messages) noexcept {
  return messages.active_.move_some([this](EnqueuedMessage& message) { return test(message); });
}

void MessageEngine::settle(QueueMessages& messages) noexcept {
  if (!messages.active_.empty()) {
    if (!messages.active) active_.add(messages);
    return;
  }
  if (messages.active) active_.remove(messages);
  messages.completed_.store(messages.issued_, std::memory_order_release);
}

void MessageEngine::end(EnqueuedMessage& message, const MPI_Status& status,
                        const Error* error) noexcept {
  if (message.request) complete(*std::exchange(message.request, nullptr), status, error);
  if (std::exchange(message.owns_type, false)) PMPI_Type_free(&message.type);
  message.owner->pool_.give_back(message);
}

}  // namespace penstock::enqueued
