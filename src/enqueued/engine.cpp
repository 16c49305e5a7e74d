// SPDX-License-Identifier: Apache-2.0
#include "enqueued/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "group/mpi_check.hpp"
#include "group/mpi_communicator.hpp"

namespace penstock::enqueued {

using base::Error;
using base::ErrorKind;

namespace {

constexpr std::size_t described_at_most = 3;
// With so many MPI is given time between one message and the next. Open MPI 4.1 lets sends that
// find room overtake those that found none; and it tells no more than 65,536 messages of one
// process apart, so that it delivers others where they overtake by so many
// (Enqueued.Q12_ManyMessagesMayBeEnqueuedAhead).
constexpr std::size_t many_under_way = 512;
constexpr std::size_t some = 32;

Error mpi_failure(const EnqueuedMessage& message, int code) noexcept {
  int error_class = MPI_ERR_OTHER;
  PMPI_Error_class(code, &error_class);
  const auto kind = error_class == MPI_ERR_TRUNCATE ? ErrorKind::truncate : ErrorKind::mpi;
  return base::error_by(kind, [&] {
    return "enqueued " + message.label() + ": MPI reports: " + group::mpi_error_text(code);
  });
}

// What a message to or from MPI_PROC_NULL ends with, and one that has moved nothing.
MPI_Status empty_status(int source) noexcept {
  MPI_Status status{};
  PMPI_Status_set_elements(&status, MPI_BYTE, 0);
  PMPI_Status_set_cancelled(&status, 0);
  status.MPI_SOURCE = source;
  status.MPI_TAG = MPI_ANY_TAG;
  return status;
}

}  // namespace

MessageEngine::MessageEngine(const plan::ProgressOptions& options, group::World& world)
    : ProgressEngine("penstock-msgs", options, world) {}

MessageEngine::~MessageEngine() {
  stop_thread();
}

// ---- Calls of the program

void MessageEngine::add(QueueMessages& /*messages*/) {
  const std::lock_guard lock(progress_lock_);
  active_.reserve(queues_ + 1);
  start_thread();
  ++queues_;
}

void MessageEngine::make_room(QueueMessages& messages) {
  const std::lock_guard lock(progress_lock_);
  messages.active_.reserve(messages.pool_.size() + 1);
}

// MPI keeps what it is not done with, without us.
void MessageEngine::remove(QueueMessages& messages) noexcept {
  static const Error freed(ErrorKind::in_use, "the queue was freed before this was triggered");
  const std::lock_guard lock(progress_lock_);
  take_ready();  // afterwards this queue is in no list
  drop_bundles(messages, freed);
  while (!messages.active_.empty()) {
    EnqueuedMessage& message = **messages.active_.begin();
    deactivate(message);
    PMPI_Request_free(&message.mpi);
    end(message, empty_status(MPI_ANY_SOURCE), &freed);
  }
  if (messages.active) active_.remove(messages);
  --queues_;
}

void MessageEngine::drive() noexcept {
  const std::unique_lock lock(progress_lock_, std::try_to_lock);
  if (lock) pass(nullptr);
}

// ---- On a stream's worker

void MessageEngine::give_up(QueueMessages& messages, const Error& error) noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);  // see QueueMessages::end_if_failed
  const std::lock_guard lock(progress_lock_);
  messages.broken_ = true;
  drop_bundles(messages, error);
  auto& active = messages.active_;
  // From the back: the last one takes the place of one that leaves.
  for (std::size_t i = active.size(); i-- > 0;) {
    EnqueuedMessage& message = **(active.begin() + static_cast<std::ptrdiff_t>(i));
    message.given_up = true;
    if (!message.sends()) PMPI_Cancel(&message.mpi);
    if (message.request)
      complete(*std::exchange(message.request, nullptr), empty_status(MPI_ANY_SOURCE), &error);
    test(message);
  }
  wake_if_needed();
}

bool MessageEngine::untouched(const QueueMessages& messages) const noexcept {
  const std::lock_guard lock(progress_lock_);
  return std::all_of(messages.active_.begin(), messages.active_.end(),
                     [](const EnqueuedMessage* message) { return message->sends(); });
}

