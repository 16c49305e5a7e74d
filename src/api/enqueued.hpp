// SPDX-License-Identifier: Apache-2.0
// Messages that a queue's trigger hands to MPI: what belongs to the process.
#pragma once

namespace penstock::api {

// Moves the messages along, as MPI does its own in calls that complete requests.
void drive_enqueued() noexcept;

// When the library has ended, and its queues with it.
void end_enqueued() noexcept;

}  // namespace penstock::api
