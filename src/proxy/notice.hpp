// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "transport/message.hpp"

namespace penstock::proxy {

// What names one half of a pair in this process. `pair` is counted by the pair's receiver, or the
// window's target, and never used again; the tag may be.
struct EndKey {
  int peer = -1;
  std::uint64_t pair = 0;
  transport::Direction direction = transport::Direction::send;  // ours
  bool operator==(const EndKey&) const = default;
};

struct EndKeyHash {
  std::size_t operator()(const EndKey& key) const noexcept {
    const auto peer = static_cast<std::uint64_t>(static_cast<std::uint32_t>(key.peer));
    return static_cast<std::size_t>(
        ((peer << 40) ^ (key.pair << 1) ^ static_cast<std::uint64_t>(key.direction)) *
        0x9E3779B97F4A7C15u);
  }
};

// What the progress of one process tells that of another about a pair.
struct Notice {
  enum class NoticeKind : std::uint8_t {
    closed,        // "my half is gone": sent once by each half, and perhaps once more as an answer
    credit_query,  // of a buffered send: what the receiver has taken
    credits
  };

  std::uint64_t pair = 0;
  std::uint64_t closed = 0;  // first epoch that is not served any more
  // In `closed` of a sender, how many it has given to MPI: of a window's ends pages of an origin,
  // posts of a target. In `credits`, how many it took.
  std::uint64_t messages = 0;
  // Which half of the receiving process is meant.
  transport::Direction addressee = transport::Direction::send;
  std::uint8_t reason = 0;  // closed: base::ErrorKind: peer_freed, or what has failed
  NoticeKind kind = NoticeKind::closed;
  bool asks = false;     // in `closed` of a send that MPI still has: an answer is wanted
  bool answers = false;  // in `closed` of a receive that has heard the send's
  std::uint8_t unused[3] = {};
};
static_assert(sizeof(Notice) == 32);

// What names the pair in the handshake's answer.
struct AnswerRecord {
  std::uint64_t pair = 0;
  std::int32_t tag = -1;
};

}  // namespace penstock::proxy
