// SPDX-License-Identifier: Apache-2.0
// A peer that dies is an error of the plain calls whose large messages are the library's
// (PENSTOCK_OVERLAP=exact), never a hang; so is a wait that lasts too long no end of it.
#include <signal.h>
#include <unistd.h>

#include <array>

#include "fault/fault.hpp"

namespace penstock::fault {
namespace {

constexpr int large_bytes = 300'000;

void exchange(const Job& job, std::vector<std::byte>& out, std::vector<std::byte>& in) {
  for (int epoch = 1; epoch <= 3; ++epoch) {
    fill(out, epoch);
    require_success(
        MPI_Sendrecv(out.data(), large_bytes, MPI_BYTE, job.peer, 1, in.data(), large_bytes,
                     MPI_BYTE, job.peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
        "MPI_Sendrecv");
    require(holds(in, in.size(), epoch), "the bytes are the peer's");
  }
}

}  // namespace

// Rank 1 dies: a receive of it, more sends to it than a ring holds, and what begins later end.
void dead_overlap_peer(const Job& job) {
  std::vector<std::byte> out(large_bytes), in(large_bytes);
  exchange(job, out, in);
  std::array<MPI_Request, 21> requests;
  if (job.rank == 0) {
    require_success(MPI_Irecv(in.data(), large_bytes, MPI_BYTE, 1, 2, MPI_COMM_WORLD, &requests[0]),
                    "MPI_Irecv");
    for (std::size_t i = 1; i < requests.size(); ++i)
      require_success(
          MPI_Isend(out.data(), large_bytes, MPI_BYTE, 1, 3, MPI_COMM_WORLD, &requests[i]),
          "MPI_Isend");
  }
  meet();
  if (job.rank == 1) die();
  for (MPI_Request& each : requests)
    require_kind(MPI_Wait(&each, MPI_STATUS_IGNORE), PST_ERROR_PEER_DEAD, "MPI_Wait");
  require(told("rank 1"), "the error names the peer");
  require_kind(MPI_Send(out.data(), large_bytes, MPI_BYTE, 1, 4, MPI_COMM_WORLD),
               PST_ERROR_PEER_DEAD, "a later MPI_Send");
  require_kind(MPI_Recv(in.data(), large_bytes, MPI_BYTE, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
               PST_ERROR_PEER_DEAD, "a later MPI_Recv");
  content_and_gone();
}

// Rank 1 comes late: rank 0's wait is told of, and goes on. A signal has the table printed.
void late_overlap_peer(const Job& job) {
  std::vector<std::byte> out(large_bytes), in(large_bytes);
  exchange(job, out, in);
  if (job.rank == 0) {
    fill(out, 9);
    MPI_Request request;
    require_success(MPI_Irecv(in.data(), large_bytes, MPI_BYTE, 1, 6, MPI_COMM_WORLD, &request),
                    "MPI_Irecv");
    kill(getpid(), SIGUSR1);
    require_success(MPI_Send(out.data(), large_bytes, MPI_BYTE, 1, 5, MPI_COMM_WORLD), "MPI_Send");
    require_success(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
  } else {
    usleep(1'000'000);  // longer than PENSTOCK_TIMEOUT
    require_success(
        MPI_Recv(in.data(), large_bytes, MPI_BYTE, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
        "MPI_Recv");
    require(holds(in, in.size(), 9), "the bytes are the peer's");
    require_success(MPI_Send(out.data(), large_bytes, MPI_BYTE, 0, 6, MPI_COMM_WORLD), "MPI_Send");
  }
  say("content");
}

}  // namespace penstock::fault
