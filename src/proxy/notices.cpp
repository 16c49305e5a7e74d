// SPDX-License-Identifier: Apache-2.0
#include "proxy/notices.hpp"

#include "proxy/mpi_call.hpp"

namespace penstock::proxy {

void Notices::listen() {
  if (listening_) return;
  check_mpi(PMPI_Recv_init(&incoming_, sizeof(incoming_), MPI_BYTE, MPI_ANY_SOURCE, tag,
                           communicator_, &receive_),
            "MPI_Recv_init");
  check_mpi(PMPI_Start(&receive_), "MPI_Start");
  listening_ = true;
}

bool Notices::send(Outgoing& outgoing, int peer) noexcept {
  if (PMPI_Isend(&outgoing.notice, sizeof(Notice), MPI_BYTE, peer, tag, communicator_,
                 &outgoing.request) != MPI_SUCCESS)
    return false;
  outgoing.under_way = true;
  unsent_.push_back(&outgoing);
  return true;
}

bool Notices::sent(Outgoing& outgoing) noexcept {
  int taken = 0;
  if (PMPI_Test(&outgoing.request, &taken, MPI_STATUS_IGNORE) == MPI_SUCCESS && !taken)
    return false;
  outgoing.under_way = false;
  return true;
}

std::optional<std::pair<int, Notice>> Notices::take() noexcept {
  if (!listening_) return std::nullopt;
  int arrived = 0;
  MPI_Status status;
  if (PMPI_Test(&receive_, &arrived, &status) != MPI_SUCCESS || !arrived) return std::nullopt;
  const std::pair<int, Notice> answer(status.MPI_SOURCE, incoming_);
  listening_ = PMPI_Start(&receive_) == MPI_SUCCESS;
  return answer;
}

void Notices::stop() noexcept {
  if (receive_ == MPI_REQUEST_NULL) return;
  if (listening_) {
    PMPI_Cancel(&receive_);
    // A cancelled receive ends without the peer's help.
    PMPI_Wait(&receive_, MPI_STATUS_IGNORE);
    listening_ = false;
  }
  PMPI_Request_free(&receive_);
}

}  // namespace penstock::proxy
