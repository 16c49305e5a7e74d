// SPDX-License-Identifier: Apache-2.0
#include "api/overlap_messages.hpp"

#include <cstring>

#include "base/log.hpp"
#include "datatype/copy.hpp"
#include "device/gpu.hpp"
#include "group/datatype_contents.hpp"
#include "group/mpi_check.hpp"
#include "group/mpi_communicator.hpp"
#include "group/mpi_layout.hpp"

namespace penstock::api::large {

Engine* engine = nullptr;
Requests& requests = *new Requests;  // never destroyed: MPI may still have some

namespace {

LargeMessages decide(MPI_Comm comm, const group::Communicator& communicator) {
  int inter = 0;
  if (PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter != 0) return LargeMessages::of_mpi;
  const int size = group::peers_of(communicator);
  for (int one = 0; one < size; ++one)
    for (int other = one; other < size; ++other)
      if (!engine->serves(group::world_rank(communicator, one),
                          group::world_rank(communicator, other)))
        return LargeMessages::of_mpi;
  return LargeMessages::ours;
}

// For questions to MPI whose answer is an error, which the program's handlers are not to see. MPI
// frees it at its end, as threads may be asking until then.
MPI_Comm questions = MPI_COMM_NULL;

}  // namespace

// Not by MPI_Comm_dup, which runs what the program has its attributes copied by.
void prepare_questions() {
  if (questions != MPI_COMM_NULL) return;
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Group self = MPI_GROUP_NULL;
  group::check_mpi(PMPI_Comm_group(MPI_COMM_SELF, &self), "MPI_Comm_group");
  const int code = PMPI_Comm_create(MPI_COMM_SELF, self, &made);
  PMPI_Group_free(&self);
  group::check_mpi(code, "MPI_Comm_create");
  group::check_mpi(PMPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  questions = made;
}

// MPI has no call that asks for it: of a send to nobody it looks at the datatype alone.
bool committed(MPI_Datatype datatype) {
  if (group::is_predefined(datatype)) return true;
  const char nothing = 0;
  return PMPI_Send(&nothing, 1, datatype, MPI_PROC_NULL, 0, questions) == MPI_SUCCESS;
}

std::shared_ptr<group::Communicator> served(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) return nullptr;
  auto communicator = group::communicator_of(comm);
  if (!communicator->known) return nullptr;
  LargeMessages whose = communicator->large_messages.load(std::memory_order_relaxed);
  if (whose == LargeMessages::undecided) {
    whose = decide(comm, *communicator);
    communicator->large_messages.store(whose, std::memory_order_relaxed);
  }
  if (whose == LargeMessages::of_mpi) return nullptr;
  return communicator;
}

core::Envelope key_of(const group::Communicator& communicator, int source, int tag) {
  return {communicator.id, source == MPI_ANY_SOURCE ? core::any_rank : source,
          tag == MPI_ANY_TAG ? core::any_tag : tag};
}

void take_layout(Message& message, void* lowest, std::shared_ptr<const group::Layout> layout) {
  message.buffer = static_cast<std::byte*>(lowest);
  if (!layout->contiguous() && layout->segments() == nullptr)
    throw Error(ErrorKind::unsupported,
                message.label() +
                    ": its datatype has more pieces than PENSTOCK_OVERLAP=exact serves, which the "
                    "other end does not know: leave PENSTOCK_OVERLAP off");
  if (device::memory_kind(message.buffer) != device::MemoryKind::host)
    throw Error(ErrorKind::unsupported,
                message.label() +
                    ": its buffer is in memory of a GPU, which PENSTOCK_OVERLAP=exact does not "
                    "serve, and the other end does not know: leave PENSTOCK_OVERLAP off");
  if (!layout->contiguous()) message.layout = std::move(layout);
}

void describe(Message& message, const MessageCall& call, const LargeMessage& large) {
  message.call = call.call;
  message.communicator = large.communicator;
  message.peer = call.peer == MPI_ANY_SOURCE ? core::any_rank : call.peer;
  message.peer_world = large.peer_world;
  message.tag = call.tag == MPI_ANY_TAG ? core::any_tag : call.tag;
  message.bytes = large.bytes;
  auto layout = std::make_shared<group::MpiLayout>(call.datatype, call.count);
  if (!layout->refusal().empty())
    throw Error(ErrorKind::argument, message.label() + ": " + layout->refusal());
  // Of integers, as MPI_BOTTOM may be null.
  const auto lowest = reinterpret_cast<std::intptr_t>(call.buffer) + layout->lowest();
  take_layout(message, reinterpret_cast<void*>(lowest), std::move(layout));
}

void take_copy(Send& message) {
  auto copy = std::make_unique_for_overwrite<std::byte[]>(message.bytes);
  if (const datatype::Segments* const segments = message.segments())
    datatype::Walk(segments->view()).pack(copy.get(), message.buffer, 0, message.bytes);
  else
    std::memcpy(copy.get(), message.buffer, message.bytes);
  message.buffer = copy.get();
  message.layout.reset();
  message.packed = std::move(copy);
}

void set_count(MPI_Status& status, std::size_t bytes, bool cancelled) noexcept {
  PMPI_Status_set_elements_x(&status, MPI_BYTE, static_cast<MPI_Count>(bytes));
  PMPI_Status_set_cancelled(&status, cancelled ? 1 : 0);
}

MPI_Status status_of(const Message& message) noexcept {
  if (message.sends) return enqueued::empty_status(MPI_ANY_SOURCE);
  MPI_Status status{};
  const bool none = message.cancelled || message.error.has_value();
  set_count(status, none ? 0 : message.bytes, message.cancelled);
  status.MPI_SOURCE = message.source;
  status.MPI_TAG = message.its_tag;
  status.MPI_ERROR = MPI_SUCCESS;
  return status;
}

void give_status(MPI_Status* to, MPI_Status status) noexcept {
  if (to == MPI_STATUS_IGNORE) return;
  status.MPI_ERROR = to->MPI_ERROR;
  *to = status;
}

MessageRequest& make_request() {
  const std::lock_guard lock(requests.mutex);
  return enqueued::make_request(requests.home);
}

void drop(MessageRequest& request) noexcept {
  MPI_Request mpi = request.mpi;
  enqueued::complete(request, enqueued::empty_status(MPI_ANY_SOURCE), nullptr);
  PMPI_Request_free(&mpi);
}

void complete(Message& ended) noexcept {
  const std::unique_ptr<Message> message(&ended);
  auto* const request = static_cast<MessageRequest*>(message->request);
  if (request == nullptr) {  // of a buffered send: nobody asks for it
    if (message->error) base::log::error(message->error->text());
    return;
  }
  {
    const std::lock_guard lock(requests.mutex);
    requests.open.erase(group::handle_bits(request->mpi));
  }
  enqueued::complete(*request, status_of(*message), message->error ? &*message->error : nullptr);
}

// A buffered one is complete when it has been copied, and goes on by itself.
void begin_send(std::unique_ptr<Send> message, SendMode mode, MPI_Request* request) {
  if (mode == SendMode::direct)
    return begin_requested(std::move(message), request, [](Send& each) { engine->send(each); });
  take_copy(*message);
  message->listed = true;
  MessageRequest& made = make_request();
  const MPI_Request mpi = made.mpi;
  try {
    engine->send(*message);
  } catch (...) {
    drop(made);
    throw;
  }
  static_cast<void>(message.release());
  enqueued::complete(made, enqueued::empty_status(MPI_ANY_SOURCE), nullptr);
  *request = mpi;
}

}  // namespace penstock::api::large
