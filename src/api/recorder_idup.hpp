// SPDX-License-Identifier: Apache-2.0
// A communicator of MPI_Comm_idup exists only when its request completes. Its number among its parent's children is
// taken at the call, its identity given when the Wait or Test family completes the request.
#pragma once

#include <mpi.h>

#include <atomic>
#include <vector>

#include "group/mpi_communicator.hpp"

namespace penstock::api {

void idup_begun(MPI_Comm parent, group::Creation how, MPI_Comm* child, MPI_Request request);

// Around a completing call: remembers which requests it is given, and finds those that it has completed.
class IdupWatch {
 public:
  IdupWatch(int count, const MPI_Request* requests) : requests_(requests) {
    if (pending.load(std::memory_order_relaxed) != 0) [[unlikely]]
      remember(count);
  }
  // The call's return code, passed on.
  int after(int code) {
    if (!before_.empty()) [[unlikely]]
      look(code);
    return code;
  }
  // MPI_Request_get_status has found the request complete, and leaves it.
  void completed(MPI_Request request);

 private:
  void remember(int count);
  void look(int code);

  static std::atomic<int> pending;
  const MPI_Request* requests_;
  std::vector<MPI_Request> before_;

  friend void idup_begun(MPI_Comm, group::Creation, MPI_Comm*, MPI_Request);
};

}  // namespace penstock::api
