// SPDX-License-Identifier: Apache-2.0
// Who gets the provider's entries for deferred operations, which are few. A client stands in line
// once, with its next start; when that has been posted it goes to the end, if it has another one.
// So no client takes all entries from others, whatever has been enqueued for it. A start that comes
// before its turn is carried out without entries.
//
// One thread at a time is in here.
#pragma once

#include <cstdint>

#include "base/settings.hpp"
#include "ofi/engine_client.hpp"
#include "ofi/statistics.hpp"

namespace penstock::ofi {

class DeferredQueue {
 public:
  using Policy = base::Throttle;

  DeferredQueue(Policy policy, unsigned limit) : policy_(policy), limit_(limit) {}

  // Puts the client in line with its next start. Does nothing if it stands in line already, or if
  // the start could never be posted.
  void join(EngineClient& client) noexcept;
  void leave(EngineClient& client) noexcept;
  // A start of this client has been carried out without entries.
  void overtaken(EngineClient& client) noexcept;
  bool empty() const noexcept { return first_ == nullptr; }

  // Posts the start of the first in line, or lets it go if it has none now, and returns that
  // client. Returns null if there is none, or no room for it.
  EngineClient* post_next() noexcept;
  void completed(unsigned entries) noexcept;  // of posted starts
  void reclaim() noexcept;                    // PST_Queue_wait
  const Statistics& statistics() const noexcept { return statistics_; }

 private:
  bool room(unsigned entries) noexcept;
  void take_first() noexcept;
  void count(const EngineClient& client) noexcept;

  const Policy policy_;
  const unsigned limit_;
  EngineClient* first_ = nullptr;
  EngineClient* last_ = nullptr;
  std::uint64_t tickets_ = 0;
  std::uint64_t refused_ = 0;  // tickets up to this one have found no room
  bool filling_ = true;        // static: the present batch is not closed
  unsigned reclaimable_ = 0;   // application: completed since the last PST_Queue_wait
  Statistics statistics_;
};

}  // namespace penstock::ofi
