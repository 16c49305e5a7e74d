// SPDX-License-Identifier: Apache-2.0
#include "batch.hpp"

#include <utility>

namespace penstock::bench {
namespace {

using Send = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);

Send send_of(Mode mode) {
  switch (mode) {
    case Mode::ready:
      return MPI_Irsend;
    case Mode::synchronous:
      return MPI_Issend;
    default:
      return MPI_Isend;
  }
}

Request make_request(const Transfer& each, Mode mode) {
  return each.sends ? send_init(each.bytes, each.peer, each.tag, MPI_COMM_WORLD, mode)
                    : recv_init(each.bytes, each.peer, each.tag, MPI_COMM_WORLD);
}

}  // namespace

Batch::Batch(std::vector<Transfer> transfers, Mode mode, Calls calls)
    : transfers_(std::move(transfers)), mode_(mode) {
  if (calls == Calls::nonblocking) {
    open_.resize(transfers_.size(), MPI_REQUEST_NULL);
    return;
  }
  for (const Transfer& each : transfers_) persistent_.add(make_request(each, mode));
}

void Batch::post() {
  const Send send = send_of(mode_);
  for (std::size_t i = 0; i < transfers_.size(); ++i) {
    const Transfer& each = transfers_[i];
    const int bytes = static_cast<int>(each.bytes.size());
    if (each.sends)
      send(each.bytes.data(), bytes, MPI_BYTE, each.peer, each.tag, MPI_COMM_WORLD, &open_[i]);
    else
      MPI_Irecv(each.bytes.data(), bytes, MPI_BYTE, each.peer, each.tag, MPI_COMM_WORLD, &open_[i]);
  }
}

}  // namespace penstock::bench
