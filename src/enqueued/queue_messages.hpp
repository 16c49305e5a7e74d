// SPDX-License-Identifier: Apache-2.0
// What a queue has of enqueued messages: those that are not triggered yet, those that are, and the
// words between the stream and the engine.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/free_list.hpp"
#include "core/queue.hpp"
#include "core/stream_operation.hpp"
#include "enqueued/message.hpp"
#include "enqueued/message_request.hpp"
#include "plan/active_list.hpp"
#include "plan/ready_list.hpp"

namespace penstock::enqueued {

class MessageEngine;

// A send's or receive's arguments, as the call has them.
struct MessageCall {
  transport::Direction direction;
  void* buffer;
  int count;
  MPI_Datatype type;
  int peer;
  int tag;
  MPI_Comm comm;  // MPI_COMM_NULL: the queue's own
};

class QueueMessages final : public core::QueueCompanion,
                            public plan::ReadyItem<QueueMessages>,
                            public plan::ActiveItem {
 public:
  // `comm` may be MPI_COMM_NULL. Throws base::Error, std::bad_alloc.
  QueueMessages(std::shared_ptr<MessageEngine> engine, core::Queue& queue, MPI_Comm comm);
  ~QueueMessages() override;  // the stream has run dry

  // ---- The program's calls; they throw base::Error, and then have enqueued nothing.
  void enqueue(const MessageCall& call, MPI_Request* request);
  void trigger();
  MPI_Comm comm() const noexcept { return comm_; }
  void set_comm(MPI_Comm comm) noexcept { comm_ = comm; }

  void refuse_free() const override;
  std::string describe() const override;

 private:
  friend class MessageEngine;
  friend class MessagePlan;

  const std::shared_ptr<group::Communicator>& communicator_of(MPI_Comm comm);
  void check(const MessageCall& call);
  void take_type(EnqueuedMessage& message, MPI_Datatype type);
  void discard(EnqueuedMessage& message) noexcept;
  void publish();
  void end_open(const base::Error& error) noexcept;
  void end_if_failed();
  Bundle* take_bundle() noexcept;

  const std::shared_ptr<MessageEngine> engine_;
  core::Queue& queue_;
  MPI_Comm comm_;
  std::unique_ptr<core::StreamOperation> operation_;

  // The program's calls.
  base::FreeList<EnqueuedMessage> pool_;
  base::FreeList<MessageRequest> requests_;
  base::FreeList<Bundle> bundles_;
  Bundle* open_ = nullptr;   // takes what is enqueued
  Bundle* spare_ = nullptr;  // the next one
  std::atomic<std::size_t> open_messages_{0};
  // The last communicator, and how many peers it has.
  std::shared_ptr<group::Communicator> known_comm_;
  int known_peers_ = 0;
  bool told_many_ = false;                        // that requests are never completed
  MPI_Datatype known_named_ = MPI_DATATYPE_NULL;  // the last of MPI's own, which are never freed
  std::size_t known_bytes_ = 0;

  // From the calls to the engine: bundles in the order of their triggers. The one that was taken
  // last stays until the next one is.
  Bundle* newest_ = nullptr;  // the calls' own
  Bundle* taken_ = nullptr;   // the engine's own

  // Bundles that the stream has triggered; release: the program's buffers before MPI fetches them.
  alignas(64) std::atomic<std::uint64_t> triggered_{0};
  // Of these how many have ended, when nothing of them is under way; release: received data.
  alignas(64) std::atomic<std::uint64_t> completed_{0};

  // Under the engine's lock.
  plan::ActiveList<EnqueuedMessage> active_;
  std::uint64_t posted_ = 0;
  bool broken_ = false;  // nothing is handed to MPI any more
};

}  // namespace penstock::enqueued
