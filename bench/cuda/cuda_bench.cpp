// SPDX-License-Identifier: Apache-2.0
// penstock bench latency|bw --device cuda: the same program by each library in turn, on one stream of each rank.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <penstock/penstock.hpp>

#include "exchange.hpp"
#include "kernels.hpp"
#include "measurement.hpp"

namespace penstock::bench {
namespace {

constexpr int trips_in_graph = 20;

class CudaStream {
 public:
  CudaStream() { CHECK_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~CudaStream() { cudaStreamDestroy(stream_); }
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

void enqueue_chain(Exchange& exchange, int trips) {
  for (int i = 0; i < trips; ++i) exchange.round_trip(i == 0, i + 1 == trips);
}

// A chain of round trips, captured once.
class Graph {
 public:
  Graph(cudaStream_t stream, Exchange& exchange) : stream_(stream) {
    cudaGraph_t graph = nullptr;
    CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    enqueue_chain(exchange, trips_in_graph);
    CHECK_CUDA(cudaStreamEndCapture(stream, &graph));
    CHECK_CUDA(cudaGraphInstantiate(&graph_, graph, 0));
    CHECK_CUDA(cudaGraphDestroy(graph));
    CHECK_CUDA(cudaGraphUpload(graph_, stream));
    CHECK_CUDA(cudaStreamSynchronize(stream));
  }
  ~Graph() { cudaGraphExecDestroy(graph_); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  void launch() { CHECK_CUDA(cudaGraphLaunch(graph_, stream_)); }

 private:
  cudaStream_t stream_;
  cudaGraphExec_t graph_ = nullptr;
};

// One library's side of a measurement.
class Side {
 public:
  Side(std::string name, std::unique_ptr<Exchange> exchange, cudaStream_t stream, const Options& options, int rank)
      : name_(std::move(name)), exchange_(std::move(exchange)), stream_(stream), scratch_(largest_message()) {
    if (options.check) {
      add_checks(rank);
    } else if (options.pack) {
      add_packing(rank);
    }
    if (options.graph && exchange_->on_stream()) graph_.emplace(stream, *exchange_);
  }

  const std::string& name() const { return name_; }
  const std::vector<double>& samples() const { return samples_; }

  // us a round trip.
  void run_round(int trips) {
    run(std::max(trips / 10, 1));
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = tool::now_us();
    samples_.push_back((run(trips), tool::now_us() - begin) / (graph_ ? in_graphs(trips) : trips));
  }

  // What the calls of one round trip cost the caller, in us.
  std::optional<double> enqueue_cost() {
    if (!exchange_->on_stream() || graph_) return std::nullopt;
    constexpr int trips = 100;  // the driver holds up who is further ahead than some thousand launches
    std::vector<double> costs;
    for (int i = 0; i < 9; ++i) {
      MPI_Barrier(MPI_COMM_WORLD);
      const double begin = tool::now_us();
      enqueue_chain(*exchange_, trips);
      costs.push_back((tool::now_us() - begin) / trips);
      CHECK_CUDA(cudaStreamSynchronize(stream_));
    }
    return tool::summarize(costs).median;
  }

  void require_right(std::size_t bytes) const {
    if (!tally_) return;
    CheckTally tally{};
    CHECK_CUDA(cudaMemcpy(&tally, tally_->data(), sizeof tally, cudaMemcpyDeviceToHost));
    if (tally.checked == 0 || tally.wrong_bytes != 0)
      throw std::runtime_error(fmt::format("check failed: {}, messages of {} bytes: {} wrong bytes in {} messages",
                                           name_, bytes, tally.wrong_bytes, tally.checked));
  }

 private:
  static int in_graphs(int trips) { return std::max(trips / trips_in_graph, 1) * trips_in_graph; }
  std::size_t largest_message() const { return std::max(exchange_->messages.bytes(), exchange_->answer.bytes()); }

  void run(int trips) {
    if (graph_) {
      for (int i = 0; i < in_graphs(trips) / trips_in_graph; ++i) graph_->launch();
    } else {
      enqueue_chain(*exchange_, trips);
    }
    CHECK_CUDA(cudaStreamSynchronize(stream_));
  }

  void add_packing(int rank) {
    const DeviceMemory& out = rank == 0 ? exchange_->messages : exchange_->answer;
    const DeviceMemory& in = rank == 0 ? exchange_->answer : exchange_->messages;
    exchange_->before_send = [&out, this] { enqueue_copy(stream_, out.data(), scratch_.data(), out.bytes()); };
    exchange_->after_receive = [&in, this] { enqueue_copy(stream_, scratch_.data(), in.data(), in.bytes()); };
  }

  void add_checks(int rank) {
    tally_.emplace(sizeof(CheckTally));
    auto* const tally = reinterpret_cast<CheckTally*>(tally_->data());
    const auto self = static_cast<unsigned>(rank);
    exchange_->before_send = [out = exchange_->sent(), tally, self, this] {
      for (const auto message : out) enqueue_fill(stream_, message.data(), message.size(), self, tally);
    };
    exchange_->after_receive = [in = exchange_->received(), tally, self, this] {
      for (const auto message : in) enqueue_check(stream_, message.data(), message.size(), 1 - self, tally);
    };
  }

  std::string name_;
  std::unique_ptr<Exchange> exchange_;
  cudaStream_t stream_;
  DeviceMemory scratch_;
  std::optional<DeviceMemory> tally_;
  std::optional<Graph> graph_;
  std::vector<double> samples_;
};

int trips_for(const Options& options, std::size_t bytes) {
  if (options.iterations > 0) return options.iterations;
  if (bytes <= 65536) return 1000;
  if (bytes <= std::size_t{1} << 20) return 400;
  return bytes <= std::size_t{16} << 20 ? 100 : 20;
}

class CudaTable {
 public:
  CudaTable(const Options& options, const tool::Session& session, std::string benchmark)
      : options_(options), session_(session), benchmark_(std::move(benchmark)) {}

  void print_header(const std::vector<std::unique_ptr<Side>>& sides) const {
    if (!session_.is_root() || options_.as_json) return;
    cudaDeviceProp device{};
    CHECK_CUDA(cudaGetDeviceProperties(&device, 0));
    fmt::print("# Penstock {} on CUDA ({}), {}, {} sends, {} receives{}{}; medians and quartiles of {} rounds\n",
               benchmark_, device.name, options_.graph ? "graphs" : "streams", name_of(options_.mode),
               options_.order == Order::sequential ? "sequential" : "preposted",
               options_.pack ? ", pack and unpack kernels" : "", options_.check ? ", every byte checked" : "",
               options_.rounds);
    fmt::print("{:>10}", "# bytes");
    for (const auto& side : sides) fmt::print(" {:>12} {:>19}", side->name(), "spread");
    for (std::size_t i = 1; i < sides.size(); ++i) fmt::print(" {:>14}", sides[i]->name() + " / ours");
    fmt::print("   ({})\n", unit());
    std::fflush(stdout);
  }

  void print_cost(std::size_t bytes, const std::string& name, double us) const {
    if (!session_.is_root()) return;
    if (options_.as_json)
      fmt::print("{}\n",
                 nlohmann::ordered_json{{"benchmark", "enqueue"}, {"side", name}, {"bytes", bytes}, {"us", us}}.dump());
    else
      fmt::print("# {}: the calls of a round trip of {} bytes cost the caller {:.2f} us\n", name, bytes, us);
  }

  void print(std::size_t bytes, int trips, const std::vector<std::unique_ptr<Side>>& sides, double factor) const {
    if (!session_.is_root()) return;
    std::vector<tool::Summary> all;
    for (const auto& side : sides) all.push_back(tool::summarize(scaled(side->samples(), factor)));
    if (options_.as_json)
      print_json(bytes, trips, sides, all);
    else
      print_row(bytes, all);
    std::fflush(stdout);
  }

 private:
  bool is_time() const { return benchmark_ == "latency"; }
  const char* unit() const { return is_time() ? "us, half round trip" : "MB/s, one way"; }
  // A positive factor multiplies the time, a negative one is the bytes that it moved.
  static std::vector<double> scaled(std::vector<double> us, double factor) {
    for (double& value : us) value = factor > 0 ? value * factor : -factor / value;
    return us;
  }
  double gain(const tool::Summary& ours, const tool::Summary& theirs) const {
    return is_time() ? theirs.median / ours.median : ours.median / theirs.median;
  }

  void print_row(std::size_t bytes, const std::vector<tool::Summary>& all) const {
    fmt::print("{:>10}", bytes);
    for (const auto& each : all) fmt::print(" {:>12.2f} {:>19}", each.median, tool::spread_text(each));
    for (std::size_t i = 1; i < all.size(); ++i) fmt::print(" {:>14.2f}", gain(all[0], all[i]));
    fmt::print("\n");
  }

  void print_json(std::size_t bytes, int trips, const std::vector<std::unique_ptr<Side>>& sides,
                  const std::vector<tool::Summary>& all) const {
    nlohmann::ordered_json line{{"benchmark", benchmark_},
                                {"device", "cuda"},
                                {"mode", options_.graph ? "graph" : "stream"},
                                {"bytes", bytes},
                                {"unit", is_time() ? "us" : "MB/s"}};
    for (std::size_t i = 0; i < all.size(); ++i) {
      line[sides[i]->name()] = {{"median", all[i].median}, {"low", all[i].low}, {"high", all[i].high}};
      if (i > 0) line["gain_over_" + sides[i]->name()] = gain(all[0], all[i]);
    }
    line["send"] = name_of(options_.mode);
    line["order"] = options_.order == Order::sequential ? "sequential" : "preposted";
    line["pack"] = options_.pack;
    line["rounds"] = options_.rounds;
    line["iterations"] = trips;
    line["checked"] = options_.check;
    fmt::print("{}\n", line.dump());
  }

  const Options& options_;
  const tool::Session& session_;
  std::string benchmark_;
};

std::vector<std::unique_ptr<Side>> make_sides(const Options& options, const Traffic& traffic, bool is_first) {
  std::vector<std::unique_ptr<Side>> sides;
  const auto add = [&](const char* name, std::unique_ptr<Exchange> exchange) {
    sides.push_back(std::make_unique<Side>(name, std::move(exchange), traffic.stream, options, traffic.rank));
  };
  add("penstock", make_penstock_exchange(traffic, options));
  for (const std::string& baseline : options.baselines) {
    std::string why_not;
    auto exchange = baseline == "nccl" ? make_nccl_exchange(traffic, why_not) : make_mpi_exchange(traffic, why_not);
    if (exchange)
      add(baseline.c_str(), std::move(exchange));
    else if (is_first && traffic.rank == 0)
      fmt::print(stderr, "no baseline {}: {}\n", baseline, why_not);
  }
  return sides;
}

void choose_device(int rank) {
  int devices = 0;
  if (const cudaError_t code = cudaGetDeviceCount(&devices); code != cudaSuccess || devices == 0)
    throw tool::UserError(fmt::format("--device cuda needs a GPU: {}", cudaGetErrorString(code)));
  CHECK_CUDA(cudaSetDevice(rank % devices));
}

// `factor` turns us a round trip into what the table shows: see CudaTable.
template <class Factor>
int run(const Options& options, const tool::Session& session, const std::string& benchmark, int window,
        Factor factor_for) {
  require_two_ranks(session);
  choose_device(session.rank());
  const CudaTable table(options, session, benchmark);
  bool first = true;
  for (const std::size_t bytes : message_sizes(options)) {
    const CudaStream stream;
    Traffic traffic{.rank = session.rank(), .bytes = bytes, .count = window, .order = options.order};
    traffic.answer_bytes = window == 1 ? bytes : 8;
    traffic.stream = stream.get();
    const auto sides = make_sides(options, traffic, first);
    if (first) table.print_header(sides);
    first = false;
    const int trips = std::max(trips_for(options, bytes * static_cast<std::size_t>(window)) / (window > 1 ? 4 : 1), 2);
    for (int round = 0; round < options.rounds; ++round)
      for (const auto& side : sides) side->run_round(trips);
    for (const auto& side : sides) side->require_right(bytes);
    table.print(bytes, trips, sides, factor_for(bytes));
    if (bytes != message_sizes(options).front()) continue;
    for (const auto& side : sides)
      if (const auto cost = side->enqueue_cost()) table.print_cost(bytes, side->name(), *cost);
  }
  return 0;
}

}  // namespace

int run_cuda_latency(const Options& options, const tool::Session& session) {
  return run(options, session, "latency", 1, [](std::size_t) { return 0.5; });
}

int run_cuda_bandwidth(const Options& options, const tool::Session& session) {
  return run(options, session, "bandwidth", options.window,
             [&](std::size_t bytes) { return -static_cast<double>(bytes) * options.window; });
}

}  // namespace penstock::bench
