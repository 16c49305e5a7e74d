// SPDX-License-Identifier: Apache-2.0
// A collective of all ranks as the match sees it: in round k each rank has a message to the one 2^k
// further on.
#pragma once

#include <memory>

#include "core/collective.hpp"
#include "scale/simulated_rank.hpp"

namespace penstock::scale {

std::shared_ptr<const core::Collective> make_dissemination(const Job& job, int rank,
                                                           std::uint64_t number);

}  // namespace penstock::scale
