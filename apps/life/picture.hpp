// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "grid.hpp"

namespace penstock::life {

// Writes the grid as a PNG, each cell a square of several pixels where the grid is small. Throws
// std::runtime_error.
void write_png(const Grid& grid, const std::filesystem::path& path);

}  // namespace penstock::life
