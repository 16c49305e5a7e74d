// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine.hpp"
#include "pattern.hpp"
#include "storage.hpp"

namespace penstock::bench {

// One rank's side of a ping-pong of messages of one size.
struct PingPong {
  PingPong(std::size_t bytes, MemoryKind memory, Mode mode, int rank, int tag,
           Calls calls = Calls::persistent);
  void match();

  int rank;
  Storage outgoing;
  Storage incoming;
  Batch send;
  Batch receive;
  CheckResult check_result;
};

struct Iterations {
  int warm_up;
  int timed;
};

// Half a round trip in us, from one round of plain MPI or of the stream.
double time_round(MpiEngine& engine, PingPong& side, Iterations iterations, Order order,
                  bool check);
double time_round(NonblockingEngine& engine, PingPong& side, Iterations iterations, Order order,
                  bool check);
double time_round(StreamEngine& engine, PingPong& side, Iterations iterations, Order order,
                  bool check);

}  // namespace penstock::bench
