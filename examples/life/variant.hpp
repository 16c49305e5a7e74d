// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "board.hpp"
#include "decomposition.hpp"

namespace penstock::life {

// How long some steps took on this rank, in us: until the last was done, and before that what enqueueing them cost the
// host.
struct Duration {
  double steps_us;
  double enqueue_us;
};

// One way to exchange the halos, with its own requests and buffers. Every variant packs, sends, unpacks and computes
// alike.
class Variant {
 public:
  virtual ~Variant() = default;

  virtual const char* name() const = 0;
  // The transport that carries the messages.
  virtual std::string transport() const = 0;
  // Plays `steps` generations on the board. Collective: all ranks begin together.
  virtual Duration play(Board& board, int steps) = 0;
};

// Plain persistent requests, driven by the host: the baseline.
std::unique_ptr<Variant> make_plain_mpi(const Decomposition& decomposition, int rank, const Board& board);
// Stream-triggered standard sends.
std::unique_ptr<Variant> make_standard_send(const Decomposition& decomposition, int rank, const Board& board);
// Stream-triggered ready sends with two sets of halo buffers.
std::unique_ptr<Variant> make_ready_send(const Decomposition& decomposition, int rank, const Board& board);

}  // namespace penstock::life
