// SPDX-License-Identifier: Apache-2.0
// Who gets the provider's entries for deferred operations, which are few. A half of a pair stands
// in line once, with its next start; when that has been posted it goes to the end, if it has
// another one. So nobody takes all entries from others, whatever has been enqueued for it. A start
// that comes before its turn is carried out without entries.
//
// One thread at a time is in here.
#pragma once

#include <cstdint>

#include "base/settings.hpp"
#include "ofi/statistics.hpp"

namespace penstock::ofi {

class DeferredQueue {
 public:
  using Policy = base::Throttle;

  // What stands in line must derive from this.
  class Candidate {
    friend class DeferredQueue;
    Candidate* behind_ = nullptr;
    std::uint64_t ticket_ = 0;  // of its next start; 0: it does not stand in line
  };

  // Who knows what a start consists of.
  class Poster {
   public:
    virtual ~Poster() = default;
    // That the next start of this half takes; 0: it has none that can be posted now.
    virtual unsigned entries_for(const Candidate& half) noexcept = 0;
    // Posts it. Entries taken; fewer: the provider has no more.
    virtual unsigned post(Candidate& half) noexcept = 0;
  };

  DeferredQueue(Policy policy, unsigned limit) : policy_(policy), limit_(limit) {}

  // Its next start takes so many entries. Does nothing if it stands in line already, or if that
  // could never be posted.
  void join(Candidate& half, unsigned entries) noexcept;
  void leave(Candidate& half) noexcept;
  // A start of this half has been carried out without entries.
  void overtaken(Candidate& half) noexcept;
  bool empty() const noexcept { return first_ == nullptr; }

  // true: something has been posted, or has left the line.
  bool post(Poster& poster) noexcept;
  void completed(unsigned entries) noexcept;  // of posted starts
  void reclaim() noexcept;                    // PST_Queue_wait
  const Statistics& statistics() const noexcept { return statistics_; }

 private:
  bool room(unsigned entries) noexcept;
  Candidate& take_first() noexcept;
  void count(const Candidate& half) noexcept;

  const Policy policy_;
  const unsigned limit_;
  Candidate* first_ = nullptr;
  Candidate* last_ = nullptr;
  std::uint64_t tickets_ = 0;
  std::uint64_t refused_ = 0;  // tickets up to this one have found no room
  bool filling_ = true;        // static: the present batch is not closed
  unsigned reclaimable_ = 0;   // application: completed since the last PST_Queue_wait
  Statistics statistics_;
};

}  // namespace penstock::ofi
