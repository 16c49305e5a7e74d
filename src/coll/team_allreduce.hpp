// SPDX-License-Identifier: Apache-2.0
// Teams stand where elsewhere nodes do: a rank's node is its team, and its index its number there.
#pragma once

#include "coll/shape.hpp"

namespace penstock::coll {

// In the order of the teams, and by a tree over them.
Schedule two_shot_team_allreduce(const Shape& shape, int rank);
Schedule doubling_team_allreduce(const Shape& shape, int rank);

}  // namespace penstock::coll
