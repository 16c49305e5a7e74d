// SPDX-License-Identifier: Apache-2.0
// A message as a ring moves it: in words of eight bytes, of which the last may have fewer. How the
// buffer lies is known at match, so that a kernel has the code for its own buffer alone: more code
// takes time even where it is not run, as it has to come from memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "peer_gpu/batch.hpp"

namespace penstock::peer_gpu {

// words: without gaps, address and length are whole words. bytes: without gaps, any. rows: with
// gaps, all are whole words. half_rows: all are whole half words. any: bytes or half_rows, asked at
// each word.
enum class Fit { words, bytes, rows, half_rows, any };

// Of four bytes. Rows of shorter steps are not moved where they lie (shape.hpp).
inline constexpr std::size_t half_word = sizeof(std::uint32_t);

// What the kernel of a pair is made for. A message of no bytes has no word that could be loaded.
inline Fit fit_of(const Pair& pair) noexcept {
  const bool words =
      pair.bytes > 0 && alignment_of(pair.buffer, pair.bytes, pair.rows) % cell_payload == 0;
  if (pair.rows.has_gaps()) return words ? Fit::rows : Fit::half_rows;
  return words ? Fit::words : Fit::bytes;
}

PENSTOCK_HD inline bool is_whole_word(const std::byte* address, Word64 count) {
  return count >= cell_payload && reinterpret_cast<std::uintptr_t>(address) % cell_payload == 0;
}

// Without gaps; `count`: what there is from `from` on. Loops over a constant number are unrolled,
// so that no load waits for another.
PENSTOCK_HD inline Word64 load_bytes(const std::byte* from, Word64 count) {
  if (is_whole_word(from, count)) return *reinterpret_cast<const Word64*>(from);
  Word64 data = 0;
  for (unsigned i = 0; i < cell_payload; ++i)
    if (i < count) data |= static_cast<Word64>(from[i]) << (8 * i);
  return data;
}
PENSTOCK_HD inline void store_bytes(std::byte* to, Word64 count, Word64 data) {
  if (is_whole_word(to, count)) {
    *reinterpret_cast<Word64*>(to) = data;
    return;
  }
  for (unsigned i = 0; i < cell_payload; ++i)
    if (i < count) to[i] = static_cast<std::byte>(data >> (8 * i));
}

template <class Step>
PENSTOCK_HD inline Step& in_rows(const Pair& pair, Word64 position) {
  return *reinterpret_cast<Step*>(
      pair.buffer + datatype::offset_in(pair.rows, static_cast<std::uint32_t>(position)));
}

PENSTOCK_HD inline Word64 load_halves(const Pair& pair, Word64 position) {
  Word64 data = 0;
  for (unsigned i = 0; i < cell_payload; i += half_word)
    if (position + i < pair.bytes)
      data |= Word64{in_rows<std::uint32_t>(pair, position + i)} << (8 * i);
  return data;
}
PENSTOCK_HD inline void store_halves(const Pair& pair, Word64 position, Word64 data) {
  for (unsigned i = 0; i < cell_payload; i += half_word)
    if (position + i < pair.bytes)
      in_rows<std::uint32_t>(pair, position + i) = static_cast<std::uint32_t>(data >> (8 * i));
}

template <Fit fit>
PENSTOCK_HD inline Word64 load_word(const Pair& pair, Word64 position) {
  if constexpr (fit == Fit::words)
    return *reinterpret_cast<const Word64*>(pair.buffer + position);
  else if constexpr (fit == Fit::rows)
    return in_rows<Word64>(pair, position);
  else if (fit == Fit::half_rows || (fit == Fit::any && pair.rows.has_gaps()))
    return load_halves(pair, position);
  else
    return load_bytes(pair.buffer + position, pair.bytes - position);
}

template <Fit fit>
PENSTOCK_HD inline void store_word(const Pair& pair, Word64 position, Word64 data) {
  if constexpr (fit == Fit::words)
    *reinterpret_cast<Word64*>(pair.buffer + position) = data;
  else if constexpr (fit == Fit::rows)
    in_rows<Word64>(pair, position) = data;
  else if (fit == Fit::half_rows || (fit == Fit::any && pair.rows.has_gaps()))
    store_halves(pair, position, data);
  else
    store_bytes(pair.buffer + position, pair.bytes - position, data);
}

}  // namespace penstock::peer_gpu
