// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace penstock::plan {

// Of a complete whose access epoch was opened with MPI_MODE_NOCHECK, behind its label.
inline constexpr const char* broken_promise =
    "MPI_MODE_NOCHECK promises that the target's post has run before this complete, and it has "
    "not: order the two, or leave the assertion out on both sides";

}  // namespace penstock::plan
