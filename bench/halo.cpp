// SPDX-License-Identifier: Apache-2.0
// penstock bench halo: all ranks exchange with their 26 neighbours, in one start and one wait a
// step.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "bench_table.hpp"
#include "measurement.hpp"
#include "rank_grid.hpp"
#include "storage.hpp"

namespace penstock::bench {
namespace {

// Those of the messages, by direction, begin here.
constexpr int mpi_tag = 100;
constexpr int stream_tag = 200;
constexpr int nonblocking_tag = 300;

constexpr std::size_t line = 64;

std::size_t rounded(std::size_t bytes) {
  return (bytes + line - 1) / line * line;
}

std::size_t room_for(const std::vector<HaloMessage>& messages) {
  std::size_t bytes = 0;
  for (const HaloMessage& each : messages) bytes += rounded(each.bytes);
  return bytes;
}

// One rank's messages: those that it sends first, then those that it receives.
struct Halo {
  Halo(std::vector<HaloMessage> all, int own_rank, MemoryKind memory, Mode mode, int tag,
       Calls calls)
      : messages(std::move(all)),
        rank(own_rank),
        outgoing(room_for(messages), memory),
        incoming(room_for(messages), memory),
        batch(transfers(tag), mode, calls) {}

  std::span<std::byte> sent(std::size_t i) const { return batch.transfers()[i].bytes; }
  std::span<std::byte> received(std::size_t i) const {
    return batch.transfers()[messages.size() + i].bytes;
  }

  const std::vector<HaloMessage> messages;
  const int rank;
  Storage outgoing;
  Storage incoming;
  Batch batch;
  CheckResult check_result;

 private:
  std::vector<Transfer> transfers(int tag) {
    std::vector<Transfer> all;
    for (const bool sends : {true, false}) {
      std::size_t at = 0;
      for (const HaloMessage& each : messages) {
        const std::span<std::byte> bytes =
            (sends ? outgoing : incoming).all().subspan(at, each.bytes);
        all.push_back({bytes, sends ? each.to : each.from, tag + each.direction, sends});
        at += rounded(each.bytes);
      }
    }
    return all;
  }
};

// What is in a message depends on who sends it, in which direction.
std::uint64_t sender_of(int rank, const HaloMessage& message) {
  return static_cast<std::uint64_t>(rank) * 27 + static_cast<std::uint64_t>(message.direction);
}

struct Fill {
  Halo& side;
  std::uint64_t step = 0;
  void operator()() noexcept {
    for (std::size_t i = 0; i < side.messages.size(); ++i)
      fill_pattern(side.sent(i), sender_of(side.rank, side.messages[i]), step);
    ++step;
  }
};

struct Check {
  Halo& side;
  std::uint64_t step = 0;
  void operator()() noexcept {
    for (std::size_t i = 0; i < side.messages.size(); ++i)
      side.check_result.add(side.received(i), sender_of(side.messages[i].from, side.messages[i]),
                            step);
    ++step;
  }
};

struct StepTime {
  double us;
  double call_us;  // of the caller
};

template <class Engine>
StepTime time_step(Engine& engine, Halo& side, int steps, bool check) {
  Fill fill{side};
  Check verify{side};
  const int warm_up = std::max(1, steps / 10);
  const auto program = [&] {
    for (int i = 0; i < warm_up + steps; ++i) {
      if (i == warm_up) engine.mark_begin();
      if (check) engine.run(fill);
      engine.start(side.batch);
      engine.wait(side.batch);
      if (check) engine.run(verify);
    }
    engine.mark_end();
  };
  double call_us = 0;
  const double us = run_round(
      engine, [] {}, program, &call_us);
  return {slowest(us) / steps, call_us / (warm_up + steps)};
}

int steps_for(const Options& options, std::size_t bytes) {
  if (options.iterations > 0) return options.iterations;
  constexpr std::size_t fewest = 100, most = 2000, volume = std::size_t{512} << 20;
  return static_cast<int>(std::clamp(volume / std::max<std::size_t>(1, bytes), fewest, most));
}

void measure_edge(const Options& options, const tool::Session& session, std::size_t edge,
                  StreamEngine& stream_engine, Table& table, bool first) {
  const std::vector<HaloMessage> messages = halo_messages(session.rank(), session.size(), edge);
  const auto make_side = [&](MemoryKind memory, int tag, Calls calls) {
    return Halo(messages, session.rank(), memory, options.mode, tag, calls);
  };
  Halo mpi_side = make_side(MemoryKind::malloc, mpi_tag, Calls::persistent);
  Halo plain_side = make_side(MemoryKind::malloc, nonblocking_tag, Calls::nonblocking);
  Halo stream_side = make_side(options.memory, stream_tag, Calls::persistent);
  match(stream_side.batch.requests());
  const std::string transport = RequestView(stream_side.batch.requests()[0]).transport();
  require_transport(options, transport);
  if (first) table.print_header(transport, options.baselines);

  std::size_t bytes = 0;
  for (const HaloMessage& each : messages) bytes += each.bytes;
  const int steps = steps_for(options, bytes);
  MpiEngine mpi_engine;
  NonblockingEngine nonblocking_engine;
  std::vector<double> caller_ns;
  const auto stream_round = [&] {
    const StepTime time = time_step(stream_engine, stream_side, steps, options.check);
    caller_ns.push_back(time.call_us * 1000 / static_cast<double>(2 * messages.size()));
    return time.us;
  };
  std::vector<Contender> contenders{
      {"penstock", stream_round},
      {"mpi", [&] { return time_step(mpi_engine, mpi_side, steps, options.check).us; }}};
  if (!options.baselines.empty())
    contenders.push_back(
        {nonblocking,
         [&] { return time_step(nonblocking_engine, plain_side, steps, options.check).us; }});
  Measurement measurement{.bytes = bytes,
                          .messages = messages.size(),
                          .iterations = steps,
                          .figures = measure(options.rounds, contenders),
                          .moved = static_cast<double>(bytes) * session.size(),
                          .edge = edge};
  measurement.caller_ns = tool::summarize(caller_ns);
  if (options.check) {
    require_right(mpi_side.check_result, "MPI", bytes);
    require_right(stream_side.check_result, "Penstock", bytes);
    if (!options.baselines.empty()) require_right(plain_side.check_result, nonblocking, bytes);
  }
  table.print(measurement);
}

}  // namespace

int run_halo(const Options& given, const tool::Session& session) {
  if (given.mode == Mode::ready)
    throw tool::UserError(
        "bench halo starts sends and receives together, so that sends cannot be ready");
  Options options = given;
  options.baselines = only_nonblocking(given, "halo");
  const auto grid = rank_grid(session.size());
  Table table("halo", "us",
              fmt::format("a step, 26 messages each way on a periodic grid of {} x {} x {} ranks",
                          grid[0], grid[1], grid[2]),
              options, session);
  StreamEngine stream_engine;
  bool first = true;
  for (const std::size_t edge : options.halo)
    measure_edge(options, session, edge, stream_engine, table, std::exchange(first, false));
  return 0;
}

}  // namespace penstock::bench
