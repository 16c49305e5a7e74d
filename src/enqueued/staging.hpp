// SPDX-License-Identifier: Apache-2.0
// Where MPI finds the messages of a queue over a stream of a GPU. Those in the GPU's memory lie in
// pinned memory meanwhile: the stream copies sends there before their trigger, and receives from
// there behind its wait. Where a program completes a receive's request and has enqueued no wait,
// its own thread copies.
#pragma once

#include <mpi.h>

#include <memory>
#include <optional>

#include "base/error.hpp"
#include "base/settings.hpp"
#include "core/queue.hpp"
#include "enqueued/words.hpp"
#include "transport/plan.hpp"

namespace penstock::gpu {
class Gpus;
}

namespace penstock::enqueued {

class MessageEngine;
class QueueMessages;
struct Bundle;
struct EnqueuedMessage;

class Staging {
 public:
  virtual ~Staging() = default;
  virtual QueueWords& words() noexcept = 0;
  // Made once, for the queue's messages.
  virtual std::unique_ptr<transport::Plan> make_plan(QueueMessages& messages,
                                                     MessageEngine& engine) = 0;
  // A call of the program's: where MPI is to find the message, or to leave it, and of what type it
  // is there. `element`: the bytes of a datatype of MPI's own; nothing: the type is derived, or has
  // gaps. False: MPI takes the program's own buffer. Throws base::Error.
  virtual bool stage(EnqueuedMessage& message, MPI_Datatype type,
                     std::optional<std::size_t> element) = 0;
  // At the trigger of the bundle, once its messages have their numbers: which of them kernels move,
  // by a lane of their envelope. Throws std::bad_alloc.
  virtual void choose_lanes(const Bundle& bundle) = 0;
  // A message as long as this one may come by a lane.
  virtual bool fits_lanes(const EnqueuedMessage& message) const noexcept = 0;
  // What messages of the open bundle lie in is there until its trigger. Here that has come, or a
  // call has been refused.
  virtual void forget_allocations() noexcept = 0;
  // The queue has failed, and MPI may still be at its messages: the memory is not used again.
  virtual void keep_memory() noexcept = 0;

  // A kernel that copies could not be launched, or none will run any more: nothing will be copied
  // by the stream.
  virtual void stream_has_ended() noexcept = 0;

  // ---- By the engine under its lock, of messages that have been staged
  // MPI has received so many bytes of it. Before that is told to the stream.
  virtual void set_received(EnqueuedMessage& message, std::size_t bytes) noexcept = 0;
  // Where the stream has run dry, the words say so. Any thread.
  virtual void note_what_has_run() noexcept = 0;
  // Nothing of the stream's is running. Any thread.
  virtual bool has_run_dry() const noexcept = 0;
  // Of a send: its kernel has found no slot.
  virtual bool is_left_to_engine(const EnqueuedMessage& message) const noexcept = 0;
  // The stream has copied what came to the program's buffer.
  virtual bool stream_has_copied(const EnqueuedMessage& message) const noexcept = 0;
  // After a failure: whether the stream may copy it still, or be at it.
  virtual bool stream_may_copy(const EnqueuedMessage& message) const noexcept = 0;
  // Of a receive that kernels look for, without the lock, too: whether it lies in a lane.
  virtual bool lies_in_lane(const EnqueuedMessage& message) const noexcept = 0;
  // No wait of the stream is enqueued for it, and no thread of the program has it.
  virtual bool is_for_anybody(const EnqueuedMessage& message) const noexcept = 0;
  // Whether the caller is to copy it, with copy_for_program(), as no wait of the stream has been
  // enqueued that would. True once.
  virtual bool give_to_program(EnqueuedMessage& message) noexcept = 0;
  virtual void program_has_copied() noexcept = 0;
  virtual bool program_copies() const noexcept = 0;  // some message of the queue's
  // ---- Without the lock
  virtual std::optional<base::Error> copy_for_program(EnqueuedMessage& message) noexcept = 0;
  virtual void end(EnqueuedMessage& message) noexcept = 0;  // the last call of the message's
};

// Throws base::Error.
std::unique_ptr<Staging> make_staging(core::Queue& queue, std::shared_ptr<gpu::Gpus> gpus,
                                      const base::Settings& settings);

}  // namespace penstock::enqueued
