// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "protocol/epoch.hpp"

namespace penstock::ofi {

// Whether a half still starts epochs: its worker begins them, and its engine refuses them once the
// peer is gone. Each of the two stores and then looks at what the other has stored. All of that is
// sequentially consistent, so that at least one of them sees the other: a start that the engine has
// missed sees that it is refused (tests/protocol/giving_up_test, StartsDoNotSeeTheRefusal and
// TheRefusalDoesNotSeeStarts).
class StartWord {
 public:
  // The worker's. False: starts are refused.
  [[nodiscard]] bool begin(protocol::Epoch epoch) noexcept {
    beginning_.store(epoch, std::memory_order_seq_cst);
    return !refused_.load(std::memory_order_seq_cst);
  }
  // The doorbell of that epoch has been rung. Release: who sees this sees the doorbell, and what
  // the buffer holds.
  void begun(protocol::Epoch epoch) noexcept { started_.store(epoch, std::memory_order_release); }

  // The engine's. No start begins behind this. False: one is just beginning.
  bool refuse() noexcept {
    refused_.store(true, std::memory_order_seq_cst);
    const protocol::Epoch last = started();
    return beginning_.load(std::memory_order_seq_cst) <= last;
  }

  protocol::Epoch started() const noexcept { return started_.load(std::memory_order_acquire); }

 private:
  std::atomic<protocol::Epoch> started_{0};
  std::atomic<protocol::Epoch> beginning_{0};  // the worker's last start, before it has begun
  std::atomic<bool> refused_{false};
};

}  // namespace penstock::ofi
