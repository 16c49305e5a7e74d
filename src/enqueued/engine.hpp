// SPDX-License-Identifier: Apache-2.0
// Hands triggered messages to MPI and moves them along. A worker that waits does that itself; the
// thread serves what no worker waits for, and any thread of the program's that completes requests
// helps.
#pragma once

#include <mpi.h>

#include <atomic>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "enqueued/message.hpp"
#include "enqueued/queue_messages.hpp"
#include "plan/active_list.hpp"
#include "plan/large_messages.hpp"
#include "plan/progress_engine.hpp"

namespace penstock::enqueued {

class MessageEngine final : public plan::ProgressEngine<QueueMessages> {
 public:
  MessageEngine(const plan::ProgressOptions& options, group::World& world);
  ~MessageEngine() override;
  void stop() noexcept { stop_thread(); }  // the thread; no queue is made any more

  // ---- Calls of the program
  void add_queue(QueueMessages& messages);  // throws base::Error, std::bad_alloc
  // Makes room for so many messages under way. Throws std::bad_alloc.
  void make_room(QueueMessages& messages, std::size_t most);
  // The queue goes: all its messages end.
  void remove_queue(QueueMessages& messages, const base::Error& why) noexcept;
  Envelope& envelope(const EnvelopeKey& key);                   // throws as Promise::envelope()
  void end_promise(std::unique_ptr<Promise> promise) noexcept;  // nothing of it is under way
  LaneMemoryPlace& lane_memory() noexcept { return lane_memory_; }
  // Whoever remembers envelopes forgets them when this has changed.
  std::uint64_t ended_promises() const noexcept {
    return ended_promises_.load(std::memory_order_acquire);
  }
  // A lane for a receive of the bundle, and all others of its envelope. Throws
  // base::Error(resources), std::bad_alloc.
  void make_lane(const EnqueuedMessage& receive, const Bundle& bundle);
  void drop(QueueMessages& messages) noexcept;  // the bundles of a queue that is broken
  // A GPU's stream will trigger one more bundle, and tell no thread. `quiet`: nobody waits for what
  // becomes of it here.
  void expect_trigger(QueueMessages& messages, bool quiet) noexcept;
  // Takes note of all that streams of GPUs have done. False: a queue has failed, and its stream may
  // still run kernels that use lanes.
  bool catch_up() noexcept;
  // One pass, unless another thread makes one; and copies a message that has arrived in pinned
  // memory to the program's buffer, where no wait of a stream does.
  void drive() noexcept;
  // "receive from rank 1 (tag 7, MPI_COMM_WORLD, 8 bytes) and 3 more": what MPI has of it; "" for
  // nothing. Any thread.
  std::string describe(const QueueMessages& messages) const;
  std::uint64_t issued(const QueueMessages& messages) const;  // bundles. Any thread

  // ---- On a stream's worker, or for a GPU's stream
  // Ends with the error what has not been handed to MPI, and receives that no message has come for.
  // MPI finishes what it has begun.
  void give_up(QueueMessages& messages, const base::Error& error) noexcept;
  // The error of a wait's kernel that has found one (QueueWords::too_long).
  base::Error too_long_for_kernel(QueueMessages& messages) noexcept;
  // After that: MPI writes into none of the buffers. It may still read those of sends.
  bool untouched(const QueueMessages& messages) const noexcept;

 private:
  bool take_ready() noexcept override;
  bool pass(QueueMessages* favourite) noexcept override;
  bool under_way() const noexcept override {
    return under_way_ > 0 || expected_.load(std::memory_order_seq_cst) > 0;
  }
  int passes_at_once() const noexcept override { return large_.passes_at_once(); }
  // What has been given up may last for ever: it is looked at now and then.
  bool must_listen() const noexcept override { return !active_.empty(); }
  bool owes_messages() const noexcept override { return false; }
  bool owes_notices() const noexcept override { return false; }

