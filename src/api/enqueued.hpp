// SPDX-License-Identifier: Apache-2.0
// Messages that a queue's trigger hands to MPI: what belongs to the process.
#pragma once

#include "group/communicator.hpp"

namespace penstock::api {

// Moves the messages along, as MPI does its own in calls that complete requests.
void drive_enqueued() noexcept;

// Before a communicator is freed on which all messages are enqueued at both ends. Collective over
// it. Throws base::Error(timeout).
void end_promise(group::Communicator& communicator);

// When the library ends and all streams have run dry, for which the thread is needed: it looks at
// what goes after that.
void end_enqueued() noexcept;

}  // namespace penstock::api
