// SPDX-License-Identifier: Apache-2.0
// HEAD of a window's slot: a line of eight cells, which eight threads store at once.
//   cell 0              how many cells of data the slot holds behind it | parts << 16 | puts
//   cells 1 + 2i, 2 + 2i   where put i goes in the target's window | its bytes
// A direct epoch has parts and no puts, an eager one puts and no parts.
#pragma once

#include "peer_gpu/lines.cuh"
#include "peer_gpu/window_item.hpp"

namespace penstock::peer_gpu {

struct WindowHead {
  using Line = Cells<Fit::words>;

  std::uint32_t cells = 0, parts = 0, puts = 0;
  Word64 place[most_eager_puts] = {}, bytes[most_eager_puts] = {};

  __device__ static Cell cell_of(Word64 value) {
    return {static_cast<std::uint32_t>(value), value >> 32};
  }
  __device__ static Word64 value_of(Cell cell) {
    return static_cast<std::uint32_t>(cell.low) | cell.high << 32;
  }

  // The cell of that number.
  __device__ static Cell encode(unsigned which, std::uint32_t cells, std::uint32_t parts,
                                const transport::Operation* list, unsigned puts) {
    if (which == 0) return {cells, parts << 16 | puts};
    const unsigned put = (which - 1) / 2;
    if (put >= puts) return {};
    return cell_of(which % 2 != 0 ? list[put].displacement : list[put].bytes);
  }

  // The flag that all cells show which this HEAD uses; else what is like none. The first put's are
  // always loaded along, so that one look at memory finds a small epoch.
  __device__ Word64 decode(const Cell* head) {
    constexpr unsigned with_first_put = 3;
    constexpr Word64 torn = ~Word64{0};
    Cell cell[head_cells];
    for (unsigned i = 0; i < with_first_put; ++i) cell[i] = Line::load(head + i);
    const Word64 flag = Line::flag_of(cell[0]);
    cells = static_cast<std::uint32_t>(cell[0].low);
    parts = static_cast<std::uint32_t>(cell[0].high) >> 16;
    puts = static_cast<std::uint32_t>(cell[0].high) & 0xffff;
    const unsigned used = max(with_first_put, 1 + 2 * puts);
    for (unsigned i = with_first_put; i < head_cells; ++i)
      if (i < used) cell[i] = Line::load(head + i);
    for (unsigned i = 1; i < head_cells; ++i)
      if (i < used && Line::flag_of(cell[i]) != flag) return torn;
    for (unsigned i = 0; i < most_eager_puts; ++i) {
      place[i] = value_of(cell[1 + 2 * i]);
      bytes[i] = i < puts ? value_of(cell[2 + 2 * i]) : 0;
    }
    return flag;
  }
};

}  // namespace penstock::peer_gpu
