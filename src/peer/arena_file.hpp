// SPDX-License-Identifier: Apache-2.0
// The life of an arena's file by name: made, locked by its owner, swept when the owner is gone.
#pragma once

#include "peer/arena.hpp"

namespace penstock::peer {

// Makes and locks an empty file under a random name, fills in the identity. Throws
// Error(resources).
int create_arena_file(ArenaIdentity& identity);

// Removes files of processes that were killed before they could remove their own.
void remove_leftover_files() noexcept;

}  // namespace penstock::peer
