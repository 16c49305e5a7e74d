// SPDX-License-Identifier: Apache-2.0
#include "api/collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "api/basic_types.hpp"
#include "base/error.hpp"
#include "coll/collective_call.hpp"
#include "core/library.hpp"
#include "core/recording.hpp"
#include "core/registry.hpp"
#include "datatype/numbers.hpp"
#include "datatype/signature.hpp"
#include "group/mpi_check.hpp"
#include "group/mpi_communicator.hpp"
#include "group/mpi_handle.hpp"
#include "group/mpi_layout.hpp"
#include "group/mpi_neighbors.hpp"
#include "group/world_ranks.hpp"

namespace penstock::api {

using base::Error;
using base::ErrorKind;
using coll::Block;
using coll::CollectiveKind;

namespace {

// The bytes of a buffer, from the lowest one on, and what elements they are.
struct Bytes {
  std::byte* lowest = nullptr;
  std::size_t count = 0;
  datatype::Signature signature{};
};

Bytes bytes_of(const void* buffer, MPI_Count count, MPI_Datatype type) {
  if (buffer == MPI_IN_PLACE)
    throw Error(ErrorKind::argument,
                "MPI_IN_PLACE stands where a buffer must be: pass it as the send buffer, of a "
                "reduce on the root alone, and of a broadcast nowhere");
  if (count < 0) throw Error(ErrorKind::argument, fmt::format("the count is negative: {}", count));
  const group::MpiLayout layout(type, count);
  if (!layout.refusal().empty()) throw Error(ErrorKind::argument, layout.refusal());
  if (layout.bytes() == 0) return {};
  if (!layout.contiguous())
    throw Error(ErrorKind::unsupported,
                "its datatype has gaps: collectives on streams move elements that lie one behind "
                "the other");
  if (buffer == nullptr) throw Error(ErrorKind::argument, "the buffer is a null pointer");
  // Of integers, as the type may begin far from the buffer.
  const auto lowest = reinterpret_cast<std::intptr_t>(buffer) + layout.lowest();
  return {reinterpret_cast<std::byte*>(lowest), layout.bytes(), layout.signature()};
}

// The elements of so many blocks; a negative count stays as it was given.
MPI_Count count_of(std::size_t blocks, MPI_Count count) {
  return count < 0 ? count : datatype::product(count, blocks);
}

// Where they lie; null: none has bytes. Two elements are looked at, as one does not tell whether
// the next one follows it without a gap.
std::byte* take_blocks_of(const CollectiveBlocks& blocks, std::vector<Block>& all) {
  if (blocks.number > 0 && (blocks.counts == nullptr || blocks.displacements == nullptr))
    throw Error(ErrorKind::argument,
                "an array of its counts or displacements is a null pointer: each has a number for "
                "each rank or neighbour");
  const bool empty = std::all_of(blocks.counts, blocks.counts + blocks.number,
                                 [](MPI_Count count) { return count == 0; });
  const Bytes two = empty ? Bytes{} : bytes_of(blocks.buffer, 2, blocks.type);
  const std::size_t element = two.count / 2;
  for (std::size_t rank = 0; rank < blocks.number; ++rank) {
    const MPI_Count count = blocks.counts[rank];
    if (count < 0) throw Error(ErrorKind::argument, fmt::format("a count is negative: {}", count));
    const MPI_Aint displacement = count == 0 ? 0 : blocks.displacements[rank];
    if (displacement < 0)
      throw Error(ErrorKind::unsupported,
                  fmt::format("a displacement is negative: {}", displacement));
    const auto offset = datatype::product(displacement, element);
    const auto bytes = datatype::product(count, element);
    datatype::sum(offset, bytes);  // the end of the block is an address, too
    all.push_back({static_cast<std::size_t>(offset), static_cast<std::size_t>(bytes)});
  }
  return two.lowest;
}

// ---- What each kind takes

void take_reduction(const CollectiveArguments& from, coll::Arguments& to) {
  to.combination = combination_of(Taker::reduction, from.receive.type, from.op);
  to.element = transport::bytes_of(to.combination.element);
  const bool scatters = from.kind == CollectiveKind::reduce_scatter_block;
  const MPI_Count input = count_of(scatters ? to.members.size() : 1, from.receive.count);
  const bool has_output = from.kind != CollectiveKind::reduce || to.communicator->rank == from.root;
  const bool reads_output = to.in_place && has_output;
  if (!reads_output) to.memory.input = bytes_of(from.send.buffer, input, from.receive.type).lowest;
  if (has_output)
    to.memory.output =
        bytes_of(from.receive.buffer, reads_output ? input : from.receive.count, from.receive.type)
            .lowest;
  to.count = static_cast<std::size_t>(from.receive.count);  // known to be none below 0
}

// A block of each rank for each, or for all.
void take_blocks(const CollectiveArguments& from, coll::Arguments& to) {
  const std::size_t ranks = to.members.size();
  const Bytes output =
      bytes_of(from.receive.buffer, count_of(ranks, from.receive.count), from.receive.type);
  to.memory.output = output.lowest;
  to.count = output.count / ranks;
  to.received = to.sent = output.signature;
  if (to.in_place) return;
  const std::size_t blocks = from.kind == CollectiveKind::allgather ? 1 : ranks;
  const Bytes input = bytes_of(from.send.buffer, count_of(blocks, from.send.count), from.send.type);
  to.memory.input = input.lowest;
  to.sent = input.signature;
  const std::size_t sent = input.count / blocks;
  if (sent != to.count)
    throw Error(
        ErrorKind::truncate,
        fmt::format("it sends blocks of {} bytes and receives blocks of {}", sent, to.count));
}

void take_uneven_blocks(const CollectiveArguments& from, coll::Arguments& to) {
  to.memory.output = take_blocks_of(from.receives, to.receives);
  if (to.in_place)
    to.sends = to.receives;
  else
    to.memory.input = take_blocks_of(from.sends, to.sends);
}

// Where they lie; null: they have no bytes.
std::byte* take_equal_blocks(const CollectiveData& data, std::size_t number,
                             std::vector<Block>& all, datatype::Signature& signature) {
  if (number == 0) return nullptr;
  const Bytes whole = bytes_of(data.buffer, count_of(number, data.count), data.type);
  const std::size_t each = whole.count / number;
  for (std::size_t block = 0; block < number; ++block) all.push_back({block * each, each});
  signature = whole.signature;
  return whole.lowest;
}

// The blocks of MPI_PROC_NULL stay as they are.
void take_edges(const std::vector<group::Neighbor>& neighbors, const std::vector<Block>& all,
                std::vector<int>& ranks, std::vector<Block>& blocks) {
  for (const group::Neighbor& each : neighbors) {
    if (each.rank == MPI_PROC_NULL) continue;
    ranks.push_back(each.rank);
    blocks.push_back(all[each.block]);
  }
}

void take_neighbors(const CollectiveArguments& from, coll::Arguments& to) {
  if (!group::has_topology(from.comm))
    throw Error(ErrorKind::argument,
                "its communicator has no topology, and so no neighbours: MPI_Cart_create, "
                "MPI_Graph_create and MPI_Dist_graph_create make one with a topology");
  if (to.in_place)
    throw Error(ErrorKind::argument, "MPI_IN_PLACE has no meaning between neighbours");
  const group::Neighbors neighbors = group::neighbors_of(from.comm);
  const bool equal = from.kind == CollectiveKind::neighbor_alltoall;
  std::vector<Block> sends, receives;
  to.memory.input =
      equal ? take_equal_blocks(from.send, neighbors.destinations.size(), sends, to.sent)
            : take_blocks_of(from.sends, sends);
  to.memory.output =
      equal ? take_equal_blocks(from.receive, neighbors.sources.size(), receives, to.received)
            : take_blocks_of(from.receives, receives);
  take_edges(neighbors.destinations, sends, to.destinations, to.sends);
  take_edges(neighbors.sources, receives, to.sources, to.receives);
}

// The ranks that have one buffer with this one, from the lowest on.
void take_team(const CollectiveArguments& from, coll::Arguments& to) {
  if (from.team == MPI_COMM_NULL)
    throw Error(ErrorKind::argument,
                "its team is MPI_COMM_NULL: a rank that is alone has MPI_COMM_SELF");
  const group::Members team = group::members_of(from.team);
  if (team.intercommunicator) throw Error(ErrorKind::argument, "its team is an intercommunicator");
  for (const int member : team.local) {
    const auto place = std::find(to.members.begin(), to.members.end(), member);
    if (place == to.members.end())
      throw Error(ErrorKind::argument,
                  fmt::format("its team is no part of the communicator, which lacks rank {} of "
                              "MPI_COMM_WORLD",
                              member));
    to.team.push_back(static_cast<int>(place - to.members.begin()));
  }
  std::sort(to.team.begin(), to.team.end());
}

void take_data(const CollectiveArguments& from, coll::Arguments& to) {
  switch (from.kind) {
    case CollectiveKind::barrier:
      return;
    case CollectiveKind::bcast: {
      const Bytes data = bytes_of(from.receive.buffer, from.receive.count, from.receive.type);
      to.memory.output = data.lowest;
      to.count = data.count;
      to.sent = to.received = data.signature;
      return;
    }
    case CollectiveKind::allgather:
    case CollectiveKind::alltoall:
      return take_blocks(from, to);
    case CollectiveKind::alltoallv:
      return take_uneven_blocks(from, to);
    case CollectiveKind::reduce:
    case CollectiveKind::allreduce:
    case CollectiveKind::reduce_scatter_block:
      return take_reduction(from, to);
    case CollectiveKind::neighbor_alltoall:
    case CollectiveKind::neighbor_alltoallv:
      return take_neighbors(from, to);
    case CollectiveKind::team_allreduce:
      take_team(from, to);
      return take_reduction(from, to);
  }
}

bool is_in_place(const CollectiveArguments& arguments) {
  return arguments.send.buffer == MPI_IN_PLACE || arguments.sends.buffer == MPI_IN_PLACE;
}

std::string wished_algorithm(MPI_Info info) {
  if (info == MPI_INFO_NULL) return "";
  char value[MPI_MAX_INFO_VAL + 1] = "";
  int found = 0;
  group::check_mpi(PMPI_Info_get(info, "penstock_algorithm", MPI_MAX_INFO_VAL, value, &found),
                   "MPI_Info_get");
  return found != 0 ? value : "";
}

std::uint64_t next_number(group::Communicator& communicator) {
  return communicator.collectives.fetch_add(1, std::memory_order_relaxed) + 1;
}

// What is wrong with the arguments is told to all members at the match.
void describe(const CollectiveArguments& from, coll::Arguments& to) {
  const group::Members members = group::members_of(from.comm);
  to.members = members.local;
  to.root = from.root;
  to.in_place = is_in_place(from);
  try {
    to.algorithm = wished_algorithm(from.info);
    if (members.intercommunicator)
      throw Error(ErrorKind::unsupported, "its communicator is an intercommunicator");
    if (!members.all_in_world())
      throw Error(ErrorKind::unsupported, "a member is not in MPI_COMM_WORLD");
    if (from.root < 0 || static_cast<std::size_t>(from.root) >= to.members.size())
      throw Error(ErrorKind::argument, fmt::format("root {} is no rank", from.root));
    take_data(from, to);
  } catch (const Error& error) {
    to.refusal = error.text();
    to.refusal_kind = error.kind();
  }
}

}  // namespace

BlockCounts block_counts(CollectiveKind kind, MPI_Comm comm) {
  if (kind == CollectiveKind::neighbor_alltoallv) {
    const group::Neighbors neighbors = group::neighbors_of(comm);
    return {neighbors.destinations.size(), neighbors.sources.size()};
  }
  int ranks = 0;
  group::check_mpi(PMPI_Comm_size(comm, &ranks), "MPI_Comm_size");
  return {static_cast<std::size_t>(ranks), static_cast<std::size_t>(ranks)};
}

void skip_collective_number(MPI_Comm comm) {
  next_number(*group::communicator_of(comm));
}

void record_collective(const CollectiveArguments& arguments, MPI_Request request) {
  const std::shared_ptr<group::Communicator> communicator = group::communicator_of(arguments.comm);
  coll::Arguments described;
  described.kind = arguments.kind;
  described.communicator = communicator;
  described.number = next_number(*communicator);
  describe(arguments, described);
  core::Recording recording;
  recording.kind = core::RequestKind::collective;
  recording.call = arguments.call;
  recording.communicator = communicator;
  recording.collective = std::make_shared<coll::CollectiveCall>(std::move(described));
  core::Registry::get().record(group::handle_bits(request), std::move(recording));
}

}  // namespace penstock::api
