// SPDX-License-Identifier: Apache-2.0
// A collective over the buffers of an exchange, called by the functions of any library of MPI's
// form.
#pragma once

#include <penstock/penstock.h>

#include <limits>
#include <stdexcept>
#include <vector>

#include "collective_traffic.hpp"
#include "exchange.hpp"

namespace penstock::bench {

// The functions that make Penstock's requests, and those of MPI that block: how they count, and
// their names.
struct PenstockInits {
  using Count = MPI_Count;
  using Place = MPI_Aint;
  static constexpr auto allreduce = PST_Allreduce_init;
  static constexpr auto reduce_scatter = PST_Reduce_scatter_block_init;
  static constexpr auto allgather = PST_Allgather_init;
  static constexpr auto alltoall = PST_Alltoall_init;
  static constexpr auto alltoallv = PST_Alltoallv_init;
  static constexpr auto bcast = PST_Bcast_init;
  static constexpr auto reduce = PST_Reduce_init;
  static constexpr auto barrier = PST_Barrier_init;
};
struct MpiFunctions {
  using Count = int;
  using Place = int;
  static constexpr auto allreduce = MPI_Allreduce;
  static constexpr auto reduce_scatter = MPI_Reduce_scatter_block;
  static constexpr auto allgather = MPI_Allgather;
  static constexpr auto alltoall = MPI_Alltoall;
  static constexpr auto alltoallv = MPI_Alltoallv;
  static constexpr auto bcast = MPI_Bcast;
  static constexpr auto reduce = MPI_Reduce;
  static constexpr auto barrier = MPI_Barrier;
};

// The blocks that a rank gives or gets, one behind the other.
template <class Library>
struct CollectiveBlocks {
  using Count = typename Library::Count;
  using Place = typename Library::Place;

  explicit CollectiveBlocks(std::span<const Message> messages) {
    std::size_t place = 0;
    for (const Message& each : messages) {
      if (place > static_cast<std::size_t>(std::numeric_limits<Place>::max()))
        throw std::length_error("the blocks of a rank exceed what MPI counts: name smaller sizes");
      places.push_back(static_cast<Place>(place));
      counts.push_back(static_cast<Count>(each.part.bytes));
      place += each.part.bytes;
    }
    if (!messages.empty()) memory = messages.front().bytes.data();
  }

  void* memory = nullptr;
  std::vector<Count> counts;  // in bytes
  std::vector<Place> places;
};

template <class Library>
class CollectiveCall {
 public:
  CollectiveCall(Kind kind, const Exchange& exchange)
      : kind_(kind),
        type_(is_reduction(kind) ? MPI_DOUBLE : MPI_BYTE),
        given_(exchange.sent()),
        taken_(exchange.received()) {
    if (exchange.messages().empty()) return;
    const std::size_t element = is_reduction(kind) ? sizeof(double) : 1;
    count_ = static_cast<Count>(exchange.messages().front().part.bytes / element);
  }

  // `rest`: what the functions take behind the communicator.
  template <class... Rest>
  int operator()(Rest... rest) const {
    const MPI_Comm comm = MPI_COMM_WORLD;
    void* const in = given_.memory;
    void* const out = taken_.memory;
    switch (kind_) {
      case Kind::allreduce:
        return Library::allreduce(in, out, count_, type_, MPI_SUM, comm, rest...);
      case Kind::reduce_scatter:
        return Library::reduce_scatter(in, out, count_, type_, MPI_SUM, comm, rest...);
      case Kind::allgather:
        return Library::allgather(in, count_, type_, out, count_, type_, comm, rest...);
      case Kind::alltoall:
        return Library::alltoall(in, count_, type_, out, count_, type_, comm, rest...);
      case Kind::alltoallv:
        return Library::alltoallv(in, given_.counts.data(), given_.places.data(), type_, out,
                                  taken_.counts.data(), taken_.places.data(), type_, comm, rest...);
      case Kind::bcast:
        return Library::bcast(in != nullptr ? in : out, count_, type_, root_rank, comm, rest...);
      case Kind::reduce:
        return Library::reduce(in, out, count_, type_, MPI_SUM, root_rank, comm, rest...);
      default:
        return Library::barrier(comm, rest...);
    }
  }

 private:
  using Count = typename Library::Count;

  Kind kind_;
  MPI_Datatype type_;
  CollectiveBlocks<Library> given_, taken_;
  Count count_ = 0;  // elements of a block
};

}  // namespace penstock::bench