std::optional<Error> MessageEngine::hopeless(QueueMessages& messages) {
  if (!world().anybody_dead()) return std::nullopt;
  poll_until_sure(messages);  // what came before its sender died
  const std::lock_guard lock(progress_lock_);
  for (const EnqueuedMessage* message : messages.active_) {
    const int peer = group::world_rank(*message->communicator, message->peer);
    if (peer >= 0 && dead(peer))
      return Error(ErrorKind::peer_dead,
                   "enqueued " + message->label() + ": the peer process has ended");
  }
  return std::nullopt;
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
  return text.empty() ? "nothing that MPI has" : text;
}

// ---- Under the lock

bool MessageEngine::take_ready() noexcept {
  return ready_.take([this](QueueMessages& messages) { post(messages); });
}

bool MessageEngine::pass(QueueMessages* favourite) noexcept {
  bool moved = take_ready();
  if (favourite && test_some(*favourite)) moved = true;
  if (active_.move_some(
          [&](QueueMessages& messages) { return &messages != favourite && test_some(messages); }))
    moved = true;
  return moved;
}

void MessageEngine::post(QueueMessages& messages) noexcept {
  const std::uint64_t triggered = messages.triggered_.load(std::memory_order_acquire);
  while (messages.posted_ < triggered) {
    Bundle* const bundle = messages.take_bundle();
    if (!bundle) break;  // it has been dropped
    while (EnqueuedMessage* const message = bundle->take_first()) {
      post(messages, *message);
      const std::size_t under_way = messages.active_.size();
      if (under_way >= many_under_way && under_way % some == 0) test_some(messages);
    }
    ++messages.posted_;
  }
  settle(messages);
}

void MessageEngine::post(QueueMessages& messages, EnqueuedMessage& message) noexcept {
  message.communicator->enqueued.fetch_sub(1, std::memory_order_release);
  if (messages.broken_) return end(message, empty_status(MPI_ANY_SOURCE), messages.queue_.error());
  if (message.peer == MPI_PROC_NULL) return end(message, empty_status(MPI_PROC_NULL), nullptr);
  const int code = message.sends()
                       ? PMPI_Isend(message.buffer, message.count, message.type, message.peer,
                                    message.tag, message.comm, &message.mpi)
                       : PMPI_Irecv(message.buffer, message.count, message.type, message.peer,
                                    message.tag, message.comm, &message.mpi);
  if (code == MPI_SUCCESS) return activate(message);
  messages.broken_ = true;
  const Error error = mpi_failure(message, code);
  messages.queue_.fail(error);
  end(message, empty_status(MPI_ANY_SOURCE), &error);
}

void MessageEngine::activate(EnqueuedMessage& message) noexcept {
  message.owner->active_.add(message);
  large_.begin(message.bytes);
}

void MessageEngine::deactivate(EnqueuedMessage& message) noexcept {
  message.owner->active_.remove(message);
  large_.end(message.bytes);
}

bool MessageEngine::test(EnqueuedMessage& message) noexcept {
  int ended = 0;
  MPI_Status status{};
  const int code = PMPI_Test(&message.mpi, &ended, &status);
  if (code == MPI_SUCCESS && !ended) return false;
  QueueMessages& messages = *message.owner;
  deactivate(message);
  if (code != MPI_SUCCESS && !message.given_up) {
    messages.broken_ = true;
    const Error error = mpi_failure(message, code);
    messages.queue_.fail(error);
    end(message, status, &error);
  } else {
    end(message, status, nullptr);
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
  messages.completed_.store(messages.posted_, std::memory_order_release);
}

void MessageEngine::end(EnqueuedMessage& message, const MPI_Status& status,
                        const Error* error) noexcept {
  if (message.request) complete(*std::exchange(message.request, nullptr), status, error);
  if (std::exchange(message.owns_type, false)) PMPI_Type_free(&message.type);
  message.owner->pool_.give_back(message);
}

void MessageEngine::drop_bundles(QueueMessages& messages, const Error& error) noexcept {
  while (Bundle* const bundle = messages.take_bundle()) {
    while (EnqueuedMessage* const message = bundle->take_first()) {
      message->communicator->enqueued.fetch_sub(1, std::memory_order_release);
      end(*message, empty_status(MPI_ANY_SOURCE), &error);
    }
  }
}

}  // namespace penstock::enqueued
