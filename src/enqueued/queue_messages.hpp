// SPDX-License-Identifier: Apache-2.0
// The enqueued messages of one queue, triggered or not, and the words between its stream and the
// engine.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "base/free_list.hpp"
#include "core/queue.hpp"
#include "core/stream_operation.hpp"
#include "enqueued/bundle_list.hpp"
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
  // Throws base::Error, std::bad_alloc.
  QueueMessages(MessageEngine& engine, core::Queue& queue);
  ~QueueMessages() override;  // the stream has run dry

  // ---- The program's calls; they throw base::Error, and then have enqueued nothing.
  void enqueue(const MessageCall& call, MPI_Request* request);
  void trigger();
  void set_comm(MPI_Comm comm);  // for calls that name none

  void queue_has_failed(const base::Error& error) noexcept override { end_open(error); }
  void refuse_free() const override;
  std::string describe(bool waits) const override;

 private:
  friend class MessageEngine;
  friend class MessagePlan;

  MPI_Comm comm_of(const MessageCall& call) const;
  const std::shared_ptr<group::Communicator>& communicator_of(MPI_Comm comm);
  void check(const MessageCall& call);
  EnqueuedMessage& new_message(const MessageCall& call, MPI_Comm comm);
  void take_type(EnqueuedMessage& message, MPI_Datatype type);
  static void duplicate_type(EnqueuedMessage& message, MPI_Datatype type);
  void warn_of_many_requests();
  void discard(EnqueuedMessage& message) noexcept;
  void publish() noexcept;
  void end_open(const base::Error& error) noexcept;
  void drop_if_broken() noexcept;

  MessageEngine& engine_;
  core::Queue& queue_;
  std::shared_ptr<const group::Communicator> own_comm_;  // for calls that name none; may be null
  std::unique_ptr<core::StreamOperation> operation_;

  // The program's calls.
  base::FreeList<EnqueuedMessage> pool_;
  std::size_t room_ = 0;  // how many of them the engine can have under way
  base::FreeList<MessageRequest> requests_;
  std::atomic<std::size_t> open_messages_{0};  // enqueued and not triggered
  // The last communicator, and how many peers it has.
  std::shared_ptr<group::Communicator> known_comm_;
  int known_peers_ = 0;
  MPI_Datatype known_named_ = MPI_DATATYPE_NULL;  // the last of MPI's own, which are never freed
  std::size_t known_bytes_ = 0;
  bool told_many_ = false;  // that requests are never completed

  BundleList bundles_;

  // Bundles that the stream has triggered; release: the program's buffers before MPI fetches them.
  alignas(64) std::atomic<std::uint64_t> triggered_{0};
  // How many of these have ended. It moves only when none of them is under way; release: received
  // data.
  alignas(64) std::atomic<std::uint64_t> completed_{0};

  // Under the engine's lock.
  plan::ActiveList<EnqueuedMessage> active_;
  std::uint64_t issued_ = 0;              // bundles
  bool issuing_ = false;                  // one is being handed over
  std::optional<base::Error> broken_by_;  // why nothing is handed to MPI any more
  std::atomic<bool> broken_{false};       // it is set: for threads without the lock
};

}  // namespace penstock::enqueued
