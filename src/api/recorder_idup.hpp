// SPDX-License-Identifier: Apache-2.0
// A communicator of MPI_Comm_idup exists only when its request completes. Its number among its
// parent's children is taken at the call, its identity given when the Wait or Test family completes
// the request.
#pragma once

#include <mpi.h>

#include <atomic>
#include <list>
#include <vector>

#include "base/no_copy.hpp"
#include "group/mpi_communicator.hpp"

namespace penstock::api {

void idup_begun(MPI_Comm parent, group::Creation how, MPI_Comm* child, MPI_Request request);

// Around a completing call: claims the pending children among its requests, and names those that it
// has completed. The claim comes first, while the handles are the caller's: once MPI has completed
// a request, its handle may stand for another one, even for the MPI_Comm_idup of another thread.
class IdupWatch : private base::NoCopy {
 public:
  struct Child;

  IdupWatch(int count, const MPI_Request* requests) {
    if (pending.load(std::memory_order_relaxed) != 0) [[unlikely]]
      claim(count, requests);
  }
  ~IdupWatch() {
    if (!claimed_.empty()) [[unlikely]]
      give_back();
  }

  // The call's return code, passed on.
  int after(int code) {
    if (!claimed_.empty()) [[unlikely]]
      look(code);
    return code;
  }
  // MPI_Request_get_status has found its request complete, and leaves it.
  void completed();

 private:
  struct ChildClaim {
    const MPI_Request* request;
    std::list<Child>::iterator child;
  };

  void claim(int count, const MPI_Request* requests);
  void look(int code);
  void give_back();

  static std::atomic<int> pending;
  std::vector<ChildClaim> claimed_;

  friend void idup_begun(MPI_Comm, group::Creation, MPI_Comm*, MPI_Request);
};

}  // namespace penstock::api
