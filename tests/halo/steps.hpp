// SPDX-License-Identifier: Apache-2.0
// A program of many steps on a stream: each checks all cells of a periodic array, ghosts too, and
// gives its own cells the next step's values.
#pragma once

#include "halo/step_values.hpp"
#include "support/device.hpp"

namespace penstock::test {

StepCounts* make_counts();
void free_counts(StepCounts* counts);

// Own cells get the values of counts->step.
void enqueue_write(Stream stream, const Steps& steps);
// Every cell is compared with the value of counts->step, which then grows; own cells get the next
// values. `steps` must stay until then.
void enqueue_step(Stream stream, const Steps& steps);

}  // namespace penstock::test
