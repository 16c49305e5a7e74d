// SPDX-License-Identifier: Apache-2.0
#include "messages.hpp"

#include <limits>

namespace penstock::halo {
namespace {

using penstock::detail::check;

constexpr int ids = 27;

// A message's size as MPI counts it: bytes, or words where an int does not hold the bytes.
struct Count {
  int count;
  MPI_Datatype type;
};

Count count_of(std::uint64_t bytes) {
  if (bytes <= std::uint64_t{std::numeric_limits<int>::max()})
    return {static_cast<int>(bytes), MPI_BYTE};
  return {static_cast<int>(bytes / sizeof(std::uint64_t)), MPI_UINT64_T};
}

}  // namespace

// With one or two ranks along a dimension a rank is a neighbour several times, perhaps its own: the
// tag, and not the rank alone, says which message is meant. It names the direction in which the
// message travels.
Messages::Messages(Mover& mover, const Steering& steering, MPI_Comm comm, Sends sends, int set,
                   bool staged)
    : mover_(mover),
      bytes_(steering.bytes),
      memory_(bytes_ == 0 ? nullptr
              : staged    ? mover.allocate_staging(2 * bytes_)
                          : mover.allocate(2 * bytes_)) {
  MPI_Request request = MPI_REQUEST_NULL;
  for (const Neighbour& neighbour : steering.neighbours) {
    const auto [count, type] = count_of(neighbour.bytes);
    check(PST_Recv_init(incoming() + neighbour.first_byte, count, type, neighbour.rank,
                        set * ids + neighbour.opposite_id, comm, &request),
          "PST_Recv_init");
    requests_.add(Request(request));
  }
  for (const Neighbour& neighbour : steering.neighbours) {
    const auto [count, type] = count_of(neighbour.bytes);
    const auto init = sends == Sends::ready ? PST_Rsend_init : PST_Send_init;
    check(init(outgoing() + neighbour.first_byte, count, type, neighbour.rank,
               set * ids + neighbour.id, comm, &request),
          "PST_Send_init");
    requests_.add(Request(request));
  }
}

Messages::~Messages() {
  if (!penstock::detail::mpi_is_running()) return;
  requests_ = Requests();
  if (memory_ != nullptr && penstock::detail::library_is_running()) mover_.free(memory_);
}

}  // namespace penstock::halo
