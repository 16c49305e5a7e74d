// SPDX-License-Identifier: Apache-2.0
// A send or receive that a queue's trigger lets go; MPI matches it, or, where both ends promise,
// they count it.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "base/free_list.hpp"
#include "datatype/segments.hpp"
#include "group/communicator.hpp"
#include "plan/active_list.hpp"
#include "transport/message.hpp"

namespace penstock::group {
class MpiLayout;
}

namespace penstock::enqueued {

struct EnqueuedMessage;
struct Envelope;
struct MessageRequest;
struct StagedMessage;
class QueueMessages;

// What there is of a message where both ends have promised to enqueue.
struct PromisedMessage {
  Envelope* envelope = nullptr;                        // null: MPI matches it
  std::uint64_t number = 0;                            // in the envelope, from its trigger on
  std::byte* lowest = nullptr;                         // of its bytes
  std::shared_ptr<const datatype::Segments> segments;  // null: it has no gaps
  // `by_kernel`: kernels move it; a send only if a trigger's kernel finds its slot free, a receive
  // only if its sender did. `quiet`: besides, the program has no request for it, so nobody waits
  // for what the engine knows.
  bool by_kernel = false;
  bool quiet = false;
  std::uint64_t looked_for = 0;  // in a lane, by the program's threads: which look was the last
  bool gone = false;             // sent, or received: its number is not lost with it
  // In its envelope's line, until a slot or MPI has it.
  bool in_line = false;
  EnqueuedMessage* before = nullptr;
  EnqueuedMessage* after = nullptr;
  // A message that the receive cannot hold, on its way, and how long it is.
  std::unique_ptr<std::byte[]> too_long;
  std::size_t too_long_bytes = 0;
};

struct EnqueuedMessage : plan::ActiveItem, base::FreeItem<EnqueuedMessage> {
  transport::Direction direction = transport::Direction::send;
  void* buffer = nullptr;  // MPI's: the program's, or where it is staged
  int count = 0;
  std::size_t bytes = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  bool owns_type = false;  // a duplicate of the program's
  int peer = MPI_PROC_NULL;
  int tag = 0;
  MPI_Comm comm = MPI_COMM_NULL;
  std::shared_ptr<group::Communicator> communicator;
  MessageRequest* request = nullptr;  // the program's, if it asked for one
  QueueMessages* owner = nullptr;
  StagedMessage* staged = nullptr;  // its buffer is in memory of a GPU
  PromisedMessage promised;
  MPI_Request mpi = MPI_REQUEST_NULL;  // under way
  bool given_up = false;               // under way, and its result is wanted no more
  bool arrived = false;                // MPI is done with it, and its buffer does not have it yet
  bool with_program = false;           // arrived, and a thread of the program's copies it
  MPI_Status status{};                 // of one that has arrived
  EnqueuedMessage* next = nullptr;     // in its bundle

  // Whether its bundle waits for the engine to be done with it. A receive that kernels look for
  // holds no bundle: the wait's kernel itself knows when it has come.
  bool holds_bundle() const noexcept { return sends() || !promised.by_kernel; }
  bool sends() const noexcept { return direction == transport::Direction::send; }
  // "receive from rank 1 (tag 7, MPI_COMM_WORLD, 4096 bytes)". May throw for want of memory.
  std::string label() const;
};

// Where the first of its bytes lies, of a datatype with that layout.
std::byte* lowest_of(const EnqueuedMessage& message, const group::MpiLayout& layout) noexcept;
// Throws base::Error where the layout does not tell what the message's bytes are.
void require_described(const EnqueuedMessage& message, const group::MpiLayout& layout);
// Of a receive whose message has so many bytes, more than it holds.
base::Error too_long_error(const EnqueuedMessage& receive, std::size_t bytes) noexcept;

}  // namespace penstock::enqueued
