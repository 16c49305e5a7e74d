// SPDX-License-Identifier: Apache-2.0
// Moves libfabric along. One pass posts deferred operations, rings doorbells, lets the provider
// make progress and looks at what is under way; whoever gets the progress lock runs it: the
// progress thread, or the worker of a stream that has just started something or waits for it.
// Lending a hand saves the hand-over between two threads.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/settings.hpp"
#include "group/world.hpp"
#include "ofi/deferred_queue.hpp"
#include "ofi/fabric.hpp"
#include "ofi/gpu_memory.hpp"
#include "ofi/pair_end.hpp"
#include "plan/engine_plan.hpp"
#include "plan/progress_thread.hpp"

namespace penstock::ofi {

class OfiEngine final : private plan::ProgressThread::ProgressWork, private DeferredQueue::Poster {
 public:
  struct OfiOptions {
    unsigned slots;
    std::size_t eager_max;
    bool check_ready;
    std::chrono::microseconds spin;
    std::chrono::milliseconds timeout;  // 0: none
    base::Throttle throttle;
    unsigned entries;
    std::optional<std::uint64_t> counter_limit;  // empty: what the counters can hold
  };

  OfiEngine(const OfiOptions& options, group::World& world,
            FabricInfo provider);  // throws base::Error
  ~OfiEngine() override;  // inside MPI_Finalize: delivers what is owed, then waits for the others

  const std::string& provider() const noexcept { return fabric_.provider(); }
  std::vector<std::byte> name() const { return fabric_.name(); }
  bool takes_gpu_memory() const noexcept { return ofi::takes_gpu_memory(fabric_.info()); }
  const std::string& calls_gpu_runtime() const noexcept { return fabric_.calls_gpu_runtime(); }
  void add_peer(int rank, std::span<const std::byte> name);  // throws base::Error

  // ---- At match; throw base::Error
  MessageShape shape_for(const transport::Message& send) const;
  std::shared_ptr<PairEnd> add(const transport::Message& message, protocol::Mode send_mode,
                               const MessageShape& shape);
  void enroll(const std::shared_ptr<PairEnd>& end) noexcept;  // it is complete
  // Its owner has no use for it any more.
  void destroy(std::shared_ptr<PairEnd>& end) noexcept;

  // ---- Where starts are enqueued
  void arm(PairEnd& end) noexcept;  // one more start will come
  void reclaim() noexcept;          // PST_Queue_wait has ended

  // ---- On a stream's worker
  void mark_ready(PairEnd& end) noexcept;  // after a word of it has been written
  void poll(PairEnd& end) noexcept;        // a pass, if the progress lock is free
  void leave() noexcept;                   // after a wait: from now on the thread looks
  // Several passes, whatever the others do; before bad news is believed.
  void poll_until_sure(PairEnd& end) noexcept;
  // Whether that epoch's buffer is free, as far as this process knows. Asks the receiver's memory,
  // at first; later calls find its answer, which takes the network alone and no act of any program.
  plan::BufferState find_buffer(PairEnd& end, protocol::Epoch epoch, bool& asked) noexcept;
  // A message that has not been asked for is here.
  bool arrived(PairEnd& end, protocol::Epoch epoch) noexcept;
  // This half is gone: tells the peer.
  void close(PairEnd& end, protocol::Epoch closed) noexcept;
  // The same, and gives it up.
  void poison(PairEnd& end, protocol::Epoch closed, base::ErrorKind reason) noexcept;

  bool check_ready() const noexcept { return options_.check_ready; }
  std::chrono::milliseconds timeout() const noexcept { return options_.timeout; }
  bool dead(int rank) const noexcept { return world_.dead(rank).load(std::memory_order_acquire); }
  Statistics statistics() const noexcept;

 private:
  plan::ProgressThread::Outcome advance() noexcept override;
  bool nothing_to_do(bool listening) noexcept override;
  unsigned entries_for(const DeferredQueue::Candidate& half) noexcept override;
  unsigned post(DeferredQueue::Candidate& half) noexcept override;

  template <class Act>
  void try_progress(Act act) noexcept;
  bool take_ready() noexcept;
  bool pass(PairEnd* favourite) noexcept;
  bool move(PairEnd& end) noexcept;
  bool move_some(const PairEnd* moved) noexcept;
  bool take_completions() noexcept;
  void take_failure() noexcept;
  void list(PairEnd& end) noexcept;
  void unlist(PairEnd& end) noexcept;
  void destroy_one_closed() noexcept;
  void forget(PairEnd& end) noexcept;
  void wake_if_asleep() noexcept;
  bool has_work() const noexcept;  // under the lock
  void wake_if_needed() noexcept;
  void deliver() noexcept;
  bool part() noexcept;
  void say_farewell() noexcept;
  bool owes_messages() const noexcept;

  const OfiOptions options_;
  group::World& world_;
  mutable std::mutex progress_lock_;  // taken by try_lock on workers' usual paths; guards all below
  Fabric fabric_;
  WordPool words_;
  OperationPool operations_;
  std::vector<fi_addr_t> addresses_;  // by world rank
  Common common_;
  WordPool::Position constants_;
  plan::ReadyList<PairEnd> ready_;
  DeferredQueue deferred_;
  std::vector<std::shared_ptr<PairEnd>> ends_;
  std::size_t promised_ = 0;       // ends added and not enrolled yet
  std::vector<PairEnd*> active_;   // has room for all
  std::vector<PairEnd*> leaving_;  // released; has room for all
  std::size_t cursor_ = 0;         // where the next pass goes on
  std::size_t leaving_cursor_ = 0;
  std::uint64_t taken_over_ = 0;
  std::atomic<bool> worker_polls_{false};  // a worker waits, and has polled since the thread asked
  plan::ProgressThread thread_;
};

}  // namespace penstock::ofi
