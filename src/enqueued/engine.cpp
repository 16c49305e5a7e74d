// SPDX-License-Identifier: Apache-2.0
#include "enqueued/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "enqueued/promise.hpp"
#include "enqueued/staged_pieces.hpp"

namespace penstock::enqueued {

using base::Error;

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

}  // namespace

MessageEngine::MessageEngine(const plan::ProgressOptions& options, group::World& world)
    : ProgressEngine("penstock-msgs", options, world) {}

MessageEngine::~MessageEngine() {
  stop_thread();
}

// ---- Calls of the program

void MessageEngine::add_queue(QueueMessages& messages) {
  const std::lock_guard lock(progress_lock_);
  active_.reserve(queues_.size() + 1);
  queues_.reserve(queues_.size() + 1);
  start_thread();
  queues_.push_back(&messages);
}

Envelope& MessageEngine::envelope(const EnvelopeKey& key) {
  {
    const std::lock_guard lock(progress_lock_);
    envelopes_.reserve(++envelopes_made_);
  }
  return key.promise->envelope(key);
}

// The thread that has ended the last message may still be at it.
void MessageEngine::end_promise(std::unique_ptr<Promise> promise) noexcept {
  ended_promises_.fetch_add(1, std::memory_order_release);
  const std::lock_guard lock(progress_lock_);
  promise.reset();
}

void MessageEngine::make_lane(const EnqueuedMessage& receive, const Bundle& bundle) {
  receive.promised.envelope->promise.make_lane(receive, bundle, progress_lock_);
}

void MessageEngine::make_room(QueueMessages& messages, std::size_t most) {
  const std::lock_guard lock(progress_lock_);
  messages.active_.reserve(most);
  messages.in_lines_.reserve(most);
}

// Sequentially consistent: see ProgressThread::wake_if_asleep(), and watch(). A thread that looks
// at the queue now and then finds a quiet bundle, and must not be kept awake for it.
void MessageEngine::expect_trigger(QueueMessages& messages, bool quiet) noexcept {
  if (quiet && messages.watched_.load(std::memory_order_seq_cst)) return;
  if (!quiet) expected_.fetch_add(1, std::memory_order_seq_cst);
  ready_.mark(messages);
  wake_if_asleep();
}

// A copy waits for a device, and so is made without the lock. Nothing but finish_copy() ends a
// message that is with the program, and its queue stays until then.
void MessageEngine::drive() noexcept {
  std::unique_lock lock(progress_lock_, std::try_to_lock);
  if (!lock) {
    if (arrived_.load(std::memory_order_relaxed) == 0) return;
    lock.lock();  // the thread, which has it again and again, copies nothing
  }
  program_drives_ = true;
  pass(nullptr);
  program_drives_ = false;
  EnqueuedMessage* const wanted = std::exchange(to_look_for_, nullptr);
  if (EnqueuedMessage* const message = std::exchange(to_copy_, nullptr))
    copy_for_program(*message, lock);
  else if (wanted)
    look_for_program(*wanted, lock);
  wake_if_needed();
}

void MessageEngine::copy_for_program(EnqueuedMessage& message,
                                     std::unique_lock<std::mutex>& lock) noexcept {
  lock.unlock();
  const std::optional<Error> error = message.owner->staging_->copy_for_program(message);
  lock.lock();
  finish_copy(message, error);
}

// It is given to the program only when it has come: until then a wait of the stream may be enqueued
// for it, and the program may never call again.
void MessageEngine::look_for_program(EnqueuedMessage& message,
                                     std::unique_lock<std::mutex>& lock) noexcept {
  QueueMessages& messages = *message.owner;
  message.promised.looked_for = ++looks_;
  message.with_program = true;
  ++messages.program_looks_;
  lock.unlock();
  const bool here = lies_in_lane(message);
  lock.lock();
  --messages.program_looks_;
  message.with_program = false;
  if (messages.broken_by_) {
    give_up(message, *messages.broken_by_);
    return settle(messages);  // its waits may have waited for us
  }
  if (!here || !messages.staging_->pieces().give_to_program(*message.staged)) return;
  message.with_program = true;
  copy_for_program(message, lock);
}

