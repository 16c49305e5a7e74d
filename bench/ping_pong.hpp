// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine.hpp"
#include "pattern.hpp"
#include "storage.hpp"

namespace penstock::bench {

// One rank's side of a ping-pong of messages of one size.
struct PingPong {
  PingPong(std::size_t bytes, MemoryKind memory, Mode mode, int rank, int tag);

  std::span<MPI_Request> send() noexcept { return requests.all().subspan(0, 1); }
  std::span<MPI_Request> receive() noexcept { return requests.all().subspan(1, 1); }

  int rank;
  Storage outgoing;
  Storage incoming;
  Requests requests;
  CheckResult check_result;
};

struct Iterations {
  int warm_up;
  int timed;
};

// Half a round trip in us, from one round of plain MPI or of the stream.
double time_round(MpiEngine& engine, PingPong& side, Iterations iterations, Order order, bool check);
double time_round(StreamEngine& engine, PingPong& side, Iterations iterations, Order order, bool check);

}  // namespace penstock::bench
