// SPDX-License-Identifier: Apache-2.0
#include "caller_cost.hpp"

#include <chrono>
#include <thread>

#include "host_device.hpp"

namespace penstock::bench {
namespace {

constexpr int chain = 1000;
constexpr int wake_ups = 50;
constexpr int cost_tag = 3;

using PingPong = RequestExchange<QueueCalls>;

// One call of start and one of wait, in ns, while the worker has other work: nobody has to be
// woken.
double time_enqueue(HostStream& host, PingPong& exchange) {
  host.gate.enqueue(host.stream);
  const auto& message = exchange.traffic().leads ? exchange.sends : exchange.receives;
  const double begin = tool::now_us();
  for (int i = 0; i < chain; ++i) {
    exchange.start(message);
    exchange.wait(message);
  }
  const double us = tool::now_us() - begin;
  MPI_Barrier(MPI_COMM_WORLD);
  host.gate.open();
  host.queue.synchronize();
  return us * 1000 / chain;
}

// Half a round trip in us when the host waits for its queue in every iteration, as a program does
// that does not enqueue ahead.
double time_host_wait(HostStream& host, PingPong& exchange) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = tool::now_us();
  for (int i = 0; i < chain; ++i) {
    exchange.trip(false, false);
    host.queue.synchronize();
  }
  return (tool::now_us() - begin) / (2.0 * chain);
}

// A launch on a stream whose worker sleeps: what the call costs, and when the work begins.
void print_wake_up(HostStream& host, const Table& table) {
  std::vector<double> caller, worker;
  for (int i = 0; i < wake_ups; ++i) {
    // Long enough for the worker to stop spinning and sleep, which is the state to be measured.
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    tool::Stamp stamp;
    const double begin = tool::now_us();
    stamp.enqueue(host.stream);
    caller.push_back(tool::now_us() - begin);
    host.stream.synchronize();
    worker.push_back(stamp.us() - begin);
  }
  table.print_cost("launch that wakes a sleeping worker, cost to the caller", "us",
                   tool::summarize(caller));
  table.print_cost("launch that wakes a sleeping worker, until the work begins", "us",
                   tool::summarize(worker));
}

void print_host_wait(const Options& options, const Traffic& traffic, HostStream& host,
                     PingPong& exchange, const Table& table) {
  HostSide mpi_side(
      "mpi", make_host_exchange<MpiCalls>(options, traffic, MemoryKind::malloc, cost_tag + 1), host,
      false);
  std::vector<double> mpi, stream;
  for (int round = 0; round < options.rounds; ++round) {
    mpi.push_back(mpi_side.run_round(chain).us / 2);
    stream.push_back(time_host_wait(host, exchange));
  }
  const tool::Summary mpi_summary = tool::summarize(mpi);
  table.print_cost("8 bytes, PST_Queue_wait in every iteration, half round trip", "us",
                   tool::summarize(stream), &mpi_summary);
}

}  // namespace

void print_caller_costs(const Options& given, const tool::Session& session, const Table& table) {
  Options options;
  options.memory = given.memory;
  options.rounds = given.rounds;
  options.sizes = {8};
  const Traffic traffic = rows_of(options, session).front().traffic;
  HostStream host;
  const auto exchange =
      make_host_exchange<QueueCalls>(options, traffic, options.memory, cost_tag, host.queue);
  std::vector<double> ns;
  for (int round = 0; round < options.rounds; ++round) ns.push_back(time_enqueue(host, *exchange));
  table.print_cost("start + wait, cost to the caller, worker awake", "ns", tool::summarize(ns));
  print_wake_up(host, table);
  print_host_wait(options, traffic, host, *exchange, table);
}

}  // namespace penstock::bench
