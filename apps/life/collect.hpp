// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "board.hpp"
#include "grid.hpp"
#include "support/session.hpp"

namespace penstock::life {

// The text of a file, read by rank 0 and known to all. Throws tool::UserError on every rank when it
// cannot be read.
std::string read_file_once(const std::string& path, const tool::Session& session);

// The whole grid on rank 0, put together from the ranks' blocks; nothing elsewhere. Collective.
std::optional<Grid> collect(const std::vector<std::uint8_t>& cells, const halo::Grid<2>& blocks,
                            const tool::Session& session);

}  // namespace penstock::life
