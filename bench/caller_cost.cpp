// SPDX-License-Identifier: Apache-2.0
#include "caller_cost.hpp"

#include <chrono>
#include <thread>

#include "measurement.hpp"
#include "ping_pong.hpp"

namespace penstock::bench {
namespace {

constexpr int chain = 1000;
constexpr int wake_ups = 50;
constexpr std::size_t bytes = 8;
constexpr int tag = 3;

// One call of start and one of wait, in ns, while the worker has other work: nobody has to be
// woken.
double time_enqueue(StreamEngine& engine, PingPong& side) {
  tool::Gate gate;
  gate.enqueue(engine.stream());
  Batch& message = side.rank == 0 ? side.send : side.receive;
  const double begin = tool::now_us();
  for (int i = 0; i < chain; ++i) {
    engine.start(message);
    engine.wait(message);
  }
  const double us = tool::now_us() - begin;
  MPI_Barrier(MPI_COMM_WORLD);
  gate.open();
  engine.queue().synchronize();
  return us * 1000 / chain;
}

struct WakeUp {
  double caller_us;
  double worker_us;
};

// A launch on a stream whose worker sleeps: what the call costs, and when the work begins.
WakeUp time_wake_up(StreamView stream) {
  // Long enough for the worker to stop spinning and sleep, which is the state to be measured.
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  tool::Stamp stamp;
  const double begin = tool::now_us();
  stamp.enqueue(stream);
  const double enqueued = tool::now_us();
  stream.synchronize();
  return {enqueued - begin, stamp.us() - begin};
}

// Half a round trip in us when the host waits for its queue in every iteration, as a program does
// that does not enqueue ahead.
double time_host_wait(StreamEngine& engine, PingPong& side) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = tool::now_us();
  for (int i = 0; i < chain; ++i) {
    Batch& first = side.rank == 0 ? side.send : side.receive;
    Batch& second = side.rank == 0 ? side.receive : side.send;
    engine.start(first);
    engine.wait(first);
    engine.start(second);
    engine.wait(second);
    engine.queue().synchronize();
  }
  return (tool::now_us() - begin) / (2.0 * chain);
}

void print_enqueue(const Options& options, StreamEngine& engine, PingPong& side,
                   const Table& table) {
  std::vector<double> ns;
  for (int round = 0; round < options.rounds; ++round) ns.push_back(time_enqueue(engine, side));
  table.print_cost("start + wait, cost to the caller, worker awake", "ns", tool::summarize(ns));
}

void print_wake_up(StreamEngine& engine, const Table& table) {
  std::vector<double> caller;
  std::vector<double> worker;
  for (int i = 0; i < wake_ups; ++i) {
    const WakeUp time = time_wake_up(engine.stream());
    caller.push_back(time.caller_us);
    worker.push_back(time.worker_us);
  }
  table.print_cost("launch that wakes a sleeping worker, cost to the caller", "us",
                   tool::summarize(caller));
  table.print_cost("launch that wakes a sleeping worker, until the work begins", "us",
                   tool::summarize(worker));
}

void print_host_wait(const Options& options, StreamEngine& engine, PingPong& side,
                     const Table& table) {
  MpiEngine mpi_engine;
  PingPong mpi_side(bytes, MemoryKind::malloc, Mode::standard, side.rank, tag + 1);
  std::vector<double> mpi;
  std::vector<double> stream;
  for (int round = 0; round < options.rounds; ++round) {
    mpi.push_back(time_round(mpi_engine, mpi_side, {chain / 10, chain}, Order::sequential, false));
    stream.push_back(time_host_wait(engine, side));
  }
  const tool::Summary mpi_summary = tool::summarize(mpi);
  table.print_cost("8 bytes, PST_Queue_wait in every iteration, half round trip", "us",
                   tool::summarize(stream), &mpi_summary);
}

}  // namespace

void print_caller_costs(const Options& options, const tool::Session& session, const Table& table) {
  StreamEngine engine;
  PingPong side(bytes, options.memory, Mode::standard, session.rank(), tag);
  side.match();
  print_enqueue(options, engine, side, table);
  print_wake_up(engine, table);
  print_host_wait(options, engine, side, table);
}

}  // namespace penstock::bench
