// SPDX-License-Identifier: Apache-2.0
// penstock bench: the command line of the benchmarks.
#include "bench.hpp"

#include <algorithm>
#include <charconv>
#include <memory>
#include <string>
#include <vector>

#include "bench_options.hpp"
#include "run_delay.hpp"

namespace penstock::bench {
namespace {

const std::map<std::string, Mode> modes{
    {"standard", Mode::standard}, {"ready", Mode::ready}, {"synchronous", Mode::synchronous}};
const std::map<std::string, DeviceKind> devices{{"host", DeviceKind::host},
                                                {"cuda", DeviceKind::cuda}};
const std::map<std::string, MemoryKind> memories{{"alloc", MemoryKind::alloc},
                                                 {"malloc", MemoryKind::malloc}};
const std::map<std::string, Order> orders{{"sequential", Order::sequential},
                                          {"preposted", Order::preposted}};

const std::map<std::string, Pairs> pairings{{"neighbours", Pairs::neighbours}, {"all", Pairs::all}};

// One word of a list, kept as the value that the list gives it.
template <class Value>
void add_choice(CLI::App& app, const std::string& name, Value& value,
                const std::map<std::string, Value>& choices, const std::string& text) {
  std::vector<std::string> words;
  for (const auto& choice : choices) words.push_back(choice.first);
  app.add_option_function<std::string>(
         name, [&value, &choices](const std::string& word) { value = choices.at(word); }, text)
      ->type_name("WORD")
      ->check(CLI::IsMember(words));
}

const std::vector<std::string> cuda_baselines{"nccl", "nvshmem", "nvshmem-add", "mpi"};
const std::vector<std::string> host_baselines{"mpi-nonblocking", "ofi-chain", "ofi-chain-direct",
                                              "ofi-chain-auto", "ofi-chain-auto-direct"};

std::vector<std::string> baseline_names() {
  std::vector<std::string> names = cuda_baselines;
  names.insert(names.end(), host_baselines.begin(), host_baselines.end());
  return names;
}

void require_known_baselines(const Options& options) {
  const std::vector<std::string>& known =
      options.device == DeviceKind::cuda ? cuda_baselines : host_baselines;
  for (const std::string& name : options.baselines)
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw CLI::ValidationError("--baseline",
                                 name + " is not one of --device " +
                                     (options.device == DeviceKind::cuda ? "cuda" : "host"));
}

// A whole number that the type of the option holds: CLI11 takes "-5" for a large one.
CLI::Validator size_of_message() {
  constexpr std::size_t most = std::size_t{1} << 30;
  return {[](const std::string& text) {
            std::size_t size = 0;
            const char* const end = text.data() + text.size();
            const auto [stop, failure] = std::from_chars(text.data(), end, size);
            if (failure == std::errc{} && stop == end && size <= most) return std::string();
            return text + " is not a whole number of bytes from 0 to " + std::to_string(most);
          },
          "BYTES"};
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

void add_common_options(CLI::App& app, Options& options) {
  app.add_option("--rounds", options.rounds, "Rounds of each side, interleaved")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  app.add_option("--iterations", options.iterations,
                 "Timed iterations in a round, all enqueued ahead (default: by size)")
      ->check(CLI::Range(1, 10000000));
  add_choice(app, "--memory", options.memory, memories,
             "Penstock's buffers: alloc (PST_Alloc_mem, the default) or malloc");
  add_choice(app, "--send", options.mode, modes,
             "Mode of the sends, of both sides (default: standard)");
  add_choice(app, "--order", options.order, orders,
             "Receives started right before their wait (sequential, the default) or one iteration "
             "ahead (preposted)");
  add_choice(app, "--device", options.device, devices,
             "Streams and memory of: host (the default) or cuda");
  app.add_option("--sizes", options.sizes,
                 "These sizes in bytes, with commas, instead of --min to --max")
      ->delimiter(',')
      ->check(size_of_message());
  app.add_flag("--graph", options.graph, "cuda: capture the program and launch its graph");
  app.add_flag("--pack", options.pack, "cuda: a pack and an unpack kernel each way");
  app.add_option("--baseline", options.baselines,
                 "Measure these beside Penstock, with commas. cuda: nccl, nvshmem (put with "
                 "signal), nvshmem-add "
                 "(signals added to, not set), mpi. host: mpi-nonblocking (MPI_Isend, MPI_Irecv); "
                 "latency also ofi-chain, "
                 "ofi-chain-direct, ofi-chain-auto, ofi-chain-auto-direct (libfabric's deferred "
                 "write and atomic alone)")
      ->delimiter(',')
      ->check(CLI::IsMember(baseline_names()));
  app.add_flag("--check", options.check,
               "Fill and verify every byte of every message; times include that");
  app.add_flag("--json", options.as_json,
               "Print JSON, a line for each row: the lines together are not one JSON text");
}

using Run = int (*)(const Options&, const tool::Session&);
#if PENSTOCK_CUDA
constexpr Run cuda_latency = run_cuda_latency;
constexpr Run cuda_bandwidth = run_cuda_bandwidth;
constexpr Run cuda_multi_pair = run_cuda_multi_pair;
constexpr Run cuda_exchange = run_cuda_exchange;
constexpr Run cuda_message_rate = run_cuda_message_rate;
constexpr Run cuda_halo = run_cuda_halo;
#else
int refuse_cuda(const Options&, const tool::Session&) {
  throw tool::UserError("--device cuda: this command is built without CUDA");
}
constexpr Run cuda_latency = refuse_cuda;
constexpr Run cuda_bandwidth = refuse_cuda;
constexpr Run cuda_multi_pair = refuse_cuda;
constexpr Run cuda_exchange = refuse_cuda;
constexpr Run cuda_message_rate = refuse_cuda;
constexpr Run cuda_halo = refuse_cuda;
#endif

int refuse_host_exchange(const Options&, const tool::Session&) {
  throw tool::UserError("bench exchange measures CUDA streams: give --device cuda");
}

// A ready send promises that its receive has been started, which the sequential order does not
// give.
void settle(Options& options, const tool::Command& command) {
  if (options.min_bytes > options.max_bytes)
    throw CLI::ValidationError("--min", "must not be larger than --max");
  if (options.mode == Mode::ready) options.order = Order::preposted;
  options.transport = command.transport;
  if (options.device == DeviceKind::host && (options.graph || options.pack))
    throw CLI::ValidationError("--graph and --pack", "are for --device cuda");
  require_known_baselines(options);
}

CLI::App* add_benchmark(CLI::App& parent, tool::Command& command, const std::string& name,
                        const std::string& text, Run run, Run cuda_run,
                        const std::shared_ptr<Options>& options) {
  CLI::App* app = parent.add_subcommand(name, text);
  add_common_options(*app, *options);
  tool::add_run_options(*app, command);
  app->callback([=, &command] {
    settle(*options, command);
    const Run chosen = options->device == DeviceKind::cuda ? cuda_run : run;
    command.run = [options, chosen](const tool::Session& session) {
      const int status = chosen(*options, session);
      warn_of_run_delay(session);
      return status;
    };
  });
  return app;
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

void add_windows(CLI::App& parent, tool::Command& command, const std::string& name,
                 const std::string& text, Run run, Run cuda_run, std::size_t max_bytes) {
  const auto options = std::make_shared<Options>();
  options->max_bytes = max_bytes;
  CLI::App* app = add_benchmark(parent, command, name, text, run, cuda_run, options);
  add_size_options(*app, *options);
  add_window_option(*app, *options);
}

void add_halo(CLI::App& parent, tool::Command& command) {
  const auto options = std::make_shared<Options>();
  CLI::App* app = add_benchmark(
      parent, command, "halo",
      "Steps of an exchange with the 26 neighbours of a periodic 3D grid of ranks: faces, "
      "edges and corners, in one start and one wait",
      run_halo, cuda_halo, options);
  app->remove_option(app->get_option("--sizes"));  // its sizes are the halo's
  add_halo_option(*app, *options);
}

void add_exchange(CLI::App& parent, tool::Command& command) {
  const auto options = std::make_shared<Options>();
  CLI::App* app = add_benchmark(
      parent, command, "exchange",
      "CUDA: every rank sends and receives at once, in one start and one wait: the 26 "
      "messages of a halo, or with --sizes one of each size in turn",
      refuse_host_exchange, cuda_exchange, options);
  add_halo_option(*app, *options);
  add_choice(*app, "--pairs", options->pairs, pairings,
             "Who exchanges: neighbours (0 with 1, 2 with 3, ...; the default) or all with all");
}

}  // namespace

void add_bench(CLI::App& parent, tool::Command& command) {
  CLI::App* app = parent.add_subcommand(
      "bench", "Measure messages between ranks, beside plain MPI persistent requests");
  app->require_subcommand(1);
  const auto latency_options = std::make_shared<Options>();
  add_size_options(*add_benchmark(*app, command, "latency",
                                  "Ping-pong: half round trip, and what the calls cost",
                                  run_latency, cuda_latency, latency_options),
                   *latency_options);
  constexpr std::size_t largest = std::size_t{1} << 20, largest_small = 1024;
  add_windows(*app, command, "bw", "Windowed one-way bandwidth of 2 ranks", run_bandwidth,
              cuda_bandwidth, largest);
  add_windows(*app, command, "multi-pair", "The same of several pairs of ranks at once",
              run_multi_pair, cuda_multi_pair, largest);
  add_windows(
      *app, command, "message-rate",
      "Small messages a second, a window in one start and one wait, and what one costs the caller",
      run_message_rate, cuda_message_rate, largest_small);
  add_halo(*app, command);
  add_exchange(*app, command);
}

}  // namespace penstock::bench
