// SPDX-License-Identifier: Apache-2.0
// How the recorder drives matches that are under way inside MPI's own calls.
#pragma once

#include <mpi.h>
#include <sched.h>

#include "core/library.hpp"

namespace penstock::api {

// A blocking call as a loop of tests, for as long as a match is under way. `test` returns MPI's
// code and sets its flag when the call may return.
template <class Test, class Wait>
int wait_driving(Test&& test, Wait&& wait) {
  while (core::match_under_way()) {
    core::drive_matches();
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

inline void drive() {
  if (core::match_under_way()) [[unlikely]]
    core::drive_matches();
}

}  // namespace penstock::api