bool MessageEngine::catch_up() noexcept {
  const std::lock_guard lock(progress_lock_);
  take_ready();
  active_.visit_all([this](QueueMessages& messages) { catch_up_with(messages); });
  return std::none_of(queues_.begin(), queues_.end(), [](const QueueMessages* messages) {
    return messages->staging_ && messages->broken_by_ && !messages->staging_->has_run_dry();
  });
}

std::string MessageEngine::describe(const QueueMessages& messages) const {
  const std::lock_guard lock(progress_lock_);
  std::string text;
  const auto tell = [&text](const char* what, const plan::ActiveList<EnqueuedMessage>& list) {
    if (list.empty()) return;
    text += (text.empty() ? "" : "; ") + std::string(what);
    std::size_t told = 0;
    for (const EnqueuedMessage* message : list) {
      if (++told > described_at_most) break;
      text += (told == 1 ? "" : ", ") + message->label();
    }
    if (list.size() > described_at_most)
      text += fmt::format(" and {} more", list.size() - described_at_most);
  };
  tell("MPI has ", messages.active_);
  tell("waiting for the other end: ", messages.in_lines_);
  return text;
}

std::uint64_t MessageEngine::issued(const QueueMessages& messages) const {
  const std::lock_guard lock(progress_lock_);
  return messages.issued_;
}

// ---- Under the lock

// What only quiet messages move is no news: the thread goes on looking seldom.
bool MessageEngine::take_ready() noexcept {
  bool moved = false;
  ready_.take([&](QueueMessages& messages) {
    if (issue(messages) || expected_.load(std::memory_order_relaxed) > 0) moved = true;
  });
  return moved;
}

void MessageEngine::catch_up_with(QueueMessages& messages) noexcept {
  if (messages.staging_) messages.staging_->note_what_has_run();
  if (awaits_trigger(messages)) issue(messages);
  auto& line = messages.in_lines_;
  for (std::size_t before = line.size() + 1; before != line.size();) {
    before = line.size();
    line.visit_all([this](EnqueuedMessage& one) { advance_line(*one.promised.envelope); });
  }
}

bool MessageEngine::pass(QueueMessages* favourite) noexcept {
  if (++passes_ % passes_between_looks == 0) look_for_dead_peers();
  bool moved = take_ready();
  if (envelopes_.move_some([this](Envelope& envelope) { return advance_line(envelope); }))
    moved = true;
  if (favourite && test_some(*favourite)) moved = true;
  if (active_.move_some(
          [&](QueueMessages& messages) { return &messages != favourite && look_at(messages); }))
    moved = true;
  return moved;
}

bool MessageEngine::awaits_trigger(const QueueMessages& messages) noexcept {
  return messages.staging_ && !messages.broken_by_ &&
         messages.published_.load(std::memory_order_seq_cst) > messages.issued_;
}

bool MessageEngine::look_at(QueueMessages& messages) noexcept {
  const bool issued = awaits_trigger(messages) && issue(messages);
  return (messages.active && test_some(messages)) || issued;
}

void MessageEngine::count_issued(QueueMessages& messages, const Bundle& bundle) noexcept {
  ++messages.issued_;
  if (messages.staging_ && !bundle.quiet) expected_.fetch_sub(1, std::memory_order_relaxed);
}

bool MessageEngine::next_is_triggered(const QueueMessages& messages) noexcept {
  if (messages.issued_ < load(messages.words_.triggered)) return true;
  const Bundle* const next = messages.bundles_.next();
  return next != nullptr && next->behind && load(messages.words_.taken) >= *next->behind;
}

// True: what it has begun is not quiet.
bool MessageEngine::issue(QueueMessages& messages) noexcept {
  const std::size_t before = under_way_;
  bool news = false;
  messages.issuing_ = true;
  while (next_is_triggered(messages)) {
    Bundle* const bundle = messages.bundles_.take();
    if (!bundle) break;  // it has been dropped
    news |= !bundle->quiet;
    while (EnqueuedMessage* const message = bundle->take_first()) {
      issue(messages, *message);
      const std::size_t under_way = messages.active_.size();
      if (under_way >= many_under_way && under_way % issues_between_tests == 0) test_some(messages);
    }
    count_issued(messages, *bundle);
  }
  messages.issuing_ = false;
  if (messages.broken_by_) give_up_rest(messages);
  settle(messages);
  return news || under_way_ > before;
}

