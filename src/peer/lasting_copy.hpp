// SPDX-License-Identifier: Apache-2.0
// A copy by the peer into a buffer that has been given up here: it cannot be called back, and is
// waited for while the peer lives, but for PENSTOCK_TIMEOUT at most.
#pragma once

#include <atomic>
#include <chrono>
#include <string>

#include "base/elapsed.hpp"

namespace penstock::peer {

class LastingCopy {
 public:
  // `timeout`: 0: never.
  LastingCopy(int peer, const std::atomic<bool>& peer_dead,
              std::chrono::milliseconds timeout) noexcept
      : peer_(peer), peer_dead_(peer_dead), timeout_(timeout) {}

  // While it is not over: whether it is waited for no more. Says so in the log, of `label`, where
  // time has ended it. One thread at a time.
  bool is_left_to_peer(const std::string& label) noexcept;

 private:
  const int peer_;
  const std::atomic<bool>& peer_dead_;
  const std::chrono::milliseconds timeout_;
  base::Elapsed lasts_;
  bool left_ = false;
};

}  // namespace penstock::peer
