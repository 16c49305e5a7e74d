// SPDX-License-Identifier: Apache-2.0
// How many threads and blocks serve a pair, and where they move its messages. The limits are
// measured (docs/performance.md).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "peer_gpu/batch.hpp"
#include "transport/message.hpp"

namespace penstock::peer_gpu {

struct KernelShape {
  std::uint16_t blocks = 1;
  std::uint16_t threads = 32;
};

// How kernels find a message of so many bytes where it lies; nothing: it is packed beside its
// buffer, or unpacked from there.
std::optional<Rows> rows_in_place(const transport::Message& message, std::uint64_t bytes,
                                  std::uint64_t eager_max);

// Into how many parts a message is cut: the same number at both ends, so the receiver says it.
std::uint16_t parts_for(Path path, std::uint64_t bytes, unsigned most_blocks) noexcept;
// How much of a message each part has, in bytes, or in units of a ring.
std::uint64_t share_of(Path path, std::uint64_t bytes, unsigned parts) noexcept;

// `most_blocks` bounds kernels that only start.
KernelShape shape_of_start(const Pair& pair, unsigned most_blocks) noexcept;
KernelShape shape_of_wait(const Pair& pair, unsigned most_blocks) noexcept;
// An origin's kernel that moves so many bytes, a part for each of its blocks.
KernelShape shape_of_complete(std::uint64_t bytes, unsigned most_blocks) noexcept;
// One that fills a slot, or takes it out.
KernelShape shape_of_slot(std::uint64_t cells) noexcept;

// Shares the blocks of a kernel out among those of its pairs that `counts` says, as each wants
// them: together no more than `most`, or one each. The blocks of all these.
template <class Item, class Counts>
unsigned share_out(std::span<Item> pairs, unsigned most, Counts counts) noexcept {
  unsigned sharers = 0;
  unsigned wanted = 0;
  for (const Item& pair : pairs) {
    if (!counts(pair)) continue;
    ++sharers;
    wanted += pair.blocks;
  }
  if (wanted <= most) return wanted;
  const unsigned spare = most > sharers ? most - sharers : 0;
  unsigned given = 0;
  for (Item& pair : pairs) {
    if (!counts(pair)) continue;
    if (wanted > sharers)
      pair.blocks = static_cast<std::uint16_t>(1 + (pair.blocks - 1) * spare / (wanted - sharers));
    given += pair.blocks;
  }
  return given;
}

}  // namespace penstock::peer_gpu
