// SPDX-License-Identifier: Apache-2.0
// A message of any datatypes from each rank to the next one.
#pragma once

#include "support/endpoint.hpp"
#include "support/environment.hpp"

namespace penstock::test {

// This rank's send to the next one and its receive from the one before.
class Exchange {
 public:
  Exchange(const void* out, int sent, MPI_Datatype sent_type, void* in, int room,
           MPI_Datatype received_type) {
    MPI_Send_init(out, sent, sent_type, (rank() + 1) % size(), 0, MPI_COMM_WORLD, &ends_[0]);
    MPI_Recv_init(in, room, received_type, (rank() + size() - 1) % size(), 0, MPI_COMM_WORLD,
                  &ends_[1]);
  }
  ~Exchange() {
    for (MPI_Request& end : ends_) MPI_Request_free(&end);
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  PST_Error match() {
    PST_Error kind = PST_ERROR_NONE;
    const int code = PST_Matchall(2, ends_, MPI_STATUSES_IGNORE);
    if (code != MPI_SUCCESS) PST_Error_kind(code, &kind);
    return kind;
  }
  void run() {
    Lane lane;
    ASSERT_PST(PST_Enqueue_runall(lane.queue(), 2, ends_));
    lane.finish();
  }

 private:
  MPI_Request ends_[2];
};

}  // namespace penstock::test
