// SPDX-License-Identifier: Apache-2.0
#include "peer_gpu/shape.hpp"

#include <algorithm>

#include "datatype/rows_of.hpp"

#include "peer_gpu/kernels.hpp"
#include "peer_gpu/message_words.hpp"

namespace penstock::peer_gpu {

namespace {

constexpr std::uint64_t cells_a_block = 256;
constexpr std::uint64_t wide_lines_a_block = 32;
constexpr std::uint64_t bytes_a_part = 16 * 1024;
// Of kernels that wait: their blocks keep their places while they do, and starts of other streams
// must find room beside them.
constexpr unsigned most_waiting = 16;
constexpr unsigned most_waiting_in_rings = 32;  // smaller ones

// What a rendezvous may move is packed where its rows are shorter, or allow no steps as wide: moved
// where they lie they took up to 1.6 times as long (docs/results/datatypes.md).
constexpr std::uint32_t least_row_of_rendezvous = 128;
constexpr std::uint32_t step_of_rendezvous = 16;

// Whole warps, a thread a cell if there are as many.
std::uint16_t threads_for(std::uint64_t cells) noexcept {
  return static_cast<std::uint16_t>(
      std::clamp<std::uint64_t>((cells + 31) / 32 * 32, 32, most_threads));
}

KernelShape shape_of(const Pair& pair, unsigned most_blocks) noexcept {
  if (pair.path == Path::rendezvous)
    return {static_cast<std::uint16_t>(std::min<unsigned>(pair.parts, std::max(most_blocks, 1u))),
            most_threads};
  const std::uint64_t cells = pair.share * (pair.path == Path::ring ? 1 : wide_cells);
  return {static_cast<std::uint16_t>(std::min<unsigned>(pair.parts, std::max(most_blocks, 1u))),
          threads_for(cells)};
}

}  // namespace

std::optional<Rows> rows_in_place(const transport::Message& message, std::uint64_t bytes,
                                  std::uint64_t eager_max) {
  // A ring has a word for a message of no bytes too, and rows have no end that it could be behind.
  if (!message.has_gaps() || bytes == 0) return Rows{};
  const auto rows = datatype::rows_of(*message.segments());
  if (!rows) return {};
  const bool may_be_rendezvous = bytes > eager_max;
  const std::size_t step = may_be_rendezvous ? step_of_rendezvous : half_word;
  if (alignment_of(message.buffer, bytes, *rows) % step != 0) return {};
  if (may_be_rendezvous && rows->bytes < least_row_of_rendezvous) return {};
  return rows;
}

std::uint16_t parts_for(Path path, std::uint64_t bytes, unsigned most_blocks) noexcept {
  const bool ring = is_ring(path);
  const std::uint64_t work = ring ? units_for(path, bytes) : bytes;
  const std::uint64_t share = !ring                ? bytes_a_part
                              : path == Path::ring ? cells_a_block
                                                   : wide_lines_a_block;
  const std::uint64_t most =
      std::clamp(path == Path::ring ? most_blocks / 2 : most_blocks, 1u, most_parts);
  return static_cast<std::uint16_t>(std::clamp<std::uint64_t>((work + share - 1) / share, 1, most));
}

std::uint64_t share_of(Path path, std::uint64_t bytes, unsigned parts) noexcept {
  if (is_ring(path)) return (units_for(path, bytes) + parts - 1) / parts;
  return ((bytes + parts - 1) / parts + device_line - 1) / device_line * device_line;
}

KernelShape shape_of_start(const Pair& pair, unsigned most_blocks) noexcept {
  // A receive, or a target, only says that it is there.
  return pair.sends ? shape_of(pair, most_blocks) : KernelShape{};
}

KernelShape shape_of_complete(std::uint64_t bytes, unsigned most_blocks) noexcept {
  const std::uint64_t most = std::clamp(most_blocks, 1u, most_window_parts);
  const auto blocks = std::clamp<std::uint64_t>((bytes + bytes_a_part - 1) / bytes_a_part, 1, most);
  return {static_cast<std::uint16_t>(blocks), threads_for(bytes / sizeof(Cell))};
}

KernelShape shape_of_slot(std::uint64_t cells) noexcept {
  return {1, threads_for(cells)};
}

KernelShape shape_of_wait(const Pair& pair, unsigned most_blocks) noexcept {
  if (pair.path == Path::window) return shape_of_slot(pair.units);  // an origin's: by its list
  if (is_ring(pair.path) && pair.sends) return {};                  // looks at one word
  return shape_of(pair,
                  std::min(most_blocks, is_ring(pair.path) ? most_waiting_in_rings : most_waiting));
}

}  // namespace penstock::peer_gpu
