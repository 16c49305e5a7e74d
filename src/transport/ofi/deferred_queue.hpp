// SPDX-License-Identifier: Apache-2.0
// Starts that have been enqueued and whose deferred operations wait for entries of the provider, which are few. The
// enqueueing threads only write them down; whoever makes progress posts them, as the policy says. A start that comes
// before its turn is carried out without entries, and the queue passes over it.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/settings.hpp"
#include "device/host/command_store.hpp"
#include "protocol/epoch.hpp"
#include "transport/ofi/statistics.hpp"

namespace penstock::transport::ofi {

class DeferredQueue {
 public:
  using Policy = base::Throttle;

  struct Start {
    void* half = nullptr;
    protocol::Epoch epoch = 0;
  };

  // Who knows what a start consists of.
  class Poster {
   public:
    virtual ~Poster() = default;
    virtual unsigned entries_for(const Start& start) noexcept = 0;  // 0: there is nothing to post any more
    virtual unsigned post(const Start& start) noexcept = 0;         // entries taken; fewer: the provider has no more
    virtual void passed(const Start& start) noexcept = 0;           // the queue is done with it, posted or not
  };

  DeferredQueue(Policy policy, unsigned limit) : policy_(policy), limit_(limit) {}

  // Any thread. Takes no lock and allocates only when it grows; then it may throw base::Error(resources).
  void add(const Start& start);
  // After the starts that this thread has added. Sequentially consistent, for threads that announce their sleep.
  bool empty() const noexcept { return added_.load(std::memory_order_seq_cst) == passed_; }

  // One thread at a time.
  bool post(Poster& poster) noexcept;         // true: something has been posted or passed over
  void completed(unsigned entries) noexcept;  // of posted starts
  void reclaim() noexcept;                    // PST_Queue_wait
  const Statistics& statistics() const noexcept { return statistics_; }

 private:
  bool take_head() noexcept;
  bool room(unsigned entries) noexcept;
  void pass_head(Poster& poster) noexcept;

  const Policy policy_;
  const unsigned limit_;
  device::host::CommandStore store_;
  std::atomic<std::uint64_t> added_{0};

  std::uint64_t passed_ = 0;
  Start head_;
  bool has_head_ = false;
  bool filling_ = true;               // static: the present batch is not closed
  unsigned reclaimable_ = 0;          // application: completed since the last PST_Queue_wait
  std::uint64_t waiting_before_ = 0;  // starts up to this number have found no room
  Statistics statistics_;
};

}  // namespace penstock::transport::ofi
