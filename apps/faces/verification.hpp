// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "faces/kernels.hpp"
#include "faces/rank_grid.hpp"
#include "faces/reference.hpp"
#include "support/session.hpp"

namespace penstock::faces {

// Compares every value of every rank with the reference after `shares`. On rank 0 says which is
// wrong, and in whose result. Collective; the same answer everywhere.
bool verify(const Kernels& kernels, const Problem& problem, const Block& block, int shares,
            bool with_compute, const std::string& name, const tool::Session& session);

}  // namespace penstock::faces
