// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <penstock/penstock.hpp>
#include <span>
#include <string>

#include "board.hpp"

namespace penstock::life {

// One set of buffers for the messages to and from the eight neighbours: an edge row, an edge column or a corner cell
// each.
class Halo {
 public:
  explicit Halo(const Board& board);

  // The message that goes in this direction, and the one that comes from the neighbour there.
  std::span<std::uint8_t> outgoing(int direction) noexcept { return slice(0, direction); }
  std::span<std::uint8_t> incoming(int direction) noexcept { return slice(1, direction); }

  void pack(const Board& board) noexcept;
  void unpack(Board& board) noexcept;

 private:
  std::span<std::uint8_t> slice(int side, int direction) noexcept;

  std::array<std::size_t, 9> offsets_;
  std::array<std::size_t, 8> sizes_;
  Buffer<std::uint8_t> memory_;
};

// The persistent requests of one halo: the eight receives, then the eight sends.
class HaloRequests {
 public:
  // `set` tells the messages of several halos of one rank apart.
  HaloRequests(Halo& halo, const Decomposition& decomposition, int rank, Mode mode, int set = 0);

  std::span<MPI_Request> all() noexcept { return requests_.all(); }
  std::span<MPI_Request> receives() noexcept { return all().first(8); }
  std::span<MPI_Request> sends() noexcept { return all().last(8); }
  std::string transport() const { return requests_[0].transport(); }

 private:
  Requests requests_;
};

}  // namespace penstock::life
