// SPDX-License-Identifier: Apache-2.0
// How the recorder drives matches that are under way inside MPI's own calls.
#pragma once

#include <mpi.h>
#include <sched.h>

#include "core/library.hpp"

namespace penstock::api {

// A blocking call as a loop of tests, for as long as a match is under way. `test` returns MPI's
// code and sets its argument when the call may return.
template <class Test, class Wait>
int wait_driving(Test&& test, Wait&& wait) {
  while (core::match_under_way()) {
    core::drive_matches();
    bool done = false;
    const int code = test(done);
    if (code != MPI_SUCCESS || done) return code;
    sched_yield();  // the peer whose letter we wait for may need this core
  }
  return wait();
}

inline void drive() {
  if (core::match_under_way()) [[unlikely]]
    core::drive_matches();
}

}  // namespace penstock::api
