// SPDX-License-Identifier: Apache-2.0
// A duplicate of MPI_COMM_WORLD on which all messages are enqueued at both ends. Collective.
#pragma once

#include <penstock/penstock.hpp>

namespace penstock::tool {

class PromisedComm {
 public:
  PromisedComm() {
    detail::check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &comm_), "MPI_Comm_dup");
    enqueue_only(comm_);
  }
  ~PromisedComm() { MPI_Comm_free(&comm_); }
  PromisedComm(const PromisedComm&) = delete;
  PromisedComm& operator=(const PromisedComm&) = delete;

  MPI_Comm get() const noexcept { return comm_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

}  // namespace penstock::tool
