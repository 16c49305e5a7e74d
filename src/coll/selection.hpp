// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "coll/algorithms.hpp"
#include "transport/group.hpp"

namespace penstock::coll {

// The algorithm of that name; "": the one that is expected to be fastest for the shape, in memory
// of the host or of GPUs. Throws base::Error(unsupported) where there is none of that name, or it
// does not serve the shape.
const Algorithm& select(CollectiveKind collective, std::string_view name, const Shape& shape,
                        bool on_gpu);

// The algorithm that PENSTOCK_COLL names for the collective; "": it names none. Throws
// base::Error(setting) where it is not such a list.
std::string_view forced_algorithm(std::string_view setting, CollectiveKind collective);

// Throws base::Error(unsupported): what was wished for does not serve.
[[noreturn]] void refuse_algorithm(CollectiveKind collective, std::string_view name,
                                   std::string_view why);

// Whether the direct exchange is expected to be faster than all of these.
bool is_fastest_directly(const transport::GroupMessage& message);

}  // namespace penstock::coll
