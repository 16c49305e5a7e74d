// SPDX-License-Identifier: Apache-2.0
// A communicator whose messages are enqueued at both ends.
#pragma once

#include "conformance/enqueued.hpp"

namespace penstock::test {

class PromisedComm {
 public:
  explicit PromisedComm(MPI_Comm parent = MPI_COMM_WORLD) {
    MPI_Comm_dup(parent, &comm_);
    EXPECT_PST(PST_Comm_enqueue_only(comm_));
  }
  ~PromisedComm() {
    if (comm_ == MPI_COMM_NULL) return;
    EXPECT_EQ(MPI_Comm_free(&comm_), MPI_SUCCESS);
  }
  PromisedComm(const PromisedComm&) = delete;
  PromisedComm& operator=(const PromisedComm&) = delete;
  operator MPI_Comm() const { return comm_; }
  MPI_Comm* address() { return &comm_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

}  // namespace penstock::test
