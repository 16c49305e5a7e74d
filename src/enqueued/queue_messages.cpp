// SPDX-License-Identifier: Apache-2.0
#include "enqueued/queue_messages.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/log.hpp"
#include "device/gpu.hpp"
#include "enqueued/engine.hpp"
#include "enqueued/message_plan.hpp"
#include "group/mpi_check.hpp"
#include "group/mpi_communicator.hpp"

namespace penstock::enqueued {

using base::Error;
using base::ErrorKind;

namespace {

constexpr std::size_t many_requests = 10000;

const char* verb(const MessageCall& call) noexcept {
  return call.direction == transport::Direction::send ? "send" : "receive";
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
  throw Error(ErrorKind::argument, fmt::format("enqueued {}: {}", verb(call), why));
}

}  // namespace

QueueMessages::QueueMessages(std::shared_ptr<MessageEngine> engine, core::Queue& queue,
                             MPI_Comm comm)
    : engine_(std::move(engine)), queue_(queue), comm_(comm) {
  newest_ = taken_ = &bundles_.take();
  open_ = &bundles_.take();
  operation_ = std::make_unique<MessageOperation>(
      fmt::format("enqueued messages of queue {}", queue.number()),
      std::make_unique<MessagePlan>(*this, *engine_));
  operation_->check_stream(queue.stream());
  engine_->add(*this);
}

QueueMessages::~QueueMessages() {
  static const Error freed(ErrorKind::in_use, "the queue was freed before this was triggered");
  end_open(freed);
  engine_->remove(*this);
  free_held(requests_);
}

// ---- Enqueueing

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
    refuse(call, "it names its source: MPI_ANY_SOURCE is for plain receives");
  if (receives && call.tag == MPI_ANY_TAG)
    refuse(call, "it names its tag: MPI_ANY_TAG is for plain receives");
  if (call.tag < 0 || call.tag > last_tag)
    refuse(call, fmt::format("tag {} is not one of 0 to {}", call.tag, last_tag));
  if (call.peer != MPI_PROC_NULL && (call.peer < 0 || call.peer >= known_peers_))
    refuse(call, fmt::format("rank {} is not one of the {} of {}", call.peer, known_peers_,
                             known_comm_->name));
}

// The program may free its type after the call.
void QueueMessages::take_type(EnqueuedMessage& message, MPI_Datatype type) {
  message.type = type;
  const auto count = static_cast<std::size_t>(message.count);
  if (type == known_named_) {
    message.bytes = count * known_bytes_;
    return;
  }
  const std::size_t element = bytes_of(type);
  message.bytes = count * element;
  if (is_named(type)) {
    known_named_ = type;
    known_bytes_ = element;
    return;
  }
  group::check_mpi(PMPI_Type_dup(type, &message.type), "MPI_Type_dup");
  message.owns_type = true;
}

void QueueMessages::discard(EnqueuedMessage& message) noexcept {
  if (std::exchange(message.owns_type, false)) PMPI_Type_free(&message.type);
  pool_.give_back(message);
}

void QueueMessages::enqueue(const MessageCall& call, MPI_Request* request) {
  queue_.raise();
  const MPI_Comm comm = call.comm == MPI_COMM_NULL ? comm_ : call.comm;
  if (comm == MPI_COMM_NULL)
    refuse(call, "neither the call nor the queue names a communicator: PST_Queue_create takes one");
  const auto& communicator = communicator_of(comm);
  check(call);
  EnqueuedMessage& message = pool_.take([this] { engine_->make_room(*this); });
  message.owner = this;
  message.direction = call.direction;
  message.buffer = call.buffer;
  message.count = call.count;
  message.peer = call.peer;
  message.tag = call.tag;
  message.comm = comm;
  message.communicator = communicator;
  message.request = nullptr;
  message.given_up = false;
  try {
    take_type(message, call.type);
    if (request) {
      message.request = &make_request(requests_);
      *request = message.request->mpi;
      if (requests_.size() == many_requests && !std::exchange(told_many_, true))
        base::log::warn(fmt::format(
            "queue {} has {} requests of enqueued messages that the program has not completed: "
            "complete them with MPI_Wait or its kind, or pass a null pointer for no request",
            queue_.number(), many_requests));
    }
  } catch (...) {
    discard(message);
    throw;
  }
  communicator->enqueued.fetch_add(1, std::memory_order_relaxed);
  open_->add(message);
  open_messages_.fetch_add(1, std::memory_order_relaxed);
}

// ---- Triggers

void QueueMessages::trigger() {
  if (const Error* const error = queue_.error()) {
    end_open(*error);
    queue_.raise();
  }
  if (open_->first == nullptr) return;
  spare_ = spare_ ? spare_ : &bundles_.take();
  queue_.trigger(*operation_);
  end_if_failed();
}

// A queue that fails meanwhile has dropped the bundles that it found. Either it has found this one,
// or we find it failed.
void QueueMessages::end_if_failed() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (const Error* const error = queue_.error()) engine_->give_up(*this, *error);
}

// Release: what the engine takes is complete.
void QueueMessages::publish() {
  newest_->next.store(open_, std::memory_order_release);
  newest_ = open_;
  open_ = std::exchange(spare_, nullptr);
  open_->next.store(nullptr, std::memory_order_relaxed);
  open_->first = open_->last = nullptr;
  open_messages_.store(0, std::memory_order_relaxed);
}

Bundle* QueueMessages::take_bundle() noexcept {
  Bundle* const next = taken_->next.load(std::memory_order_acquire);
  if (next) bundles_.give_back(*std::exchange(taken_, next));
  return next;
}

void QueueMessages::end_open(const Error& error) noexcept {
  while (EnqueuedMessage* const message = open_->take_first()) {
    message->communicator->enqueued.fetch_sub(1, std::memory_order_relaxed);
    if (message->request) complete(*std::exchange(message->request, nullptr), MPI_Status{}, &error);
    discard(*message);
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

std::string QueueMessages::describe() const {
  const std::size_t open = open_messages_.load(std::memory_order_relaxed);
  return open == 0 ? "" : fmt::format("{} enqueued messages not triggered", open);
}

}  // namespace penstock::enqueued
