// SPDX-License-Identifier: Apache-2.0
// A message as a ring moves it: in words of eight bytes, of which the last may have fewer. How the
// buffer lies is known at match, so that a kernel has the code for its own buffer alone: more code
// takes time even where it is not run, as it has to come from memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "peer_gpu/batch.hpp"

namespace penstock::peer_gpu {

// words: without gaps, all words are whole and aligned. bytes: without gaps. rows: with gaps, in
// pieces of at least four bytes (see in_pieces). any: one of the two before.
enum class Fit { words, bytes, rows, any };

inline constexpr std::size_t least_piece = sizeof(std::uint32_t);

// Whether rows of a message can be moved where they lie.
PENSTOCK_HD inline bool in_pieces(const std::byte* buffer, Word64 bytes, const Rows& rows,
                                  std::size_t piece) {
  return (reinterpret_cast<std::uintptr_t>(buffer) | bytes | rows.bytes | rows.stride) % piece == 0;
}

PENSTOCK_HD inline bool is_whole_word(const std::byte* address, Word64 count) {
  return count >= cell_payload && reinterpret_cast<std::uintptr_t>(address) % cell_payload == 0;
}

PENSTOCK_HD inline std::byte* in_rows(const Pair& pair, Word64 position) {
  return pair.buffer + datatype::place_in(pair.rows, static_cast<std::uint32_t>(position)).offset;
}

// Without gaps; `count`: what there is from `from` on.
PENSTOCK_HD inline Word64 load_together(const std::byte* from, Word64 count) {
  if (is_whole_word(from, count)) return *reinterpret_cast<const Word64*>(from);
  Word64 data = 0;
  for (unsigned i = 0; i < cell_payload; ++i)  // unrolled, so that no load waits for another
    if (i < count) data |= static_cast<Word64>(from[i]) << (8 * i);
  return data;
}
PENSTOCK_HD inline void store_together(std::byte* to, Word64 count, Word64 data) {
  if (is_whole_word(to, count)) {
    *reinterpret_cast<Word64*>(to) = data;
    return;
  }
  for (unsigned i = 0; i < cell_payload; ++i)
    if (i < count) to[i] = static_cast<std::byte>(data >> (8 * i));
}

PENSTOCK_HD inline Word64 load_rows(const Pair& pair, Word64 position) {
  const std::byte* const from = in_rows(pair, position);
  if (in_pieces(pair.buffer, pair.bytes, pair.rows, cell_payload))
    return *reinterpret_cast<const Word64*>(from);
  Word64 data = *reinterpret_cast<const std::uint32_t*>(from);
  if (position + least_piece < pair.bytes)
    data |= Word64{*reinterpret_cast<const std::uint32_t*>(in_rows(pair, position + least_piece))}
            << 32;
  return data;
}
PENSTOCK_HD inline void store_rows(const Pair& pair, Word64 position, Word64 data) {
  std::byte* const to = in_rows(pair, position);
  if (in_pieces(pair.buffer, pair.bytes, pair.rows, cell_payload)) {
    *reinterpret_cast<Word64*>(to) = data;
    return;
  }
  *reinterpret_cast<std::uint32_t*>(to) = static_cast<std::uint32_t>(data);
  if (position + least_piece < pair.bytes)
    *reinterpret_cast<std::uint32_t*>(in_rows(pair, position + least_piece)) =
        static_cast<std::uint32_t>(data >> 32);
}

template <Fit fit>
PENSTOCK_HD inline Word64 load_word(const Pair& pair, Word64 position) {
  if constexpr (fit == Fit::words)
    return *reinterpret_cast<const Word64*>(pair.buffer + position);
  else if (fit == Fit::rows || (fit == Fit::any && pair.rows.has_gaps()))
    return load_rows(pair, position);
  else
    return load_together(pair.buffer + position, pair.bytes - position);
}

template <Fit fit>
PENSTOCK_HD inline void store_word(const Pair& pair, Word64 position, Word64 data) {
  if constexpr (fit == Fit::words)
    *reinterpret_cast<Word64*>(pair.buffer + position) = data;
  else if (fit == Fit::rows || (fit == Fit::any && pair.rows.has_gaps()))
    store_rows(pair, position, data);
  else
    store_together(pair.buffer + position, pair.bytes - position, data);
}

}  // namespace penstock::peer_gpu
