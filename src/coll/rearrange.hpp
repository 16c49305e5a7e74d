// SPDX-License-Identifier: Apache-2.0
// Equal blocks in another order, by as few local steps as are found.
#pragma once

#include <vector>

#include "coll/schedule_builder.hpp"

namespace penstock::coll {

// Block i of the new order is block order[i] of the old one.
using BlockOrder = std::vector<int>;

bool keeps_order(const BlockOrder& order);

// By one copy, or a permute for each of few equal parts, or a copy for each run.
void rearrange(ScheduleBuilder& builder, const Region& from, const Region& to,
               const BlockOrder& order);

}  // namespace penstock::coll
