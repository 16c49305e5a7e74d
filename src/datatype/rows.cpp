// SPDX-License-Identifier: Apache-2.0
#include "datatype/rows_of.hpp"

#include <limits>

namespace penstock::datatype {

std::optional<Rows> rows_of(const Segments& segments) {
  constexpr std::int64_t most_stride = std::numeric_limits<std::uint32_t>::max();
  if (segments.repetitions() != 1 || segments.list().size() != 1) return {};
  const Segment& all = segments.list().front();
  if (all.offset != 0 || all.stride <= 0 || all.stride > most_stride) return {};
  if (segments.bytes() > Rows::most_bytes) return {};
  const auto bytes = static_cast<std::uint32_t>(all.bytes);
  const std::uint64_t scale = std::uint64_t{1} << row_shift(bytes);
  return Rows{bytes, static_cast<std::uint32_t>(all.stride),
              static_cast<std::uint32_t>((scale + bytes - 1) / bytes)};
}

}  // namespace penstock::datatype
