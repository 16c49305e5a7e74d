// SPDX-License-Identifier: Apache-2.0
#include "gpu/step_work.hpp"

#include <algorithm>

#include "gpu/work_shape.hpp"

namespace penstock::gpu {

StepWork move_work(const std::byte* from, std::byte* to, std::uint64_t bytes, std::uint32_t rows,
                   std::uint32_t columns) noexcept {
  StepWork work;
  work.from[0] = from;
  work.to = to;
  work.bytes = bytes;
  work.rows = rows;
  work.columns = columns;
  work.run = bytes / (std::uint64_t{rows} * columns);
  Alignment alignment;
  alignment.add(from);
  alignment.add(to);
  alignment.add(work.run);
  work.width = static_cast<std::uint8_t>(alignment.get());
  work.blocks = blocks_for(bytes / work.width);
  return work;
}

// The length does not count: what is left behind the last whole word is combined by elements.
StepWork combine_work(std::span<const std::byte* const> values, const std::byte* const* list,
                      std::byte* to, std::uint64_t bytes,
                      const transport::Combination& combination) noexcept {
  if (values.size() == 1) return move_work(values.front(), to, bytes);
  StepWork work;
  work.to = to;
  work.bytes = bytes;
  work.values = static_cast<std::uint32_t>(values.size());
  work.combination = combination;
  if (values.size() > StepWork::most_inside)
    work.list = list;
  else
    std::copy(values.begin(), values.end(), work.from);
  Alignment alignment;
  alignment.add(to);
  for (const std::byte* value : values) alignment.add(value);
  work.width = static_cast<std::uint8_t>(alignment.get());
  work.blocks = blocks_for(bytes / work.width);
  return work;
}

}  // namespace penstock::gpu