  bool look_at(QueueMessages& messages) noexcept;
  bool issue(QueueMessages& messages) noexcept;
  void issue(QueueMessages& messages, EnqueuedMessage& message) noexcept;
  void count_issued(QueueMessages& messages, const Bundle& bundle) noexcept;
  static bool next_is_triggered(const QueueMessages& messages) noexcept;
  static int start_by_mpi(EnqueuedMessage& message, int tag, MPI_Comm comm) noexcept;
  void end_call(EnqueuedMessage& message, int code) noexcept;
  void activate(EnqueuedMessage& message) noexcept;
  void deactivate(EnqueuedMessage& message) noexcept;
  bool test(EnqueuedMessage& message) noexcept;
  // What has become of a message that is over, or in pinned memory: `received` bytes of a receive.
  void finish(EnqueuedMessage& message, const MPI_Status& status, std::size_t received,
              const base::Error* error) noexcept;
  void arrive(EnqueuedMessage& message, const MPI_Status& status) noexcept;
  bool test_arrived(EnqueuedMessage& message) noexcept;
  void begin_moving(EnqueuedMessage& message) noexcept;
  void end_moving(EnqueuedMessage& message) noexcept;
  void begin_under_way(const EnqueuedMessage& message) noexcept;
  void end_under_way(const EnqueuedMessage& message) noexcept;
  void catch_up_with(QueueMessages& messages) noexcept;
  void watch(QueueMessages& messages) noexcept;
  void look_for_program(EnqueuedMessage& message, std::unique_lock<std::mutex>& lock) noexcept;
  void copy_for_program(EnqueuedMessage& message, std::unique_lock<std::mutex>& lock) noexcept;
  void end_arrived(EnqueuedMessage& message, const std::optional<base::Error>& error) noexcept;
  void finish_copy(EnqueuedMessage& message, const std::optional<base::Error>& error) noexcept;
  bool test_some(QueueMessages& messages) noexcept;
  void settle(QueueMessages& messages) noexcept;
  void complete_bundles(QueueMessages& messages) noexcept;
  static bool has_messages(const QueueMessages& messages) noexcept {
    return !messages.active_.empty() || !messages.in_lines_.empty();
  }
  static bool awaits_trigger(const QueueMessages& messages) noexcept;
  void end(EnqueuedMessage& message, const MPI_Status& status, const base::Error* error) noexcept;

  // ---- engine_promised.cpp
  void begin_promised(EnqueuedMessage& message) noexcept;
  void rouse(EnqueuedMessage& message) noexcept;
  static bool is_held(const EnqueuedMessage& message) noexcept;
  void leave_line(EnqueuedMessage& message) noexcept;
  void go_on_by_mpi(EnqueuedMessage& message) noexcept;
  static void leave_envelope(EnqueuedMessage& message) noexcept;
  void fail_behind(const Envelope& envelope) noexcept;
  bool advance_line(Envelope& envelope) noexcept;
  bool try_promised(EnqueuedMessage& message) noexcept;
  void hand_over(EnqueuedMessage& message) noexcept;
  bool send_by_lane(EnqueuedMessage& message) noexcept;
  bool receive_by_lane(EnqueuedMessage& message) noexcept;
  bool end_taken(EnqueuedMessage& message) noexcept;
  static void note_taken(EnqueuedMessage& message) noexcept;
  bool receive_from_device(EnqueuedMessage& message) noexcept;
  static bool lies_in_lane(const EnqueuedMessage& message) noexcept;  // without the lock, too
  void take_from_device(EnqueuedMessage& message, DeviceLanes& lanes, std::size_t bytes);
  void receive_from_mpi(EnqueuedMessage& message, std::size_t bytes, int tag) noexcept;
  bool end_too_long(EnqueuedMessage& message) noexcept;
  void finish_promised(EnqueuedMessage& message, std::size_t bytes,
                       const base::Error* error) noexcept;
  void fail_message(EnqueuedMessage& message, const base::Error& error) noexcept;

  // ---- engine_failure.cpp
  void fail(QueueMessages& messages, const base::Error& error) noexcept;
  static base::Error mpi_failure(const EnqueuedMessage& message, int code) noexcept;
  static void stop(QueueMessages& messages, const base::Error& why) noexcept;
  void give_up_rest(QueueMessages& messages) noexcept;
  void give_up(EnqueuedMessage& message, const base::Error& error) noexcept;
  void give_up_arrived(EnqueuedMessage& message, const base::Error& error) noexcept;
  void drop_bundles(QueueMessages& messages, const base::Error& error) noexcept;
  void look_for_dead_peers() noexcept;
  void fail_if_lost(QueueMessages& messages) noexcept;
  const EnqueuedMessage* find_lost(const QueueMessages& messages) const noexcept;
  static bool has_come(const EnqueuedMessage& message) noexcept;
  bool is_dead(const EnqueuedMessage& message) const noexcept;
  bool only_reads(const QueueMessages& messages) const noexcept;

  // Queues that have messages under way, or whose GPU's stream will trigger some. A pass beside a
  // favourite's looks at few of them.
  plan::ActiveList<QueueMessages> active_{4};
  plan::ActiveList<Envelope> envelopes_;  // that have messages in their lines
  std::size_t envelopes_made_ = 0;
  LaneMemoryPlace lane_memory_;
  std::atomic<std::uint64_t> ended_promises_{0};
  std::atomic<std::size_t> expected_{0};    // bundles that streams of GPUs will trigger
  std::atomic<std::size_t> arrived_{0};     // messages whose buffers do not have them yet
  bool program_drives_ = false;             // a thread of the program makes the pass
  EnqueuedMessage* to_copy_ = nullptr;      // what it copies next
  EnqueuedMessage* to_look_for_ = nullptr;  // or asks a device for
  std::uint64_t looks_ = 0;                 // for such messages
  unsigned came_to_engine_ = 0;             // receives that kernels look for, by lanes of the host
  std::vector<QueueMessages*> queues_;
  std::size_t under_way_ = 0;  // messages that MPI has and that are not given up
  plan::LargeMessages large_;  // of these
  unsigned passes_ = 0;
};

}  // namespace penstock::enqueued
