// SPDX-License-Identifier: Apache-2.0
#include "enqueued/queue_messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "enqueued/engine.hpp"
#include "enqueued/message_plan.hpp"
#include "enqueued/promise.hpp"
#include "enqueued/staged_pieces.hpp"
#include "group/mpi_check.hpp"
#include "group/mpi_communicator.hpp"
#include "group/mpi_layout.hpp"

namespace penstock::enqueued {

using base::Error;
using base::ErrorKind;

namespace {

constexpr std::size_t many_requests = 10000;
constexpr std::size_t first_room = 64;

const char* verb(transport::Direction direction) noexcept {
  return direction == transport::Direction::send ? "send" : "receive";
}

bool is_named(MPI_Datatype type) {
  int integers = 0, addresses = 0, types = 0, combiner = 0;
  group::check_mpi(PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner),
                   "MPI_Type_get_envelope");
  return combiner == MPI_COMBINER_NAMED;
}

std::size_t bytes_of(MPI_Datatype type) {
  MPI_Count bytes = 0;
  group::check_mpi(PMPI_Type_size_x(type, &bytes), "MPI_Type_size_x");
  return static_cast<std::size_t>(bytes);
}

[[noreturn, gnu::cold]] void refuse(const MessageCall& call, const std::string& why) {
  throw Error(ErrorKind::argument, fmt::format("enqueued {}: {}", verb(call.direction), why));
}

// Where MPI does not move the message, nobody else would say so. MPI has no call that asks for it:
// of a send to nobody it looks at the datatype alone. A duplicate would tell nothing, as MPICH
// commits it.
void require_committed(const MessageCall& call, MPI_Comm ours) {
  const char nothing = 0;
  const int code = PMPI_Send(&nothing, 1, call.type, MPI_PROC_NULL, 0, ours);
  if (code != MPI_SUCCESS)
    refuse(call, "MPI does not take the datatype, which must be committed (MPI_Type_commit): " +
                     group::mpi_error_text(code));
}

}  // namespace

QueueMessages::QueueMessages(MessageEngine& engine, core::Queue& queue,
                             std::unique_ptr<Staging> staging)
    : engine_(engine),
      queue_(queue),
      staging_(std::move(staging)),
      words_(staging_ ? staging_->words() : own_words_) {
  std::unique_ptr<transport::Plan> plan;
  if (staging_)
    plan = staging_->make_plan(*this, engine_);
  else
    plan = std::make_unique<MessagePlan>(*this, engine_);
  operation_ = std::make_unique<MessageOperation>(
      fmt::format("enqueued messages of queue {}", queue.number()), std::move(plan));
  operation_->check_stream(queue.stream());
  engine_.add_queue(*this);
}

QueueMessages::~QueueMessages() {
  static const Error freed(ErrorKind::in_use, "the queue was freed before this had ended");
  if (const std::size_t open = open_messages_.load(std::memory_order_relaxed); open != 0)
    base::log::failures_in([&] {
      base::log::warn(
          fmt::format("queue {} ends with {} enqueued messages that nothing has "
                      "triggered: call PST_Enqueue_trigger",
                      queue_.number(), open));
    });
  end_open(freed);
  operation_.reset();  // before what its plan looks at
  engine_.remove_queue(*this, freed);
  if (staging_ && queue_.failed()) staging_->keep_memory();
  free_held(requests_);
}

// ---- Enqueueing

void QueueMessages::set_comm(MPI_Comm comm) {
  own_comm_ = group::communicator_of(comm);
}

MPI_Comm QueueMessages::comm_of(const MessageCall& call) const {
  if (call.comm != MPI_COMM_NULL) return call.comm;
  if (!own_comm_)
    refuse(call, "neither the call nor the queue names a communicator: PST_Queue_create takes one");
  if (!own_comm_->alive.load(std::memory_order_acquire))
    throw Error(ErrorKind::communicator,
                fmt::format("enqueued {}: {}, which queue {} was made with, has been freed: name a "
                            "communicator in the call",
                            verb(call.direction), own_comm_->name, queue_.number()));
  return group::handle_of(*own_comm_);
}

