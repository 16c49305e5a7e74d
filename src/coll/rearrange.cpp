// SPDX-License-Identifier: Apache-2.0
#include "coll/rearrange.hpp"

#include <algorithm>

namespace penstock::coll {

namespace {

// Equal parts that each keep their place, and are permuted alike inside.
struct Parts {
  std::size_t count, rows, columns;
};

bool permutes(const BlockOrder& order, const Parts& parts) {
  const std::size_t part = order.size() / parts.count;
  const std::size_t run = part / (parts.rows * parts.columns);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t row = i / run % parts.rows;
    const std::size_t column = i % part / run / parts.rows;
    const std::size_t old = i / part * part + (row * parts.columns + column) * run + i % run;
    if (static_cast<std::size_t>(order[i]) != old) return false;
  }
  return true;
}

// The fewest parts, or none. Nearly all wrong ones differ in one of the first blocks, so this is a
// short search.
Parts find_parts(const BlockOrder& order) {
  const std::size_t all = order.size();
  for (std::size_t count = 1; count <= all; ++count)
    for (std::size_t rows = 1; all % count == 0 && rows <= all / count; ++rows)
      for (std::size_t columns = 1; columns <= all / count / rows; ++columns) {
        const Parts parts{count, rows, columns};
        if (all / count % (rows * columns) == 0 && permutes(order, parts)) return parts;
      }
  return {};
}

}  // namespace

bool keeps_order(const BlockOrder& order) {
  return std::is_sorted(order.begin(), order.end());
}

void rearrange(ScheduleBuilder& builder, const Region& from, const Region& to,
               const BlockOrder& order) {
  const Parts parts = find_parts(order);
  const std::size_t part = parts.count > 0 ? from.bytes / parts.count : 0;
  for (std::size_t i = 0; i < parts.count; ++i)
    builder.permute(from.item(i, part), to.item(i, part), parts.rows, parts.columns);
  if (parts.count > 0) return;
  const std::size_t block = from.bytes / order.size();
  for (std::size_t i = 0; i < order.size(); ++i)
    builder.copy(from.item(order[i], block), to.item(i, block));
}

}  // namespace penstock::coll
