// SPDX-License-Identifier: Apache-2.0
// What the provider has been given of one end of a pair ahead of its doorbells, in the order of the
// epochs.
#pragma once

#include <cstdint>
#include <utility>

#include "ofi/deferred_work.hpp"
#include "protocol/epoch.hpp"

namespace penstock::ofi {

// How much of an epoch the provider has.
struct PostedPart {
  bool signal = false;
  bool addition = false;  // to a word of the peer's
  unsigned parts = 0;
};

class PostedAhead {
 public:
  protocol::Epoch epoch = 0;    // the last one that has been posted or passed over
  PostedPart part;              // of that epoch
  std::uint64_t signals = 0;    // posted since the counters went back last
  std::uint64_t additions = 0;  // the same

  bool empty() const noexcept { return first_ == nullptr; }
  RdmaOperation* first() const noexcept { return first_; }
  void push(RdmaOperation& operation) noexcept {
    (last_ ? last_->next : first_) = &operation;
    last_ = &operation;
  }
  RdmaOperation& pop() noexcept {
    RdmaOperation& operation = *std::exchange(first_, first_->next);
    if (first_ == nullptr) last_ = nullptr;
    return operation;
  }

 private:
  RdmaOperation* first_ = nullptr;
  RdmaOperation* last_ = nullptr;
};

}  // namespace penstock::ofi