const std::shared_ptr<group::Communicator>& QueueMessages::communicator_of(MPI_Comm comm) {
  const bool is_known = known_comm_ && known_comm_->alive.load(std::memory_order_acquire) &&
                        group::handle_of(*known_comm_) == comm;
  if (!is_known) {
    auto communicator = group::communicator_of(comm);
    known_peers_ = group::peers_of(*communicator);
    known_comm_ = std::move(communicator);
  }
  return known_comm_;
}

void QueueMessages::check(const MessageCall& call) {
  static const int last_tag = group::last_tag();
  const bool receives = call.direction == transport::Direction::receive;
  if (call.count < 0) refuse(call, fmt::format("the count is negative: {}", call.count));
  if (call.type == MPI_DATATYPE_NULL) refuse(call, "the datatype is MPI_DATATYPE_NULL");
  if (receives && call.peer == MPI_ANY_SOURCE)
    refuse(call,
           "the source is MPI_ANY_SOURCE: name a rank, or receive with MPI_Irecv where no promise "
           "forbids it");
  if (receives && call.tag == MPI_ANY_TAG)
    refuse(call,
           "the tag is MPI_ANY_TAG: name a tag, or receive with MPI_Irecv where no promise forbids "
           "it");
  if (call.tag < 0 || call.tag > last_tag)
    refuse(call, fmt::format("tag {} is out of range: 0 to {}", call.tag, last_tag));
  if (call.peer != MPI_PROC_NULL && (call.peer < 0 || call.peer >= known_peers_))
    refuse(call, fmt::format("rank {} is out of range: {} has {} peers", call.peer,
                             known_comm_->name, known_peers_));
}

// The bytes of one of MPI's own types, which are never freed; nothing: it is derived, or has gaps.
std::optional<std::size_t> QueueMessages::element_of(MPI_Datatype type) {
  if (type == known_named_) return known_bytes_;
  if (!is_named(type)) return std::nullopt;
  MPI_Count lowest = 0, extent = 0;
  group::check_mpi(PMPI_Type_get_extent_x(type, &lowest, &extent), "MPI_Type_get_extent_x");
  if (static_cast<std::size_t>(extent) != bytes_of(type)) return std::nullopt;
  known_bytes_ = bytes_of(type);
  known_named_ = type;
  return known_bytes_;
}

// The program may free its type after the call. One of its own may hold addresses, and begin at a
// null pointer.
void QueueMessages::take_type(EnqueuedMessage& message, MPI_Datatype type,
                              std::optional<std::size_t> element) {
  message.type = type;
  message.bytes = static_cast<std::size_t>(message.count) * (element ? *element : bytes_of(type));
  if (!element) return duplicate_type(message, type);
  if (message.buffer == nullptr && message.bytes != 0)
    throw Error(ErrorKind::argument,
                fmt::format("enqueued {}: the buffer is a null pointer, and the count is {}",
                            verb(message.direction), message.count));
}

void QueueMessages::duplicate_type(EnqueuedMessage& message, MPI_Datatype type) {
  group::check_mpi(PMPI_Type_dup(type, &message.type), "MPI_Type_dup");
  message.owns_type = true;
}

// For who copies the message without MPI.
void QueueMessages::find_bytes(EnqueuedMessage& message, MPI_Datatype type) {
  const group::MpiLayout layout(type, message.count);
  require_described(message, layout);
  message.promised.lowest = lowest_of(message, layout);
  if (message.promised.lowest == nullptr && message.bytes != 0)
    throw Error(ErrorKind::argument, message.label() + ": the buffer is a null pointer");
  if (!layout.contiguous()) message.promised.segments = layout.segments();
}

