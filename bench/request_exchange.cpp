// SPDX-License-Identifier: Apache-2.0
#include "request_exchange.hpp"

#include <algorithm>

#include "rows.hpp"

namespace penstock::bench {
namespace {

decltype(&MPI_Isend) nonblocking_send(Mode mode, CallsOf calls) {
  if (calls == CallsOf::mpi)
    return mode == Mode::ready ? PMPI_Irsend : mode == Mode::synchronous ? PMPI_Issend : PMPI_Isend;
  return mode == Mode::ready ? MPI_Irsend : mode == Mode::synchronous ? MPI_Issend : MPI_Isend;
}

}  // namespace

MpiCalls::MpiCalls(std::span<const Message> messages, int tag) {
  for (const Message& message : messages) {
    const auto& [part, sends, bytes] = message;
    if (part.layout.has_gaps())
      requests_.add(sends ? rows_send_init(message, tag) : rows_recv_init(message, tag));
    else
      requests_.add(sends ? send_init(bytes, part.peer, tag + part.tag, MPI_COMM_WORLD, part.mode)
                          : recv_init(bytes, part.peer, tag + part.tag, MPI_COMM_WORLD));
  }
}

QueueCalls::QueueCalls(std::span<const Message> messages, int tag, QueueView queue)
    : MpiCalls(messages, tag), queue_(queue) {
  match(requests_);
}

NonblockingCalls::NonblockingCalls(std::span<const Message> messages, int tag, CallsOf calls)
    : MpiCalls({}, tag),
      calls_(calls),
      messages_(messages),
      tag_(tag),
      sends_(static_cast<std::size_t>(std::ranges::count(messages, true, &Message::sends))),
      send_(nonblocking_send(messages.front().part.mode, calls)),
      receive_(calls == CallsOf::mpi ? PMPI_Irecv : MPI_Irecv),
      open_(messages.size(), MPI_REQUEST_NULL) {}

bool can_enqueue(std::string& why_not) {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  if (level != MPI_THREAD_MULTIPLE) why_not = "it needs MPI_THREAD_MULTIPLE: --thread multiple";
  return level == MPI_THREAD_MULTIPLE;
}

// Receives first, where there are both: those behind the sends.
void EnqueuedCalls::start(Range range) {
  const std::span<const Message> some = messages_.subspan(range.first, range.count);
  for (auto each = some.rbegin(); each != some.rend(); ++each) {
    const int tag = tag_ + each->part.tag;
    if (each->sends)
      queue_.send(each->bytes, each->part.peer, tag, comm_);
    else
      queue_.receive(each->bytes, each->part.peer, tag, comm_);
  }
  queue_.trigger();
}

// Receives first, where there are both.
void NonblockingCalls::start(Range range) {
  const std::size_t end = range.first + range.count;
  const std::size_t middle = std::clamp(sends_, range.first, end);
  for (std::size_t i = middle; i < end; ++i)
    receive_(messages_[i].bytes.data(), static_cast<int>(messages_[i].bytes.size()), MPI_BYTE,
             messages_[i].part.peer, tag_ + messages_[i].part.tag, MPI_COMM_WORLD, &open_[i]);
  for (std::size_t i = range.first; i < middle; ++i)
    send_(messages_[i].bytes.data(), static_cast<int>(messages_[i].bytes.size()), MPI_BYTE,
          messages_[i].part.peer, tag_ + messages_[i].part.tag, MPI_COMM_WORLD, &open_[i]);
}

void NonblockingCalls::wait(Range range) {
  const std::span<MPI_Request> some = std::span(open_).subspan(range.first, range.count);
  if (calls_ == CallsOf::program) return wait_for(some);
  PMPI_Waitall(static_cast<int>(some.size()), some.data(), MPI_STATUSES_IGNORE);
}

void NonblockingCalls::test() {
  const auto test_all = calls_ == CallsOf::mpi ? PMPI_Testall : MPI_Testall;
  int all = 0;
  test_all(static_cast<int>(open_.size()), open_.data(), &all, MPI_STATUSES_IGNORE);
}

}  // namespace penstock::bench
