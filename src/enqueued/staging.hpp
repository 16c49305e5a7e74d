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
class StagedPieces;
struct Bundle;
struct EnqueuedMessage;
struct LaneMemoryPlace;

class Staging {
 public:
  virtual ~Staging() = default;
  virtual QueueWords& words() noexcept = 0;
  virtual StagedPieces& pieces() noexcept = 0;
  // Made once, for the queue's messages.
  virtual std::unique_ptr<transport::Plan> make_plan(QueueMessages& messages,
                                                     MessageEngine& engine) = 0;
  // A call of the program's: where MPI is to find the message, or to leave it, and of what type it
  // is there. `element`: the bytes of a datatype of MPI's own; nothing: the type is derived, or has
  // gaps. False: MPI takes the program's own buffer. Throws base::Error.
  virtual bool stage(EnqueuedMessage& message, MPI_Datatype type,
                     std::optional<std::size_t> element) = 0;
  // At the trigger of the bundle, once its messages have their numbers: which of them kernels move,
  // by a lane of their envelope, and whether they are quiet. Throws std::bad_alloc.
  virtual void choose_lanes(Bundle& bundle) = 0;
  // What messages of the open bundle lie in is there until its trigger. Here that has come, or a
  // call has been refused.
  virtual void forget_allocations() noexcept = 0;
  // The queue has failed, and MPI may still be at its messages: the memory is not used again.
  virtual void keep_memory() noexcept = 0;

  // ---- Any thread
  // Where the stream has run dry, the words say so.
  virtual void note_what_has_run() noexcept = 0;
  // Nothing of the stream's is running.
  virtual bool has_run_dry() const noexcept = 0;
  // Without the engine's lock, of a message that was given to the program (StagedPieces).
  virtual std::optional<base::Error> copy_for_program(EnqueuedMessage& message) noexcept = 0;
};

// Throws base::Error. The place of lanes' memory stays.
std::unique_ptr<Staging> make_staging(core::Queue& queue, std::shared_ptr<gpu::Gpus> gpus,
                                      const base::Settings& settings, LaneMemoryPlace& lane_memory);

}  // namespace penstock::enqueued
