// SPDX-License-Identifier: Apache-2.0
// penstock bench: the command line of the benchmarks.
#include "bench.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "bag.hpp"
#include "baselines.hpp"
#include "bench_options.hpp"
#include "channel.hpp"
#include "collective_algorithms.hpp"
#include "device.hpp"
#include "overlap.hpp"
#include "pairs.hpp"
#include "round_options.hpp"

namespace penstock::bench {
namespace {

const std::map<std::string, Mode> modes{
    {"standard", Mode::standard}, {"ready", Mode::ready}, {"synchronous", Mode::synchronous}};
const std::map<std::string, Order> orders{{"sequential", Order::sequential},
                                          {"preposted", Order::preposted},
                                          {"run", Order::run},
                                          {"inside", Order::inside}};

const std::map<std::string, Pairs> pairings{{"neighbours", Pairs::neighbours}, {"all", Pairs::all}};

// Of bench rma, where none are named: a row takes seconds, as seven sides take their turns.
const std::vector<std::size_t> sizes_of_puts{
    8, 64, 512, 4096, 32768, 262144, std::size_t{2} << 20, std::size_t{16} << 20};

void add_sizes_option(CLI::App& app, Options& options) {
  app.add_option("--sizes", options.sizes,
                 "These sizes in bytes, with commas, instead of --min to --max")
      ->delimiter(',')
      ->check(size_of_message());
}

void add_size_options(CLI::App& app, Options& options) {
  app.add_option("--min", options.min_bytes, "Smallest message in bytes")
      ->check(size_of_message())
      ->capture_default_str();
  app.add_option("--max", options.max_bytes,
                 "Largest message in bytes; sizes grow by powers of two")
      ->check(size_of_message())
      ->capture_default_str();
}

void add_baseline_option(CLI::App& app, Options& options, const std::string& text) {
  app.add_option("--baseline", options.baselines,
                 "Measure these beside Penstock, with commas. " + text)
      ->delimiter(',')
      ->check(CLI::IsMember(baseline_names(options.kind)));
}

void add_message_options(CLI::App& app, Options& options) {
  app.add_option("--rows", options.layout.row,
                 "Messages lie in rows of so many bytes, each followed by a gap, and are a "
                 "vector datatype; baselines contiguous (as many bytes without gaps, the default), "
                 "packed (by functions or kernels on the stream), and with --device cuda mpi "
                 "(MPI's own packing). Sizes that are not a multiple are skipped")
      ->check(size_of_message(1));
  app.add_option("--gap", options.layout.gap, "Bytes of the gaps (default: as long as a row)")
      ->check(size_of_message(1));
  add_choice(app, "--send", options.mode, modes,
             "Mode of the sends, of both sides (default: standard)");
  add_choice(
      app, "--order", options.order, orders,
      "Receives started right before their wait (sequential, the default), one iteration "
      "ahead (preposted), or so by calls that start and wait at once (run: a send with the "
      "next receive); with --device cuda inside: one kernel makes all trips of bench latency");
  app.add_flag("--pack", options.pack, "cuda: a pack and an unpack kernel each way");
  add_baseline_option(
      app, options,
      "cuda: nccl, nvshmem "
      "(put with signal), nvshmem-add (signals added to, not set), mpi, enqueued, promised; "
      "latency and "
      "halo also "
      "windows (one-sided epochs by Penstock, on the stream). "
      "host: mpi-nonblocking (MPI_Isend, MPI_Irecv), enqueued (Penstock's messages that MPI "
      "matches; at MPI_THREAD_MULTIPLE), promised (the same, enqueued at both ends by promise); "
      "latency "
      "and halo also windows and "
      "mpi-windows (the same by MPI); latency also "
      "ofi-chain, ofi-chain-direct, ofi-chain-auto, ofi-chain-auto-direct "
      "(libfabric's deferred write and atomic alone)");
  app.add_flag("--check", options.check,
               "Fill and verify every byte of every message; times include that");
}

void add_collective_options(CLI::App& app, Options& options) {
  app.add_option("--algorithm", options.algorithms,
                 "A row for each of these, with commas (default: the library chooses); all: " +
                     CLI::detail::join(algorithms_of(options.kind), ", "))
      ->delimiter(',');
  add_baseline_option(app, options,
                      "mpi (its blocking collective behind a synchronisation of the stream), "
                      "mpi-alone (without it; with --device host both are the default) and with "
                      "--device cuda nccl; alltoallv also rma-fence, rma-lock (puts into a window "
                      "of MPI's, made anew each time), rma-fence-persistent and "
                      "rma-lock-persistent (made once)");
}

void settle_collective(Options& options) {
  if (std::ranges::count(options.algorithms, "all") > 0)
    options.algorithms = algorithms_of(options.kind);
  if (options.baselines.empty() && !options.on_cuda()) options.baselines = {"mpi", mpi_alone};
  if (!is_reduction(options.kind)) return;
  for (const std::size_t size : message_sizes(options))
    if (size % sizeof(double) != 0)
      throw CLI::ValidationError("--sizes", std::to_string(size) +
                                                " bytes are no whole number of doubles: the sizes "
                                                "of sums are multiples of " +
                                                std::to_string(sizeof(double)));
}

// A ready send promises that its receive has been started, which the sequential order does not
// give.
void settle(Options& options, const tool::Command& command) {
  if (options.min_bytes > options.max_bytes)
    throw CLI::ValidationError("--min", "must not be larger than --max");
  if (options.order == Order::inside &&
      (!options.on_cuda() || options.kind != Kind::latency || options.check || options.pack ||
       options.graph || options.layout.has_gaps() || options.mode == Mode::ready))
    throw CLI::ValidationError("--order inside",
                               "is for bench latency --device cuda, without --graph, --check, "
                               "--pack, --rows and ready sends");
  if (options.mode == Mode::ready && options.order == Order::run)
    throw CLI::ValidationError("--order run",
                               "enqueues a send and the next receive at once, which proves nothing "
                               "to ready sends: choose --order preposted");
  if (options.mode == Mode::ready) options.order = Order::preposted;
  if (options.mode == Mode::ready && options.on_cuda())
    throw CLI::ValidationError(
        "--send ready",
        "is for --device host: on a GPU a trip starts its receive in one call with the send that "
        "the peer answers, and the starts of one call have no order");
  options.transport = command.transport;
  if (!options.on_cuda() && (options.graph || options.pack))
    throw CLI::ValidationError("--graph and --pack", "are for --device cuda");
  if (options.layout.has_gaps() && (is_exchange(options.kind) || options.kind == Kind::rma))
    throw CLI::ValidationError("--rows", "is for latency, bw, multi-pair and message-rate");
  if (options.layout.has_gaps() && options.pack)
    throw CLI::ValidationError("--pack", "is for messages without --rows");
  if (options.layout.has_gaps() && message_sizes(options).empty())
    throw CLI::ValidationError("--rows", "no size is a multiple of a row: name some by --sizes");
  if (!options.layout.has_gaps() && options.layout.gap > 0)
    throw CLI::ValidationError("--gap", "is for messages in --rows");
  if (options.layout.gap == 0) options.layout.gap = options.layout.row;
  if (options.layout.has_gaps() && options.baselines.empty()) options.baselines = {"contiguous"};
  if (is_collective(options.kind)) settle_collective(options);
  require_known_baselines(options);
}

void add_halo_option(CLI::App& app, Options& options) {
  app.add_option("--halo", options.halo, "Edges of cubes of doubles, with commas")
      ->delimiter(',')
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
}

void add_window_option(CLI::App& app, Options& options) {
  app.add_option("--window", options.window,
                 "Messages in flight; fewer when they exceed 16 MiB together")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
}

// What is sent, and how much of it.
void add_traffic_options(CLI::App& app, Options& options) {
  const Kind kind = options.kind;
  if (is_collective(kind))
    add_collective_options(app, options);
  else
    add_message_options(app, options);
  if (kind == Kind::barrier) return;
  if (kind != Kind::halo) add_sizes_option(app, options);
  if (is_exchange(kind))
    add_halo_option(app, options);
  else if (kind != Kind::rma)
    add_size_options(app, options);
  if (is_windowed(kind)) add_window_option(app, options);
  if (kind == Kind::exchange)
    add_choice(app, "--pairs", options.pairs, pairings,
               "Who exchanges: neighbours (0 with 1, 2 with 3, ...; the default) or all with all");
}

void add_benchmark(CLI::App& parent, tool::Command& command, const Benchmark& benchmark) {
  const auto options = std::make_shared<Options>();
  options->kind = benchmark.kind;
  if (benchmark.kind == Kind::message_rate) options->max_bytes = 1024;
  if (benchmark.kind == Kind::rma) options->sizes = sizes_of_puts;
  CLI::App* const app = parent.add_subcommand(benchmark.command, benchmark.text);
  add_round_options(*app, *options);
  app->add_flag("--json", options->as_json,
                "Print JSON, a line for each row: the lines together are not one JSON text");
  add_traffic_options(*app, *options);
  tool::add_run_options(*app, command);
  app->callback([options, &command] {
    settle(*options, command);
    command.run = [options](const tool::Session& session) {
      return run_benchmark(*options, session);
    };
  });
}

}  // namespace

void add_bench(CLI::App& parent, tool::Command& command) {
  CLI::App* app = parent.add_subcommand(
      "bench", "Measure messages and collectives, beside plain MPI and others");
  app->require_subcommand(1);
  for (const Benchmark& benchmark : benchmarks) add_benchmark(*app, command, benchmark);
  add_bag(*app, command);
  add_channel(*app, command);
  add_overlap(*app, command);
  add_pairs(*app, command);
}

}  // namespace penstock::bench
