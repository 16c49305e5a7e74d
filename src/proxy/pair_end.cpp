// SPDX-License-Identifier: Apache-2.0
#include "proxy/pair_end.hpp"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <utility>

#include "plan/peer_closed.hpp"
#include "proxy/mpi_call.hpp"

namespace penstock::proxy {

using base::Error;
using base::ErrorKind;

PairEnd::PairEnd(const transport::Message& message, protocol::Mode send_mode,
                 const AnswerRecord& name, unsigned slots, MPI_Comm communicator)
    : direction(message.direction),
      mode(send_mode),
      peer(message.peer),
      pair(name.pair),
      tag(name.tag),
      buffer(message.buffer),
      memory(message.memory),
      bytes(message.bytes),
      elements(message),
      operations(buffered() ? slots : 1),
      communicator_(communicator),
      packed_(message, message.bytes) {
  last_notice.end = query.end = this;
  try {
    if (buffered() && !elements.as_bytes() &&
        bytes > static_cast<std::size_t>(std::numeric_limits<int>::max()))
      throw Error(ErrorKind::unsupported,
                  "proxy: MPI cannot pack a buffered send of more than 2 GiB");
    for (MpiSlot& operation : operations) {
      operation.end = this;
      if (buffered()) operation.buffer = std::make_unique_for_overwrite<std::byte[]>(bytes);
      make_request(operation, memory_of(operation));
    }
  } catch (...) {
    free_requests();
    throw;
  }
}

// What MPI is given.
void* PairEnd::memory_of(const MpiSlot& operation) {
  if (buffered()) return operation.buffer.get();
  return elements.as_bytes() ? packed_.room() : buffer;
}

void PairEnd::make_request(MpiSlot& operation, void* from) {
  const MPI_Datatype type = elements.type();
  const int count = elements.count();
  MPI_Request* request = &operation.request;
  if (!sends()) {
    // With the receive's own type and count: MPI leaves what lies beyond a shorter message
    // untouched, gaps included.
    check_mpi(PMPI_Recv_init(from, count, type, peer, tag, communicator_, request),
              "MPI_Recv_init");
    return;
  }
  switch (mode) {
    case protocol::Mode::standard:
    case protocol::Mode::ready:
      // Not MPI_Rsend_init: the program's promise holds between streams. Whether the peer's
      // progress has already handed the receive to MPI is another matter.
      check_mpi(PMPI_Send_init(from, count, type, peer, tag, communicator_, request),
                "MPI_Send_init");
      return;
    case protocol::Mode::synchronous:
      check_mpi(PMPI_Ssend_init(from, count, type, peer, tag, communicator_, request),
                "MPI_Ssend_init");
      return;
    case protocol::Mode::buffered:
      // Synchronous, so that a library buffer is free when its message has been received, neither
      // earlier nor later.
      if (elements.as_bytes())
        check_mpi(PMPI_Ssend_init(from, count, type, peer, tag, communicator_, request),
                  "MPI_Ssend_init");
      else
        check_mpi(PMPI_Ssend_init(from, static_cast<int>(bytes), MPI_PACKED, peer, tag,
                                  communicator_, request),
                  "MPI_Ssend_init");
      return;
  }
}

std::optional<Error> PairEnd::fill(protocol::Epoch epoch) {
  MpiSlot& slot = operation(epoch);
  if (elements.as_bytes()) {
    packed_.pack(slot.buffer.get());
  } else {
    int position = 0;
    const int code = PMPI_Pack(buffer, elements.count(), elements.type(), slot.buffer.get(),
                               static_cast<int>(bytes), &position, communicator_);
    if (code != MPI_SUCCESS) return mpi_error("proxy: MPI_Pack", code);
  }
  slot.taken.store(true, std::memory_order_relaxed);  // published by trigger()
  return std::nullopt;
}

std::optional<Error> PairEnd::broken(protocol::Epoch epoch) const {
  // What the peer has done explains what MPI says.
  if (closed_before(epoch)) return plan::peer_closed_error(closed_reason_, peer);
  if (const Error* error = failure.get()) return *error;
  return std::nullopt;
}

std::string PairEnd::describe() const {
  const char* call = sends() ? "send" : "receive";
  const char* what = sends() && mode == protocol::Mode::synchronous
                         ? "waits for the receive to be started"
                     : sends() ? "waits for MPI to take the message"
                               : "waits for the message";
  return fmt::format("epoch {}, MPI {} {} rank {} with tag {}, {} complete, {}",
                     started.load(std::memory_order_acquire), call, sends() ? "to" : "from", peer,
                     tag, completed.load(std::memory_order_acquire), what);
}

std::string PairEnd::describe_given_up() const {
  if (sends())
    return fmt::format("given up; waits for rank {} to answer, as MPI still has the message", peer);
  return fmt::format("given up; waits for MPI to end what it has begun with rank {}", peer);
}

void PairEnd::peer_closed(const Notice& theirs) noexcept {
  if (closed.load(std::memory_order_relaxed) != 0) return;
  closed_reason_ = static_cast<ErrorKind>(theirs.reason);
  messages = theirs.messages;
  closed.store(theirs.closed, std::memory_order_release);
}

void PairEnd::free_requests() noexcept {
  for (MpiSlot& operation : operations)
    if (!operation.active && operation.request != MPI_REQUEST_NULL)
      PMPI_Request_free(&operation.request);
}

bool PairEnd::any_active() const noexcept {
  for (const MpiSlot& operation : operations)
    if (operation.active) return true;
  return false;
}

}  // namespace penstock::proxy
