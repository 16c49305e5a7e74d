// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "datatype/rows.hpp"
#include "datatype/segments.hpp"

namespace penstock::datatype {

// Nothing where the segments are no rows that go up from the buffer's address on, or are too large.
std::optional<Rows> rows_of(const Segments& segments);

}  // namespace penstock::datatype
