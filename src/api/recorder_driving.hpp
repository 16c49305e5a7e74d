// SPDX-License-Identifier: Apache-2.0
// How the recorder drives matches that are under way inside MPI's own calls.
#pragma once

#include <mpi.h>
#include <sched.h>

#include <optional>

#include "api/enqueued.hpp"
#include "api/overlap.hpp"
#include "core/library.hpp"
#include "enqueued/message_request.hpp"

namespace penstock::api {

inline bool anything_to_drive() noexcept {
  return core::match_under_way() || enqueued::any_incomplete();
}

// `caller`: what the call of the program's does until it returns.
inline void drive(overlap::Caller caller = overlap::Caller::passing) {
  if (core::match_under_way()) [[unlikely]]
    core::drive_matches();
  if (overlaps()) [[unlikely]]
    drive_overlap(caller);
  if (enqueued::any_incomplete()) [[unlikely]]
    drive_enqueued();
}

// A call that waits looks, and pauses, again and again.
class DrivenWait {
 public:
  void look() noexcept {
    if (wait_) wait_->look();
  }
  void pause() noexcept {
    if (!overlaps())
      sched_yield();  // the peer whose letter we wait for may need this core
    else if (wait_)
      wait_->pause();
    else
      wait_.emplace(true);  // and looks once more
  }

 private:
  std::optional<OverlapWait> wait_;
};

// A blocking call as a loop of tests, for as long as there is something to drive. `test` returns
// MPI's code and sets its flag when the call may return.
template <class Test, class Wait>
int wait_driving(Test&& test, Wait&& wait) {
  DrivenWait driven;
  while (anything_to_drive()) {
    driven.look();
    drive(overlap::Caller::waiting);
    int done = 0;
    const int code = test(&done);
    if (code != MPI_SUCCESS || done != 0) return code;
    driven.pause();
  }
  return wait();
}

// MPI_Wait, so driven.
inline int wait_for(MPI_Request* request, MPI_Status* status) {
  return wait_driving([&](int* done) { return PMPI_Test(request, done, status); },
                      [&] { return PMPI_Wait(request, status); });
}

}  // namespace penstock::api
