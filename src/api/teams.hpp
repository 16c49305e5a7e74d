// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace penstock::api {

// At the end of the library, when nothing uses it any more: ends the memory of teams that the
// program has not freed.
void end_team_memory() noexcept;

}  // namespace penstock::api
