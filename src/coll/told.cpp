// SPDX-License-Identifier: Apache-2.0
#include "coll/told.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.hpp"

namespace penstock::coll {

using base::Error;
using base::ErrorKind;

namespace {

std::vector<std::size_t> bytes_of(const std::vector<Block>& blocks) {
  std::vector<std::size_t> bytes;
  for (const Block& block : blocks) bytes.push_back(block.bytes);
  return bytes;
}

// The differences between two members that no collective allows.
void require_alike(const Told& first, const Told& other, std::size_t rank) {
  const auto differs = [&](const char* what) {
    throw Error(ErrorKind::argument, fmt::format("rank 0 and rank {} differ in {}", rank, what));
  };
  if (other.kind != first.kind)
    throw Error(ErrorKind::argument,
                fmt::format("rank 0 calls {} and rank {} {}: all members make their collectives in "
                            "the same order",
                            name_of(first.kind), rank, name_of(other.kind)));
  if (other.root != first.root) differs("the root");
  if (other.reduction != first.reduction) differs("the operation");
  if (other.type != first.type) differs("the datatype");
  if (other.algorithm != first.algorithm) differs("penstock_algorithm or PENSTOCK_COLL");
  if (other.in_place != first.in_place && first.kind != CollectiveKind::reduce)
    differs("MPI_IN_PLACE");
  if (other.count * other.element != first.count * first.element)
    throw Error(ErrorKind::truncate,
                fmt::format("rank 0 has {} bytes and rank {} {}", first.count * first.element, rank,
                            other.count * other.element));
}

// ---- Blocks of any length

void require_room(std::size_t from, std::size_t to, std::size_t bytes, std::size_t room) {
  if (bytes != room)
    throw Error(ErrorKind::truncate,
                fmt::format("rank {} has {} bytes for rank {}, which has room for {}", from, bytes,
                            to, room));
}

void require_fitting_blocks(const std::vector<Told>& told) {
  for (std::size_t from = 0; from < told.size(); ++from)
    for (std::size_t to = 0; to < told.size(); ++to)
      require_room(from, to, told[from].sends[to], told[to].receives[from]);
}

// Bytes of each block from a rank to another, in their order.
using Edges = std::map<std::pair<std::size_t, std::size_t>, std::vector<std::size_t>>;

void require_fitting_edge(std::pair<std::size_t, std::size_t> ranks,
                          const std::vector<std::size_t>& blocks,
                          const std::vector<std::size_t>& rooms) {
  const auto [from, to] = ranks;
  if (blocks.size() != rooms.size())
    throw Error(ErrorKind::argument,
                fmt::format("rank {} has {} blocks for rank {}, which takes {} from it: their "
                            "topologies differ",
                            from, blocks.size(), to, rooms.size()));
  for (std::size_t i = 0; i < blocks.size(); ++i) require_room(from, to, blocks[i], rooms[i]);
}

void require_fitting_edges(const std::vector<Told>& told) {
  Edges sent, received;
  for (std::size_t rank = 0; rank < told.size(); ++rank) {
    const Told& own = told[rank];
    for (std::size_t i = 0; i < own.sends.size(); ++i)
      sent[{rank, own.destinations[i]}].push_back(own.sends[i]);
    for (std::size_t i = 0; i < own.receives.size(); ++i)
      received[{own.sources[i], rank}].push_back(own.receives[i]);
  }
  for (const auto& [ranks, blocks] : sent) require_fitting_edge(ranks, blocks, received[ranks]);
  for (const auto& [ranks, rooms] : received) require_fitting_edge(ranks, sent[ranks], rooms);
}

// ---- Teams

void require_teams(const std::vector<Told>& told) {
  const std::size_t ranks = told.front().team.size();
  for (std::size_t rank = 0; rank < told.size(); ++rank) {
    const std::vector<int>& team = told[rank].team;
    if (team.size() != ranks)
      throw Error(
          ErrorKind::argument,
          fmt::format("rank 0's team has {} ranks and that of rank {} has {}: all teams are "
                      "of equal size",
                      ranks, rank, team.size()));
    for (const int mate : team)
      if (told[static_cast<std::size_t>(mate)].team != team)
        throw Error(ErrorKind::argument,
                    fmt::format("rank {} has rank {} in its team, which names another team: each "
                                "rank is of one",
                                rank, mate));
  }
}

// ---- What they are made of, with PENSTOCK_CHECK

void require_same_elements(const std::vector<Told>& told, std::size_t from, std::size_t to) {
  if (const auto difference = datatype::Signature::difference(told[from].sent, told[to].received))
    throw Error(ErrorKind::argument,
                fmt::format("rank {} sends other elements than rank {} receives "
                            "(PENSTOCK_CHECK=1): {}: give all members datatypes of one signature",
                            from, to, *difference));
}

// MPI asks it of every two members, whether a block goes from the one to the other or not. All are
// compared with the first of them that says what it sends, and with the first that says what it
// receives: so they are with each other.
void require_same_elements(const std::vector<Told>& told) {
  const auto first = [&](datatype::Signature Told::*side) {
    const auto found = std::find_if(told.begin(), told.end(),
                                    [&](const Told& each) { return !(each.*side).says_nothing(); });
    return static_cast<std::size_t>((found == told.end() ? told.begin() : found) - told.begin());
  };
  const std::size_t sender = first(&Told::sent), receiver = first(&Told::received);
  for (std::size_t rank = 0; rank < told.size(); ++rank) {
    require_same_elements(told, sender, rank);
    require_same_elements(told, rank, receiver);
  }
}

}  // namespace

void write_told(core::LetterWriter& letter, const Arguments& arguments, bool with_signatures) {
  letter.value(arguments.kind).value(arguments.in_place).value(arguments.root);
  letter.value(arguments.element).value(arguments.count);
  letter.value(arguments.combination.reduction).value(arguments.combination.element);
  letter.value(arguments.node).value(arguments.gpu >= 0).text(arguments.algorithm);
  letter.text(arguments.refusal).value(arguments.refusal_kind);
  letter.list(bytes_of(arguments.sends)).list(bytes_of(arguments.receives));
  letter.list(arguments.destinations).list(arguments.sources).list(arguments.team);
  const auto nothing = datatype::Signature::of_anything();
  letter.bytes((with_signatures ? arguments.sent : nothing).to_bytes());
  letter.bytes((with_signatures ? arguments.received : nothing).to_bytes());
}

Told read_told(core::LetterReader& letter) {
  Told told;
  told.kind = letter.value<CollectiveKind>();
  told.in_place = letter.value<bool>();
  told.root = letter.value<int>();
  told.element = letter.value<std::size_t>();
  told.count = letter.value<std::size_t>();
  told.reduction = letter.value<transport::Reduction>();
  told.type = letter.value<transport::Element>();
  told.node = letter.value<int>();
  told.on_gpu = letter.value<bool>();
  told.algorithm = letter.text();
  told.refusal = letter.text();
  told.refusal_kind = letter.value<ErrorKind>();
  told.sends = letter.list<std::size_t>();
  told.receives = letter.list<std::size_t>();
  told.destinations = letter.list<int>();
  told.sources = letter.list<int>();
  told.team = letter.list<int>();
  told.sent = datatype::Signature::from_bytes(letter.bytes());
  told.received = datatype::Signature::from_bytes(letter.bytes());
  return told;
}

void require_fitting(const std::vector<Told>& told) {
  for (std::size_t rank = 0; rank < told.size(); ++rank) {
    if (!told[rank].refusal.empty())
      throw Error(told[rank].refusal_kind, fmt::format("rank {}: {}", rank, told[rank].refusal));
    require_alike(told.front(), told[rank], rank);
  }
  switch (told.front().kind) {
    case CollectiveKind::bcast:
      for (std::size_t rank = 0; rank < told.size(); ++rank)
        require_same_elements(told, static_cast<std::size_t>(told.front().root), rank);
      return;
    case CollectiveKind::allgather:
    case CollectiveKind::alltoall:
      return require_same_elements(told);
    case CollectiveKind::alltoallv:
      return require_fitting_blocks(told);
    case CollectiveKind::neighbor_alltoall:
      require_same_elements(told);
      return require_fitting_edges(told);
    case CollectiveKind::neighbor_alltoallv:
      return require_fitting_edges(told);
    case CollectiveKind::team_allreduce:
      return require_teams(told);
    default:
      return;  // reductions compare the datatype itself
  }
}

}  // namespace penstock::coll
