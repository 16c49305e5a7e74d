// SPDX-License-Identifier: Apache-2.0
#include "plan/peer_closed.hpp"

#include <fmt/format.h>

namespace penstock::plan {

using base::Error;
using base::ErrorKind;

Error peer_closed_error(ErrorKind reason, int peer) {
  switch (reason) {
    case ErrorKind::ready:
      return Error(ErrorKind::ready,
                   "a ready send was started before its receive, as the receiver has seen: use a "
                   "standard send, or order the start");
    case ErrorKind::peer_freed:
      return Error(
          ErrorKind::peer_freed,
          fmt::format("rank {} has freed its half of the pair, or has called MPI_Finalize", peer));
    default:
      return Error(
          ErrorKind::peer_freed,
          fmt::format("rank {} has given up its half of the pair after an error, which its "
                      "log tells: free this request, and match new ones on both ends",
                      peer));
  }
}

Error peer_closed_error(int peer, std::uint64_t epoch) {
  return Error(
      ErrorKind::peer_freed,
      fmt::format("rank {} has freed its half of the pair, given it up after an error, which "
                  "its log tells, or called MPI_Finalize, and start number {} here has "
                  "none there: free this request, and match new ones on both ends; "
                  "without an error, see that both ranks start equally often",
                  peer, epoch));
}

Error member_closed_error(int member, std::uint64_t epoch) {
  return Error(
      ErrorKind::peer_freed,
      fmt::format("rank {} has freed the collective, given it up after an error, which its log "
                  "tells, or called MPI_Finalize, and start number {} here has none there: free "
                  "this request, and match new ones on all members; without an error, see that "
                  "all ranks start equally often",
                  member, epoch));
}

Error dead_error(int rank, std::uint64_t epoch) {
  return Error(ErrorKind::peer_dead,
               fmt::format("rank {} has ended before epoch {}: see its output", rank, epoch));
}

}  // namespace penstock::plan