// MPI has the communicator from its call on: until then the program may not free it.
void MessageEngine::issue(QueueMessages& messages, EnqueuedMessage& message) noexcept {
  if (message.promised.envelope && !messages.broken_by_) {
    if (message.promised.by_kernel && message.sends() && message.staged->is_marked())
      message.promised.by_kernel = message.promised.quiet = false;
    begin_promised(message);
    advance_line(*message.promised.envelope);
    return;
  }
  const bool moves = !messages.broken_by_ && message.peer != MPI_PROC_NULL;
  const int code = moves ? start_by_mpi(message, message.tag, message.comm) : MPI_SUCCESS;
  if (!message.promised.envelope)
    message.communicator->enqueued.fetch_sub(1, std::memory_order_release);
  if (messages.broken_by_) return end(message, empty_status(MPI_ANY_SOURCE), &*messages.broken_by_);
  if (!moves) return end(message, empty_status(MPI_PROC_NULL), nullptr);
  activate(message);
  end_call(message, code);
}

int MessageEngine::start_by_mpi(EnqueuedMessage& message, int tag, MPI_Comm comm) noexcept {
  return message.sends() ? PMPI_Isend(message.buffer, message.count, message.type, message.peer,
                                      tag, comm, &message.mpi)
                         : PMPI_Irecv(message.buffer, message.count, message.type, message.peer,
                                      tag, comm, &message.mpi);
}

// MPI has been given a message, and may have refused it.
void MessageEngine::end_call(EnqueuedMessage& message, int code) noexcept {
  if (code == MPI_SUCCESS) {
    if (message.promised.in_line) go_on_by_mpi(message);
    return;
  }
  const Error error = mpi_failure(message, code);
  message.mpi = MPI_REQUEST_NULL;
  finish(message, empty_status(MPI_ANY_SOURCE), 0, &error);
}

void MessageEngine::activate(EnqueuedMessage& message) noexcept {
  message.owner->active_.add(message);
  begin_moving(message);
}

void MessageEngine::begin_moving(EnqueuedMessage& message) noexcept {
  if (message.holds_bundle()) ++message.owner->moving_;
  if (!message.promised.quiet) begin_under_way(message);
}

void MessageEngine::end_moving(EnqueuedMessage& message) noexcept {
  if (message.holds_bundle()) --message.owner->moving_;
  if (!message.promised.quiet && !message.given_up) end_under_way(message);
}

void MessageEngine::begin_under_way(const EnqueuedMessage& message) noexcept {
  ++under_way_;
  large_.begin(message.bytes);
}

void MessageEngine::end_under_way(const EnqueuedMessage& message) noexcept {
  --under_way_;
  large_.end(message.bytes);
}

void MessageEngine::deactivate(EnqueuedMessage& message) noexcept {
  if (message.promised.in_line)
    leave_line(message);
  else
    message.owner->active_.remove(message);
  if (message.arrived) {
    arrived_.fetch_sub(1, std::memory_order_relaxed);
    return;
  }
  end_moving(message);
}

// It lies in pinned memory. Its request completes when the program has it.
void MessageEngine::arrive(EnqueuedMessage& message, const MPI_Status& status) noexcept {
  if (message.promised.in_line) {
    leave_line(message);
    message.owner->active_.add(message);
  }
  leave_envelope(message);
  message.status = status;
  message.arrived = true;
  arrived_.fetch_add(1, std::memory_order_relaxed);
  end_moving(message);
}

// With the error, unless the program's buffer has it.
void MessageEngine::end_arrived(EnqueuedMessage& message,
                                const std::optional<Error>& error) noexcept {
  deactivate(message);
  if (message.staged->stream_has_copied(message.owner->words_))
    end(message, message.status, nullptr);
  else
    end(message, empty_status(MPI_ANY_SOURCE), error ? &*error : nullptr);
}

bool MessageEngine::test_arrived(EnqueuedMessage& message) noexcept {
  QueueMessages& messages = *message.owner;
  if (message.with_program) return false;
  const StagedMessage& staged = *message.staged;
  if (staged.stream_has_copied(messages.words_) ||
      (messages.broken_by_ && !staged.stream_may_copy(messages.words_))) {
    end_arrived(message, messages.broken_by_);
    settle(messages);
    return true;
  }
  if (program_drives_ && !to_copy_ &&
      messages.staging_->pieces().give_to_program(*message.staged)) {
    message.with_program = true;
    to_copy_ = &message;
  }
  return false;
}

