// SPDX-License-Identifier: Apache-2.0
// What a queue over a stream of a GPU does besides: messages in the GPU's memory travel through
// pinned memory. The stream copies what it sends there before its trigger, and what came from there
// behind its wait. Where the program completes a receive's request without a wait of the stream,
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
  // The queue has failed, and MPI may still be at its messages: the memory is not used again.
  virtual void keep_memory() noexcept = 0;

  // ---- By the engine, of messages that have been staged
  // What came is in the program's buffer.
  virtual bool taken(const EnqueuedMessage& message) const noexcept = 0;
  // Whether the caller is to copy what came, with take(), as no wait of the stream has been
  // enqueued that would. True once.
  virtual bool claim(EnqueuedMessage& message) noexcept = 0;
  virtual std::optional<base::Error> take(EnqueuedMessage& message) noexcept = 0;
  virtual void end(EnqueuedMessage& message) noexcept = 0;  // the last call of the message's
};

// Throws base::Error.
std::unique_ptr<Staging> make_staging(core::Queue& queue, std::shared_ptr<gpu::Gpus> gpus,
                                      const base::Settings& settings);

}  // namespace penstock::enqueued
