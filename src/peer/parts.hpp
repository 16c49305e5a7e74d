// SPDX-License-Identifier: Apache-2.0
// A message that two processors copy together is cut into parts. One word says which are left:
// those from `first` on, up to but without `end`, of one epoch. Both sides change it by
// compare-and-swap only, so each part is taken once.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "protocol/epoch.hpp"

namespace penstock::peer {

// The word, with so many bits for `first` and for `end` each; the epoch has the others. (The
// explorer's words are short.)
template <unsigned field>
struct PartsWord {
  static constexpr std::uint64_t mask = (std::uint64_t{1} << field) - 1;

  static std::uint64_t all(protocol::Epoch epoch, std::uint32_t count) noexcept {
    return (epoch << (2 * field)) | count;
  }
  static bool of(std::uint64_t left, protocol::Epoch epoch) noexcept {
    return left >> (2 * field) == (epoch << (2 * field)) >> (2 * field);
  }
  static std::uint64_t first(std::uint64_t left) noexcept { return (left >> field) & mask; }
  static std::uint64_t end(std::uint64_t left) noexcept { return left & mask; }
  static std::uint64_t last(std::uint64_t left) noexcept { return end(left) - 1; }
  static bool none(std::uint64_t left) noexcept { return first(left) >= end(left); }
  static std::uint64_t without_first(std::uint64_t left) noexcept {
    return left + (std::uint64_t{1} << field);
  }
  static std::uint64_t without_last(std::uint64_t left) noexcept { return left - 1; }

  // Release: the data in the send buffer, or the receive buffer's earlier use, comes before the
  // other side's part. W: std::atomic_ref, or the explorer's model of one.
  template <class W>
  static void offer(W word, protocol::Epoch epoch, std::uint32_t count) noexcept {
    word.store(all(epoch, count), std::memory_order_release);
  }
  template <class W>
  static bool offered(W word, protocol::Epoch epoch) noexcept {
    const std::uint64_t left = word.load(std::memory_order_acquire);
    return of(left, epoch) && !none(left);
  }

  // Takes parts while there are any: from the front as the sender, from the back as the receiver.
  // None is taken once a copy of this side has failed. Returns how many this side has taken.
  template <protocol::Side side, class W, class Copy, class Failed>
  static std::uint32_t take(W word, Copy copy, Failed failed) noexcept {
    constexpr bool from_front = side == protocol::Side::sender;
    std::uint64_t left = word.load(std::memory_order_acquire);
    std::uint32_t taken = 0;
    while (!none(left) && !failed()) {
      const std::uint64_t rest = from_front ? without_first(left) : without_last(left);
      if (!word.compare_exchange_weak(left, rest, std::memory_order_acq_rel)) continue;
      copy(from_front ? first(left) : last(left));
      left = word.load(std::memory_order_acquire);
      ++taken;
    }
    return taken;
  }

  // By the receiver, of parts that it has offered: takes what is left, and copies nothing. Returns
  // whether the sender has taken one, from the front.
  template <class W>
  static bool refuse(W word, protocol::Epoch epoch) noexcept {
    if (!of(word.load(std::memory_order_acquire), epoch)) return false;
    take<protocol::Side::receiver>(
        word, [](std::uint64_t) {}, [] { return false; });
    return first(word.load(std::memory_order_acquire)) > 0;
  }
};

// How a message is cut.
struct Parts : PartsWord<4> {
  static constexpr std::size_t most = 8;
  static_assert(most <= mask);

  std::size_t bytes;  // of each part but the last, a multiple of a page
  std::uint32_t count;

  Parts(std::size_t message, std::uint32_t parts) noexcept : bytes(message), count(parts) {
    constexpr std::size_t page = 4096;
    if (parts > 1) bytes = (message / parts / page + 1) * page;
  }

  // Into how many parts a message is best cut (docs/performance.md). It is cut in two from the size
  // on at which the other side notices before the copy is over, which is earlier where the kernel
  // copies. It is cut in more only while each is still large.
  static std::uint32_t best_count(std::size_t message, bool kernel_copies) noexcept {
    constexpr std::size_t kib = 1024, large = 64 * kib;
    if (message < (kernel_copies ? 16 * kib : 64 * kib)) return 1;
    return static_cast<std::uint32_t>(std::clamp<std::size_t>(message / large, 2, most));
  }
};

}  // namespace penstock::peer
