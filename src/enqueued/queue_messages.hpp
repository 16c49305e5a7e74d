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
#include <unordered_map>

#include "base/error.hpp"
#include "base/free_list.hpp"
#include "core/queue.hpp"
#include "core/stream_operation.hpp"
#include "enqueued/bundle_list.hpp"
#include "enqueued/envelope.hpp"
#include "enqueued/message.hpp"
#include "enqueued/message_request.hpp"
#include "enqueued/staging.hpp"
#include "enqueued/words.hpp"
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
  // `staging`: null on host streams. Throws base::Error, std::bad_alloc.
  QueueMessages(MessageEngine& engine, core::Queue& queue, std::unique_ptr<Staging> staging);
  ~QueueMessages() override;  // the stream has run dry

  // ---- The program's calls; they throw base::Error, and then have enqueued nothing.
  void enqueue(const MessageCall& call, MPI_Request* request);
  void trigger();
  void set_comm(MPI_Comm comm);  // for calls that name none
  MPI_Comm comm_of(const MessageCall& call) const;

  void queue_has_failed(const base::Error& error) noexcept override { end_open(error); }
  void refuse_free() const override;
  std::string describe(bool waits) const override;
  // ---- The plan's
  std::string describe_wait() const;
  static const char* advice() noexcept {
    return "see that the peer sends or receives what is enqueued here";
  }
  // The messages of the open bundle, until publish().
  const Bundle& open_bundle() noexcept { return bundles_.open(); }
  // What is open is the engine's when the stream has triggered it. `behind`: see Bundle.
  void publish(std::optional<std::uint64_t> behind = std::nullopt) noexcept;
  QueueWords& words() noexcept { return words_; }
  // All waits that a GPU's stream makes without a kernel, until the engine tells what is complete.
  void let_waits_pass() noexcept;
  base::Error why_failed() const;  // the queue's error
  // The engine hands over nothing more.
  bool broken() const noexcept { return broken_.load(std::memory_order_acquire); }

 private:
  friend class MessageEngine;

  const std::shared_ptr<group::Communicator>& communicator_of(MPI_Comm comm);
  void check(const MessageCall& call);
  Envelope* envelope_of(const MessageCall& call);
  void number_messages();
  EnqueuedMessage& new_message(const MessageCall& call, MPI_Comm comm);
  std::optional<std::size_t> element_of(MPI_Datatype type);
  static void take_type(EnqueuedMessage& message, MPI_Datatype type,
                        std::optional<std::size_t> element);
  static void duplicate_type(EnqueuedMessage& message, MPI_Datatype type);
  static void find_bytes(EnqueuedMessage& message, MPI_Datatype type);
  void warn_of_many_requests();
  void discard(EnqueuedMessage& message) noexcept;
  void end_open(const base::Error& error) noexcept;
  void drop_if_broken() noexcept;

  MessageEngine& engine_;
  core::Queue& queue_;
  const std::unique_ptr<Staging> staging_;               // null: on a host stream
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
  // Of all promised communicators that this queue has used since one was freed.
  std::uint64_t known_ended_ = 0;
  std::unordered_map<EnvelopeKey, Envelope*, HashEnvelope> known_envelopes_;
  bool open_numbers_ = false;  // messages of the open bundle await their numbers

  BundleList bundles_;

  QueueWords own_words_{};
  QueueWords& words_;
  std::atomic<std::uint64_t> published_{0};  // bundles that the stream has triggered or will

  // Under the engine's lock.
  plan::ActiveList<EnqueuedMessage> active_;
  plan::ActiveList<EnqueuedMessage> in_lines_;  // of their envelopes
  std::size_t moving_ = 0;         // of both, how many hold their bundles and have not arrived
  std::size_t program_looks_ = 0;  // of these, how many a thread of the program looks for
  std::uint64_t issued_ = 0;       // bundles, dropped ones too
  bool issuing_ = false;           // one is being handed over
  std::optional<base::Error> broken_by_;  // why nothing is handed to MPI any more
  std::atomic<bool> broken_{false};       // it is set: for threads without the lock
  std::atomic<bool> watched_{false};      // the engine's thread will look for triggers
};

}  // namespace penstock::enqueued
