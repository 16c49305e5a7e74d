// SPDX-License-Identifier: Apache-2.0
// Messages that a queue's trigger hands to MPI: what belongs to the process.
#pragma once

namespace penstock::api {

// Moves the messages along, as MPI does its own in calls that complete requests.
void drive_enqueued() noexcept;

// Before the library ends: the thread looks at what goes then. Workers still move what its queues
// wait for.
void end_enqueued() noexcept;

}  // namespace penstock::api
