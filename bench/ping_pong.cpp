// SPDX-License-Identifier: Apache-2.0
#include "ping_pong.hpp"

namespace penstock::bench {
namespace {

// Counts its own iterations: one object serves a whole program of launches.
struct Fill {
  PingPong& side;
  std::uint64_t iteration = 0;
  void operator()() noexcept {
    fill_pattern(side.outgoing.all(), static_cast<std::uint64_t>(side.rank), iteration++);
  }
};

struct Check {
  PingPong& side;
  std::uint64_t iteration = 0;
  void operator()() noexcept {
    side.check_result.add(side.incoming.all(), static_cast<std::uint64_t>(1 - side.rank),
                          iteration++);
  }
};

// Rank 0 sends first. Preposted: its receive stands before the message that lets rank 1 answer.
template <class Engine>
void ping(Engine& engine, PingPong& side, Order order, Fill* fill, Check* check) {
  if (order == Order::preposted) engine.start(side.receive);
  if (fill != nullptr) engine.run(*fill);
  engine.start(side.send);
  engine.wait(side.send);
  if (order == Order::sequential) engine.start(side.receive);
  engine.wait(side.receive);
  if (check != nullptr) engine.run(*check);
}

// Preposted: the receive of the next iteration is started before the answer that lets rank 0 send
// it.
template <class Engine>
void pong(Engine& engine, PingPong& side, Order order, bool last, Fill* fill, Check* check) {
  if (order == Order::sequential) engine.start(side.receive);
  engine.wait(side.receive);
  if (check != nullptr) engine.run(*check);
  if (order == Order::preposted && !last) engine.start(side.receive);
  if (fill != nullptr) engine.run(*fill);
  engine.start(side.send);
  engine.wait(side.send);
}

template <class Engine>
double time_any_round(Engine& engine, PingPong& side, Iterations iterations, Order order,
                      bool check) {
  Fill fill{side};
  Check verify{side};
  Fill* const fills = check ? &fill : nullptr;
  Check* const checks = check ? &verify : nullptr;
  const int total = iterations.warm_up + iterations.timed;
  const auto prepare = [&] {
    if (side.rank == 1 && order == Order::preposted) engine.start(side.receive);
  };
  const auto program = [&] {
    for (int i = 0; i < total; ++i) {
      if (i == iterations.warm_up) engine.mark_begin();
      if (side.rank == 0) {
        ping(engine, side, order, fills, checks);
      } else {
        pong(engine, side, order, i + 1 == total, fills, checks);
      }
    }
    engine.mark_end();
  };
  return run_round(engine, prepare, program) / (2.0 * iterations.timed);
}

}  // namespace

PingPong::PingPong(std::size_t bytes, MemoryKind memory, Mode mode, int own_rank, int tag,
                   Calls calls)
    : rank(own_rank),
      outgoing(bytes, memory),
      incoming(bytes, memory),
      send({{outgoing.all(), 1 - rank, tag, true}}, mode, calls),
      receive({{incoming.all(), 1 - rank, tag, false}}, mode, calls) {}

// Rank 0's send and rank 1's receive first, on both.
void PingPong::match() {
  penstock::match((rank == 0 ? send : receive).requests());
  penstock::match((rank == 0 ? receive : send).requests());
}

double time_round(MpiEngine& engine, PingPong& side, Iterations iterations, Order order,
                  bool check) {
  return time_any_round(engine, side, iterations, order, check);
}

double time_round(NonblockingEngine& engine, PingPong& side, Iterations iterations, Order order,
                  bool check) {
  return time_any_round(engine, side, iterations, order, check);
}

double time_round(StreamEngine& engine, PingPong& side, Iterations iterations, Order order,
                  bool check) {
  return time_any_round(engine, side, iterations, order, check);
}

}  // namespace penstock::bench
