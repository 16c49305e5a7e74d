// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coll/collective_call.hpp"

namespace penstock::coll {

// The arguments with what is asked of the library, which may not run yet when a call is recorded:
// whose memory the buffers are, on which node the member is, and what PENSTOCK_COLL and
// PENSTOCK_TUNE say. What is wrong with that is told to all members.
Arguments placed(Arguments arguments);

}  // namespace penstock::coll
