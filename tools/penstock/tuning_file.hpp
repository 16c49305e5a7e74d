// SPDX-License-Identifier: Apache-2.0
// The file that PENSTOCK_TUNE names: which algorithm was the fastest, and on what that was
// measured.
#pragma once

#include <string>
#include <vector>

#include "comparison.hpp"
#include "support/nodes.hpp"

namespace penstock::tool {

// Throws std::runtime_error where it could not be written. What is there already stays.
void require_writable(const std::string& path);

// In place of what is there. Throws std::runtime_error.
void write_tuning(const std::string& path, const std::vector<bench::Comparison>& comparisons,
                  const bench::Options& options, const Session& session, const Nodes& nodes);

}  // namespace penstock::tool
