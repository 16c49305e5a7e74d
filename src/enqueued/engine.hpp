// SPDX-License-Identifier: Apache-2.0
// Hands triggered messages to MPI and moves them along. A worker that waits does that itself; the
// thread serves what no worker waits for, and any thread of the program's that completes requests
// helps.
#pragma once

#include <mpi.h>

#include "enqueued/message.hpp"
#include "enqueued/queue_messages.hpp"
#include "plan/active_list.hpp"
#include "plan/progress_engine.hpp"

namespace penstock::enqueued {

class MessageEngine final : public plan::ProgressEngine<QueueMessages> {
 public:
  MessageEngine(const plan::ProgressOptions& options, group::World& world);
  ~MessageEngine() override;  // no queue has messages any more

  // A queue's messages join, room for one more message is made, and all of that goes. The first
  // two throw base::Error, std::bad_alloc.
  void add(QueueMessages& messages);
  void make_room(QueueMessages& messages);
  void remove(QueueMessages& messages) noexcept;

  // What has been triggered and not handed to MPI ends with the error; receives that no message has
  // come for do, too. What MPI is about to move goes on.
  void give_up(QueueMessages& messages, const base::Error& error) noexcept;
  // Of what has been given up: MPI writes into no buffer.
  bool untouched(const QueueMessages& messages) const noexcept;
  // Why what the queue waits for cannot come, if it is seen: a process has ended.
  std::optional<base::Error> hopeless(QueueMessages& messages);
  // "receive from rank 1 (tag 7, MPI_COMM_WORLD) and 3 more": what MPI has of it.
  std::string describe(const QueueMessages& messages) const;
  // One pass, unless another thread makes one.
  void drive() noexcept;

 private:
  bool take_ready() noexcept override;
  bool pass(QueueMessages* favourite) noexcept override;
  bool under_way() const noexcept override { return !active_.empty(); }
  bool thread_helps() const noexcept override { return large_.expected(); }
  bool must_listen() const noexcept override { return false; }
  bool owes_messages() const noexcept override { return false; }
  bool owes_notices() const noexcept override { return false; }

  void post(QueueMessages& messages) noexcept;
  void post(QueueMessages& messages, EnqueuedMessage& message) noexcept;
  void activate(EnqueuedMessage& message) noexcept;
  void deactivate(EnqueuedMessage& message) noexcept;
  bool test(EnqueuedMessage& message) noexcept;
  bool test_some(QueueMessages& messages) noexcept;
  void settle(QueueMessages& messages) noexcept;
  static void end(EnqueuedMessage& message, const MPI_Status& status,
                  const base::Error* error) noexcept;
  void drop_bundles(QueueMessages& messages, const base::Error& error) noexcept;

  // Queues that have messages under way. A pass beside a favourite's looks at few of them.
  plan::ActiveList<QueueMessages> active_{4};
  std::size_t queues_ = 0;
  plan::LargeMessages large_;
};

}  // namespace penstock::enqueued
