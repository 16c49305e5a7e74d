// SPDX-License-Identifier: Apache-2.0
// A message as a ring moves it: in words of eight bytes, of which the last may have fewer. How the
// buffer lies is known at match, so that a kernel has the code for its own buffer alone: more code
// takes time even where it is not run, as it has to come from memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "datatype/rows.hpp"
#include "gpu/words.hpp"

namespace penstock::peer_gpu {

using gpu::Word64, gpu::cell_payload;

// A Message has buffer, bytes, and rows.
//
// words: without gaps, address and length are whole words. bytes: without gaps, any. rows: with
// gaps, all are whole words. half_rows: all are whole half words. any: bytes or half_rows, asked at
// each word.
enum class Fit { words, bytes, rows, half_rows, any };

// Of four bytes. Rows of shorter steps are not moved where they lie (shape.hpp).
inline constexpr std::size_t half_word = sizeof(std::uint32_t);

// What the kernel of a pair is made for. A message of no bytes has no word that could be loaded.
template <class Message>
Fit fit_of(const Message& message) noexcept {
  const bool words =
      message.bytes > 0 &&
      datatype::alignment_of(message.buffer, message.bytes, message.rows) % cell_payload == 0;
  if (message.rows.has_gaps()) return words ? Fit::rows : Fit::half_rows;
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

template <class Step, class Message>
PENSTOCK_HD inline Step& in_rows(const Message& message, Word64 position) {
  return *reinterpret_cast<Step*>(
      message.buffer + datatype::offset_in(message.rows, static_cast<std::uint32_t>(position)));
}

template <class Message>
PENSTOCK_HD inline Word64 load_halves(const Message& message, Word64 position) {
  Word64 data = 0;
  for (unsigned i = 0; i < cell_payload; i += half_word)
    if (position + i < message.bytes)
      data |= Word64{in_rows<std::uint32_t>(message, position + i)} << (8 * i);
  return data;
}
template <class Message>
PENSTOCK_HD inline void store_halves(const Message& message, Word64 position, Word64 data) {
  for (unsigned i = 0; i < cell_payload; i += half_word)
    if (position + i < message.bytes)
      in_rows<std::uint32_t>(message, position + i) = static_cast<std::uint32_t>(data >> (8 * i));
}

template <Fit fit, class Message>
PENSTOCK_HD inline Word64 load_word(const Message& message, Word64 position) {
  if constexpr (fit == Fit::words)
    return *reinterpret_cast<const Word64*>(message.buffer + position);
  else if constexpr (fit == Fit::rows)
    return in_rows<Word64>(message, position);
  else if (fit == Fit::half_rows || (fit == Fit::any && message.rows.has_gaps()))
    return load_halves(message, position);
  else
    return load_bytes(message.buffer + position, message.bytes - position);
}

template <Fit fit, class Message>
PENSTOCK_HD inline void store_word(const Message& message, Word64 position, Word64 data) {
  if constexpr (fit == Fit::words)
    *reinterpret_cast<Word64*>(message.buffer + position) = data;
  else if constexpr (fit == Fit::rows)
    in_rows<Word64>(message, position) = data;
  else if (fit == Fit::half_rows || (fit == Fit::any && message.rows.has_gaps()))
    store_halves(message, position, data);
  else
    store_bytes(message.buffer + position, message.bytes - position, data);
}

}  // namespace penstock::peer_gpu