// Null: MPI matches the message.
Envelope* QueueMessages::envelope_of(const MessageCall& call) {
  auto* const made = known_comm_->promise.load(std::memory_order_acquire);
  if (made == nullptr || call.peer == MPI_PROC_NULL) return nullptr;
  auto& promise = static_cast<Promise&>(*made);
  if (promise.comm() == MPI_COMM_NULL)
    throw Error(ErrorKind::communicator,
                fmt::format("enqueued {}: MPI_Comm_free of {} has failed, as not all members came: "
                            "make a new communicator",
                            verb(call.direction), known_comm_->name));
  // A new promise may lie where one that has ended lay.
  if (const std::uint64_t ended = engine_.ended_promises(); ended != known_ended_) {
    known_envelopes_.clear();
    known_ended_ = ended;
  }
  const EnvelopeKey key{&promise, call.direction, call.peer, call.tag};
  if (const auto found = known_envelopes_.find(key); found != known_envelopes_.end())
    return found->second;
  return known_envelopes_.emplace(key, &engine_.envelope(key)).first->second;
}

void QueueMessages::discard(EnqueuedMessage& message) noexcept {
  message.promised.segments.reset();
  if (message.promised.number != 0 && !message.promised.gone)
    message.promised.envelope->lose(message.promised.number);
  if (message.staged) staging_->pieces().leave(*std::exchange(message.staged, nullptr));
  if (std::exchange(message.owns_type, false)) PMPI_Type_free(&message.type);
  pool_.give_back(message);
}

EnqueuedMessage& QueueMessages::new_message(const MessageCall& call, MPI_Comm comm) {
  EnqueuedMessage& message = pool_.take([this] {
    if (pool_.size() < room_) return;
    const std::size_t most = std::max(first_room, 2 * room_);  // each time takes the engine's lock
    engine_.make_room(*this, most);
    room_ = most;
  });
  message.owner = this;
  message.direction = call.direction;
  message.buffer = call.buffer;
  message.count = call.count;
  message.peer = call.peer;
  message.tag = call.tag;
  message.comm = comm;
  message.communicator = known_comm_;
  message.request = nullptr;
  message.staged = nullptr;
  message.promised = {};
  message.given_up = message.arrived = message.with_program = false;
  return message;
}

// The list of requests grows only while none is free.
void QueueMessages::warn_of_many_requests() {
  if (requests_.size() < many_requests || std::exchange(told_many_, true)) return;
  base::log::warn(
      fmt::format("queue {} holds {} requests that the program has not completed: complete them "
                  "with MPI_Wait or MPI_Test, or pass a null pointer where no request is needed",
                  queue_.number(), many_requests));
}

void QueueMessages::enqueue(const MessageCall& call, MPI_Request* request) {
  queue_.raise();
  const MPI_Comm comm = comm_of(call);
  const auto& communicator = communicator_of(comm);
  check(call);
  EnqueuedMessage& message = new_message(call, comm);
  try {
    const std::optional<std::size_t> element = element_of(call.type);
    message.promised.envelope = envelope_of(call);
    if (message.promised.envelope && !element)
      require_committed(call, message.promised.envelope->promise.comm());
    if (!staging_ || !staging_->stage(message, call.type, element))
      take_type(message, call.type, element);
    message.promised.lowest = static_cast<std::byte*>(message.buffer);
    if (message.promised.envelope && message.owns_type) find_bytes(message, message.type);
    if (request) {
      warn_of_many_requests();
      message.request = &make_request(requests_);  // last: nothing fails behind it
      *request = message.request->mpi;
    }
  } catch (...) {
    discard(message);
    if (staging_) staging_->forget_allocations();
    throw;
  }
  communicator->enqueued.fetch_add(1, std::memory_order_relaxed);
  bundles_.open().add(message);
  if (message.promised.envelope) open_numbers_ = true;
  open_messages_.fetch_add(1, std::memory_order_relaxed);
}

// ---- Triggers

// In the order of the calls that trigger them, at both ends. A bundle whose trigger fails has its
// numbers already.
void QueueMessages::number_messages() {
  if (!open_numbers_) return;
  Bundle& bundle = bundles_.open();
  for (const EnqueuedMessage& message : bundle)
    if (message.promised.envelope && !message.sends() && Promise::needs_lane(message))
      engine_.make_lane(message, bundle);
  for (EnqueuedMessage& message : bundle)
    if (PromisedMessage& one = message.promised; one.envelope && one.number == 0)
      one.number = one.envelope->triggered.fetch_add(1, std::memory_order_relaxed) + 1;
  if (staging_) staging_->choose_lanes(bundle);
}

