// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "grid.hpp"

namespace penstock::life {

// Reads a pattern in the run-length format of Life programs (.rle): comment lines with '#', a
// header "x = 3, y = 3, rule = B3/S23", then runs of b (dead), o (alive) and $ (end of row), ended
// by '!'. Throws tool::UserError that begins with "NAME:LINE: " for anything else, other rules than
// Life's among it.
Grid parse_rle(std::string_view text, const std::string& name);

}  // namespace penstock::life
