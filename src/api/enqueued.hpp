// SPDX-License-Identifier: Apache-2.0
// Messages that a queue's trigger hands to MPI: what belongs to the process.
#pragma once

namespace penstock::api {

// Moves the messages along, as MPI does its own in calls that complete requests.
void drive_enqueued() noexcept;

// When the library ends and all streams have run dry, for which the thread is needed: it looks at
// what goes after that.
void end_enqueued() noexcept;

}  // namespace penstock::api
