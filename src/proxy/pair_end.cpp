// SPDX-License-Identifier: Apache-2.0
#include "proxy/pair_end.hpp"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <utility>

#include "proxy/engine.hpp"
#include "proxy/mpi_call.hpp"
#include "proxy/tags.hpp"

namespace penstock::proxy {

using base::Error;
using base::ErrorKind;

PairEnd::PairEnd(const transport::Message& message, protocol::Mode send_mode,
                 const AnswerRecord& name, unsigned slots, MPI_Comm communicator)
    : End({message.peer, name.pair, message.direction}, name.tag,
          message.direction == transport::Direction::send && send_mode == protocol::Mode::buffered
              ? slots
              : 1),
      mode(send_mode),
      buffer(message.buffer),
      memory(message.memory),
      bytes(message.bytes),
      elements(message),
      communicator_(communicator),
      packed_(message, message.bytes) {
  try {
    if (buffered() && !elements.as_bytes() &&
        bytes > static_cast<std::size_t>(std::numeric_limits<int>::max()))
      throw Error(ErrorKind::unsupported,
                  "proxy: MPI cannot pack a buffered send of more than 2 GiB");
    for (MpiSlot& operation : operations) {
      operation.bytes = bytes;
      operation.receives = !sends();
      operation.lasts = buffered();
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

void PairEnd::issue(ProxyEngine& engine) noexcept {
  const protocol::Epoch wanted = started.load(std::memory_order_acquire);
  while (issued < wanted && !poisoned && !closed_before(issued + 1)) {
    MpiSlot& slot = operation(issued + 1);
    if (const int code = PMPI_Start(&slot.request); code != MPI_SUCCESS)
      return fail("proxy: MPI_Start", code);
    slot.epoch = sent = ++issued;
    engine.begin(slot);
  }
}

void PairEnd::ended(MpiSlot& slot, ProxyEngine& engine) noexcept {
  if (buffered()) return slot.taken.store(false, std::memory_order_release);
  // A sender that PENSTOCK_TIMEOUT has let go may have overwritten what MPI fetched. Its notice
  // left before that, over the same communicator, so it is looked for before the message counts.
  if (!sends() && !closing) engine.take_notices();
  completed.store(slot.epoch, std::memory_order_release);
}

// A tag is used again when every message that was sent under it has been received.
void PairEnd::give_back(Tags& tags) noexcept {
  const bool all_received = messages == completed.load(std::memory_order_relaxed);
  if (!sends() && all_received) tags.give_back(peer, tag);
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

}  // namespace penstock::proxy
