// SPDX-License-Identifier: Apache-2.0
// How the recorder drives matches that are under way inside MPI's own calls.
#pragma once

#include <mpi.h>
#include <sched.h>

#include "api/enqueued.hpp"
#include "core/library.hpp"
#include "enqueued/message_request.hpp"

namespace penstock::api {

inline bool anything_to_drive() noexcept {
  return core::match_under_way() || enqueued::any_incomplete();
}

inline void drive() {
  if (core::match_under_way()) [[unlikely]]
    core::drive_matches();
  if (enqueued::any_incomplete()) [[unlikely]]
    drive_enqueued();
}

// A blocking call as a loop of tests, for as long as there is something to drive. `test` returns
// MPI's code and sets its flag when the call may return.
template <class Test, class Wait>
int wait_driving(Test&& test, Wait&& wait) {
  while (anything_to_drive()) {
    drive();
    int done = 0;
    const int code = test(&done);
    if (code != MPI_SUCCESS || done != 0) return code;
    sched_yield();  // the peer whose letter we wait for may need this core
  }
  return wait();
}

// MPI_Wait, so driven.
inline int wait_for(MPI_Request* request, MPI_Status* status) {
  return wait_driving([&](int* done) { return PMPI_Test(request, done, status); },
                      [&] { return PMPI_Wait(request, status); });
}

}  // namespace penstock::api
