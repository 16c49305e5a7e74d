// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "board.hpp"
#include "decomposition.hpp"
#include "grid.hpp"
#include "session.hpp"

namespace penstock::life {

// The text of a file, read by rank 0 and known to all. Throws tool::UserError on every rank when it cannot be read.
std::string read_file_once(const std::string& path, const tool::Session& session);

// The whole grid on rank 0, put together from the ranks' blocks; elsewhere what it holds is unspecified. Collective.
Grid collect(const Board& board, const Decomposition& decomposition, const tool::Session& session, int width,
             int height);

}  // namespace penstock::life
