// SPDX-License-Identifier: Apache-2.0
//
// Penstock's collectives on streams in C++20. The conventions are those of penstock.hpp; who blocks
// and what is ordered stands in penstock.h. Each function makes a persistent request, which is
// matched once on all members, and then started and waited for on queues. Elements must outlive the
// request and stay where they are. `algorithm`: see docs/collectives.md; "" lets the library
// choose.
#pragma once

#if __cplusplus < 202002L
#error "penstock/collectives.hpp needs C++20: compile with -std=c++20"
#else  // nothing else, so that the error stands alone

#include <penstock/penstock.hpp>

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace penstock {

// Elements of one rank's, or one neighbour's, block of an alltoallv.
struct Block {
  MPI_Aint offset = 0;
  MPI_Count count = 0;
};

namespace detail {

// An MPI_Info that names an algorithm, while the call lasts.
class AlgorithmInfo {
 public:
  explicit AlgorithmInfo(const std::string& algorithm) {
    if (algorithm.empty()) return;
    check_mpi(MPI_Info_create(&info_), "MPI_Info_create");
    MPI_Info_set(info_, "penstock_algorithm", algorithm.c_str());
  }
  ~AlgorithmInfo() {
    if (info_ != MPI_INFO_NULL) MPI_Info_free(&info_);
  }
  AlgorithmInfo(const AlgorithmInfo&) = delete;
  AlgorithmInfo& operator=(const AlgorithmInfo&) = delete;
  MPI_Info get() const noexcept { return info_; }

 private:
  MPI_Info info_ = MPI_INFO_NULL;
};

// The request that init(info, &request) makes, which is one of PST_*_init.
template <class Init>
Request request_by(const char* call, const std::string& algorithm, Init init) {
  const AlgorithmInfo info(algorithm);
  MPI_Request request = MPI_REQUEST_NULL;
  check(init(info.get(), &request), call);
  return Request(request);
}

template <class Span>
MPI_Datatype type_of(const Span& /*elements*/) {
  return datatype<typename Span::element_type>();
}

inline int ranks_of(MPI_Comm comm) {
  int ranks = 0;
  check_mpi(MPI_Comm_size(comm, &ranks), "MPI_Comm_size");
  return ranks;
}

inline int rank_in(MPI_Comm comm) {
  int rank = 0;
  check_mpi(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  return rank;
}

// The elements of one of `parts` blocks, which are all as long.
inline std::size_t block_among(std::size_t elements, std::size_t parts, const char* whom) {
  if (parts == 0) return 0;
  if (elements % parts != 0)
    throw std::length_error("penstock: " + std::to_string(elements) +
                            " elements are no whole block for each of " + std::to_string(parts) +
                            " " + whom);
  return elements / parts;
}

inline std::size_t block_of(std::size_t elements, MPI_Comm comm) {
  return block_among(elements, static_cast<std::size_t>(ranks_of(comm)), "ranks");
}

// Of what is combined and what comes of it.
template <class From, class To>
constexpr void require_one_type() {
  static_assert(std::is_same_v<typename From::value_type, typename To::value_type>,
                "penstock: what is combined and what comes of it have one type");
}

inline MPI_Count count_of(std::size_t elements) {
  return static_cast<MPI_Count>(elements);
}

// How many blocks a rank sends and receives between neighbours, with those of MPI_PROC_NULL.
struct NeighborCounts {
  std::size_t sends = 0, receives = 0;
};

inline NeighborCounts neighbors_of(MPI_Comm comm) {
  int topology = MPI_UNDEFINED, sends = 0, receives = 0, rank = 0, weighted = 0;
  check_mpi(MPI_Topo_test(comm, &topology), "MPI_Topo_test");
  if (topology == MPI_CART) {
    check_mpi(MPI_Cartdim_get(comm, &sends), "MPI_Cartdim_get");
    receives = sends *= 2;
  } else if (topology == MPI_GRAPH) {
    check_mpi(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
    check_mpi(MPI_Graph_neighbors_count(comm, rank, &sends), "MPI_Graph_neighbors_count");
    receives = sends;
  } else if (topology == MPI_DIST_GRAPH) {
    check_mpi(MPI_Dist_graph_neighbors_count(comm, &receives, &sends, &weighted),
              "MPI_Dist_graph_neighbors_count");
  }
  return {static_cast<std::size_t>(sends), static_cast<std::size_t>(receives)};
}

struct BlockLists {
  std::vector<MPI_Count> counts;
  std::vector<MPI_Aint> offsets;
  explicit BlockLists(std::span<const Block> blocks) {
    for (const Block& block : blocks) {
      counts.push_back(block.count);
      offsets.push_back(block.offset);
    }
  }
};

}  // namespace detail

inline Request barrier_init(MPI_Comm comm, const std::string& algorithm = "") {
  return detail::request_by(
      "PST_Barrier_init", algorithm,
      [&](MPI_Info info, MPI_Request* request) { return PST_Barrier_init(comm, info, request); });
}

template <Elements Range>
Request bcast_init(Range&& elements, int root, MPI_Comm comm, const std::string& algorithm = "") {
  const std::span data(elements);
  return detail::request_by("PST_Bcast_init", algorithm, [&](MPI_Info info, MPI_Request* request) {
    return PST_Bcast_init(data.data(), detail::count_of(data.size()), detail::type_of(data), root,
                          comm, info, request);
  });
}

// Combines what all members have in `elements`, in place.
template <Elements Range>
Request allreduce_init(Range&& elements, MPI_Op operation, MPI_Comm comm,
                       const std::string& algorithm = "") {
  const std::span data(elements);
  return detail::request_by(
      "PST_Allreduce_init", algorithm, [&](MPI_Info info, MPI_Request* request) {
        return PST_Allreduce_init(MPI_IN_PLACE, data.data(), detail::count_of(data.size()),
                                  detail::type_of(data), operation, comm, info, request);
      });
}

// The same from `in` to `out`, which has as many elements.
template <Elements In, Elements Out>
Request allreduce_init(In&& in, Out&& out, MPI_Op operation, MPI_Comm comm,
                       const std::string& algorithm = "") {
  const std::span from(in), to(out);
  detail::require_one_type<decltype(from), decltype(to)>();
  if (from.size() != to.size())
    throw std::length_error("penstock: what is combined and what comes of it differ in size");
  return detail::request_by(
      "PST_Allreduce_init", algorithm, [&](MPI_Info info, MPI_Request* request) {
        return PST_Allreduce_init(from.data(), to.data(), detail::count_of(to.size()),
                                  detail::type_of(to), operation, comm, info, request);
      });
}

// Elements of one rank of a team, as each of its ranks addresses them (PST_Team_memory). All ranks
// of the team make and end it together: it goes behind the requests that use it, and before what
// the owner has the elements in.
template <class Element>
class TeamMemory {
 public:
  // `elements`: the owner's, elsewhere not looked at.
  TeamMemory(Element* elements, std::size_t size, int owner, MPI_Comm team) : size_(size) {
    void* mine = nullptr;
    detail::check(PST_Team_memory(elements, static_cast<MPI_Aint>(size * sizeof(Element)), owner,
                                  team, &mine),
                  "PST_Team_memory");
    data_ = static_cast<Element*>(mine);
  }
  TeamMemory(TeamMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  TeamMemory& operator=(TeamMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~TeamMemory() {
    if (data_ != nullptr && detail::library_is_running()) PST_Team_memory_free(data_);
  }

  Element* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  std::span<Element> all() const noexcept { return {data_, size_}; }

 private:
  Element* data_ = nullptr;
  std::size_t size_ = 0;
};

// Combines the buffers of all teams of `comm`, each of which all ranks of a team name (TeamMemory),
// in place.
template <Elements Range>
Request team_allreduce_init(Range&& elements, MPI_Op operation, MPI_Comm team, MPI_Comm comm,
                            const std::string& algorithm = "") {
  const std::span data(elements);
  return detail::request_by(
      "PST_Team_allreduce_init", algorithm, [&](MPI_Info info, MPI_Request* request) {
        return PST_Team_allreduce_init(MPI_IN_PLACE, data.data(), detail::count_of(data.size()),
                                       detail::type_of(data), operation, team, comm, info, request);
      });
}

// The same from `in` to `out`, which has as many elements.
template <Elements In, Elements Out>
Request team_allreduce_init(In&& in, Out&& out, MPI_Op operation, MPI_Comm team, MPI_Comm comm,
                            const std::string& algorithm = "") {
  const std::span from(in), to(out);
  detail::require_one_type<decltype(from), decltype(to)>();
  if (from.size() != to.size())
    throw std::length_error("penstock: what is combined and what comes of it differ in size");
  return detail::request_by(
      "PST_Team_allreduce_init", algorithm, [&](MPI_Info info, MPI_Request* request) {
        return PST_Team_allreduce_init(from.data(), to.data(), detail::count_of(to.size()),
                                       detail::type_of(to), operation, team, comm, info, request);
      });
}

// Combines what all members have in `in`; what comes of it is in `out` on the root, which has as
// many elements. Elsewhere `out` is not looked at.
template <Elements In, Elements Out>
Request reduce_init(In&& in, Out&& out, MPI_Op operation, int root, MPI_Comm comm,
                    const std::string& algorithm = "") {
  const std::span from(in), to(out);
  detail::require_one_type<decltype(from), decltype(to)>();
  if (from.size() != to.size() && detail::rank_in(comm) == root)
    throw std::length_error("penstock: what is combined and what comes of it differ in size");
  return detail::request_by("PST_Reduce_init", algorithm, [&](MPI_Info info, MPI_Request* request) {
    return PST_Reduce_init(from.data(), to.data(), detail::count_of(from.size()),
                           detail::type_of(to), operation, root, comm, info, request);
  });
}

// Combines what all members have in `in`, and leaves each its block of that in `out`: `in` has as
// many times the elements of `out` as there are ranks.
template <Elements In, Elements Out>
Request reduce_scatter_init(In&& in, Out&& out, MPI_Op operation, MPI_Comm comm,
                            const std::string& algorithm = "") {
  const std::span from(in), to(out);
  detail::require_one_type<decltype(from), decltype(to)>();
  if (detail::block_of(from.size(), comm) != to.size())
    throw std::length_error("penstock: what is combined is no block of the result for each rank");
  return detail::request_by(
      "PST_Reduce_scatter_block_init", algorithm, [&](MPI_Info info, MPI_Request* request) {
        return PST_Reduce_scatter_block_init(from.data(), to.data(), detail::count_of(to.size()),
                                             detail::type_of(to), operation, comm, info, request);
      });
}

// `out` has as many times the elements of `in` as there are ranks.
template <Elements In, Elements Out>
Request allgather_init(In&& in, Out&& out, MPI_Comm comm, const std::string& algorithm = "") {
  const std::span from(in), to(out);
  const auto block = detail::block_of(to.size(), comm);
  return detail::request_by(
      "PST_Allgather_init", algorithm, [&](MPI_Info info, MPI_Request* request) {
        return PST_Allgather_init(from.data(), detail::count_of(from.size()), detail::type_of(from),
                                  to.data(), detail::count_of(block), detail::type_of(to), comm,
                                  info, request);
      });
}

// Both have a block for each rank, all as long.
template <Elements In, Elements Out>
Request alltoall_init(In&& in, Out&& out, MPI_Comm comm, const std::string& algorithm = "") {
  const std::span from(in), to(out);
  const auto sent = detail::block_of(from.size(), comm);
  const auto received = detail::block_of(to.size(), comm);
  return detail::request_by(
      "PST_Alltoall_init", algorithm, [&](MPI_Info info, MPI_Request* request) {
        return PST_Alltoall_init(from.data(), detail::count_of(sent), detail::type_of(from),
                                 to.data(), detail::count_of(received), detail::type_of(to), comm,
                                 info, request);
      });
}

// `sends` and `receives` have a block for each rank, in elements of `in` and `out`.
template <Elements In, Elements Out>
Request alltoallv_init(In&& in, std::span<const Block> sends, Out&& out,
                       std::span<const Block> receives, MPI_Comm comm,
                       const std::string& algorithm = "") {
  const std::span from(in), to(out);
  const auto ranks = static_cast<std::size_t>(detail::ranks_of(comm));
  if (sends.size() != ranks || receives.size() != ranks)
    throw std::length_error("penstock: an alltoallv takes a block for each rank");
  const detail::BlockLists sent(sends), received(receives);
  return detail::request_by(
      "PST_Alltoallv_init", algorithm, [&](MPI_Info info, MPI_Request* request) {
        return PST_Alltoallv_init(from.data(), sent.counts.data(), sent.offsets.data(),
                                  detail::type_of(from), to.data(), received.counts.data(),
                                  received.offsets.data(), detail::type_of(to), comm, info,
                                  request);
      });
}

// Both have a block for each neighbour that the topology of `comm` gives this rank, in MPI's order.
template <Elements In, Elements Out>
Request neighbor_alltoall_init(In&& in, Out&& out, MPI_Comm comm,
                               const std::string& algorithm = "") {
  const std::span from(in), to(out);
  const detail::NeighborCounts blocks = detail::neighbors_of(comm);
  const auto each = [](std::size_t size, std::size_t parts) {
    return detail::count_of(detail::block_among(size, parts, "neighbours"));
  };
  return detail::request_by(
      "PST_Neighbor_alltoall_init", algorithm, [&](MPI_Info info, MPI_Request* request) {
        return PST_Neighbor_alltoall_init(
            from.data(), each(from.size(), blocks.sends), detail::type_of(from), to.data(),
            each(to.size(), blocks.receives), detail::type_of(to), comm, info, request);
      });
}

// `sends` and `receives` have a block for each neighbour, in elements of `in` and `out`.
template <Elements In, Elements Out>
Request neighbor_alltoallv_init(In&& in, std::span<const Block> sends, Out&& out,
                                std::span<const Block> receives, MPI_Comm comm,
                                const std::string& algorithm = "") {
  const std::span from(in), to(out);
  const detail::NeighborCounts blocks = detail::neighbors_of(comm);
  if (sends.size() != blocks.sends || receives.size() != blocks.receives)
    throw std::length_error("penstock: an alltoallv takes a block for each neighbour");
  const detail::BlockLists sent(sends), received(receives);
  return detail::request_by(
      "PST_Neighbor_alltoallv_init", algorithm, [&](MPI_Info info, MPI_Request* request) {
        return PST_Neighbor_alltoallv_init(from.data(), sent.counts.data(), sent.offsets.data(),
                                           detail::type_of(from), to.data(), received.counts.data(),
                                           received.offsets.data(), detail::type_of(to), comm, info,
                                           request);
      });
}

// The name of the algorithm that the match has chosen ("doubling").
inline std::string algorithm_of(RequestView request) {
  char name[64];
  detail::check(PST_Request_algorithm(request.get(), name, static_cast<int>(sizeof name)),
                "PST_Request_algorithm");
  return name;
}

}  // namespace penstock

#endif