// A bundle that is published without a start would be taken for the next one's.
void QueueMessages::trigger() {
  queue_.raise();
  if (bundles_.open().first == nullptr) return;
  if (queue_.stream().capture() != 0)
    throw Error(ErrorKind::unsupported,
                "enqueued messages are one message each, which a graph cannot repeat: trigger them "
                "outside the capture, or match persistent requests (PST_Match)");
  bundles_.reserve();
  number_messages();
  try {
    queue_.trigger(*operation_);
  } catch (const Error& error) {
    const bool published = bundles_.open().first == nullptr;
    if (published) queue_.fail(error);
    if (queue_.failed()) end_open(*queue_.error());
    throw;
  }
  drop_if_broken();
}

// Whoever stops the handing over sets broken_, and then drops the bundles that it finds. Either it
// has found this one, or we find broken_ set.
void QueueMessages::drop_if_broken() noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (broken_.load(std::memory_order_acquire)) engine_.drop(*this);
}

// No thread of ours sees a GPU's stream trigger them: the engine looks for it from now on.
void QueueMessages::publish(std::optional<std::uint64_t> behind) noexcept {
  const bool quiet = bundles_.open().quiet;
  bundles_.open().behind = behind;
  bundles_.publish();
  open_numbers_ = false;
  open_messages_.store(0, std::memory_order_relaxed);
  published_.store(published_.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
  if (staging_) engine_.expect_trigger(*this, quiet);
}

void QueueMessages::end_open(const Error& error) noexcept {
  while (EnqueuedMessage* const message = bundles_.open().take_first()) {
    if (message->request)
      complete(*std::exchange(message->request, nullptr), empty_status(MPI_ANY_SOURCE), &error);
    group::Communicator& communicator = *message->communicator;
    discard(*message);
    communicator.enqueued.fetch_sub(1, std::memory_order_release);
  }
  open_messages_.store(0, std::memory_order_relaxed);
}

void QueueMessages::refuse_free() const {
  if (const std::size_t open = open_messages_.load(std::memory_order_relaxed); open != 0)
    throw Error(ErrorKind::in_use,
                fmt::format("queue {} has {} enqueued messages that nothing has triggered: call "
                            "PST_Enqueue_trigger before the queue is freed",
                            queue_.number(), open));
}

std::string QueueMessages::describe_wait() const {
  const std::string under_way = engine_.describe(*this);
  const std::uint64_t triggered = load(words_.triggered);
  const std::uint64_t known = std::max(triggered, engine_.issued(*this));
  const std::uint64_t behind = published_.load(std::memory_order_acquire) - known;
  return fmt::format("{} triggered, {} complete, {}{}", triggered, load(words_.completed),
                     under_way.empty() ? "MPI has nothing" : under_way,
                     behind == 0
                         ? ""
                         : fmt::format("; {} more triggers stand behind this wait: where the "
                                       "peer waits alike, enqueue the sends of a step under "
                                       "the trigger of its receives",
                                       behind));
}

void QueueMessages::let_waits_pass() noexcept {
  let_pass(words_, published_.load(std::memory_order_acquire));
}

Error QueueMessages::why_failed() const {
  const Error* const error = queue_.error();
  return error ? *error
               : Error(ErrorKind::transport, "the queue has failed: PST_Queue_wait tells why");
}

std::string QueueMessages::describe(bool waits) const {
  const std::size_t open = open_messages_.load(std::memory_order_relaxed);
  std::string text = open == 0 ? "" : fmt::format("{} enqueued messages not triggered", open);
  if (const std::string under_way = waits ? "" : engine_.describe(*this); !under_way.empty())
    text += (text.empty() ? "" : "; ") + under_way;
  return text;
}

}  // namespace penstock::enqueued