void MessageEngine::finish_copy(EnqueuedMessage& message,
                                const std::optional<Error>& error) noexcept {
  QueueMessages& messages = *message.owner;
  if (message.promised.in_line && !error) note_taken(message);
  if (error) fail(messages, *error);  // before a wait of the stream goes on
  messages.staging_->pieces().program_has_copied();
  deactivate(message);
  end(message, message.status, error ? &*error : nullptr);
  settle(messages);
}

bool MessageEngine::test(EnqueuedMessage& message) noexcept {
  if (message.arrived) return test_arrived(message);
  int ended = 0, received = 0;
  MPI_Status status{};
  const int code = PMPI_Test(&message.mpi, &ended, &status);
  if (code == MPI_SUCCESS && !ended) return false;
  // Open MPI keeps a request that has failed.
  if (message.mpi != MPI_REQUEST_NULL) PMPI_Request_free(&message.mpi);
  if (code != MPI_SUCCESS && !message.given_up) {
    message.promised.gone = true;  // MPI has taken it, and it was too long
    const Error error = mpi_failure(message, code);
    finish(message, status, 0, &error);
    return true;
  }
  if (message.promised.too_long) return end_too_long(message);
  if (!message.sends()) status.MPI_TAG = message.tag;  // which may be another one for MPI
  int cancelled = 0;
  if (message.given_up) PMPI_Test_cancelled(&status, &cancelled);
  message.promised.gone = cancelled == 0;
  if (message.staged && !message.sends()) PMPI_Get_count(&status, MPI_BYTE, &received);
  finish(message, status, static_cast<std::size_t>(std::max(received, 0)), nullptr);
  return true;
}

// The queue fails first: who has the request's error finds the queue's.
void MessageEngine::finish(EnqueuedMessage& message, const MPI_Status& status, std::size_t received,
                           const Error* error) noexcept {
  QueueMessages& messages = *message.owner;
  if (message.staged && !message.sends() && !error) {
    message.staged->set_received(received);
    if (message.request && !message.given_up) {
      arrive(message, status);
      return complete_bundles(messages);
    }
  }
  deactivate(message);
  if (error) fail(messages, *error);
  end(message, status, error);
  settle(messages);
}

bool MessageEngine::test_some(QueueMessages& messages) noexcept {
  return messages.active_.move_some([this](EnqueuedMessage& message) { return test(message); });
}

void MessageEngine::settle(QueueMessages& messages) noexcept {
  watch(messages);
  complete_bundles(messages);
}

// We say that nobody looks, and then look once more. So a caller that publishes a quiet bundle
// meanwhile either reads that and wakes the thread, or we find its bundle.
void MessageEngine::watch(QueueMessages& messages) noexcept {
  const auto has_work = [&] { return has_messages(messages) || awaits_trigger(messages); };
  if (!has_work()) messages.watched_.store(false, std::memory_order_seq_cst);
  const bool looks = has_work();
  if (looks) messages.watched_.store(true, std::memory_order_seq_cst);
  if (looks == messages.active) return;
  if (looks)
    active_.add(messages);
  else
    active_.remove(messages);
}

// Of a queue that is broken no later bundle will be complete: its waits end when nothing moves its
// buffers. A stream that waits for the lower half of the number lets all waits pass then.
void MessageEngine::complete_bundles(QueueMessages& messages) noexcept {
  QueueWords& words = messages.words_;
  const bool over = messages.broken_by_ && only_reads(messages);
  if (!over && (messages.moving_ > 0 || messages.broken_by_)) return;
  store(words.completed, over ? no_more : messages.issued_);
  if (over) return messages.let_waits_pass();
  let_pass(words, messages.issued_);
}

void MessageEngine::end(EnqueuedMessage& message, const MPI_Status& status,
                        const Error* error) noexcept {
  MessageRequest* const request = std::exchange(message.request, nullptr);
  const MPI_Status told = status;  // it may be the message's
  Envelope* const envelope = message.promised.envelope;
  group::Communicator& communicator = *message.communicator;
  const bool lost = envelope && message.promised.number != 0 && !message.promised.gone;
  message.owner->discard(message);
  if (lost) fail_behind(*envelope);
  // Last: then the program may free the communicator, and the envelope with it.
  if (envelope) communicator.enqueued.fetch_sub(1, std::memory_order_release);
  if (request) complete(*request, told, error);
}

}  // namespace penstock::enqueued
