// SPDX-License-Identifier: Apache-2.0
#include "common/options.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace penstock::apps {
namespace {

#if PENSTOCK_HIP
constexpr const char* gpu_name = "hip";
#else
constexpr const char* gpu_name = "cuda";
#endif

struct Variant {
  Comm comm;
  const char* name;
  bool host_driven = false;
  bool datatypes = false;
  bool graph = false;
  bool nccl = false;
  bool all_threads = false;
  bool by_name = false;
};

constexpr std::array variants{
    Variant{.comm = Comm::mpi, .name = "mpi", .host_driven = true},
    Variant{.comm = Comm::mpi_waitany, .name = "mpi-waitany", .host_driven = true},
    Variant{.comm = Comm::mpi_persistent, .name = "mpi-persistent", .host_driven = true},
    Variant{
        .comm = Comm::mpi_datatype, .name = "mpi-datatype", .host_driven = true, .datatypes = true},
    Variant{.comm = Comm::mpi_rma, .name = "mpi-rma", .host_driven = true, .by_name = true},
    Variant{.comm = Comm::stream, .name = "stream"},
    Variant{.comm = Comm::stream_ready, .name = "stream-ready"},
    Variant{.comm = Comm::stream_datatype, .name = "stream-datatype", .datatypes = true},
    Variant{.comm = Comm::graph, .name = "graph", .graph = true},
    Variant{.comm = Comm::stream_nccl, .name = "stream-nccl", .nccl = true, .by_name = true},
    Variant{.comm = Comm::graph_nccl,
            .name = "graph-nccl",
            .graph = true,
            .nccl = true,
            .by_name = true},
    Variant{.comm = Comm::stream_rma, .name = "stream-rma", .by_name = true},
    Variant{.comm = Comm::stream_rma_batch, .name = "stream-rma-batch", .by_name = true},
    Variant{.comm = Comm::graph_rma, .name = "graph-rma", .graph = true, .by_name = true},
    Variant{.comm = Comm::zero_copy, .name = "zero-copy", .by_name = true},
    Variant{.comm = Comm::hpe_send, .name = "hpe-send", .all_threads = true, .by_name = true},
    Variant{.comm = Comm::hpe, .name = "hpe", .all_threads = true, .by_name = true},
    Variant{
        .comm = Comm::hpe_promised, .name = "hpe-promised", .all_threads = true, .by_name = true}};

const Variant& variant_of(Comm comm) {
  const auto found = std::find_if(variants.begin(), variants.end(),
                                  [&](const Variant& each) { return each.comm == comm; });
  return found == variants.end() ? throw std::logic_error("a variant without a row") : *found;
}

Comm comm_of(const std::string& name) {
  return std::find_if(variants.begin(), variants.end(),
                      [&](const Variant& each) { return name == each.name; })
      ->comm;
}

std::vector<std::string> words_of(const std::vector<Comm>& offered) {
  std::vector<std::string> words;
  words.reserve(offered.size());
  for (const Comm comm : offered) words.emplace_back(name_of(comm));
  return words;
}

// "all that the device has, but for mpi-rma, hpe-send, hpe"
std::string default_text(std::vector<Comm> offered) {
  std::erase_if(offered, [](Comm comm) { return !is_asked_by_name(comm); });
  return offered.empty()
             ? "all that the device has"
             : "all that the device has, but for " + CLI::detail::join(words_of(offered), ", ");
}

}  // namespace

const char* name_of(Comm comm) {
  return variant_of(comm).name;
}

const char* name_of(DeviceKind device) noexcept {
  return device == DeviceKind::host ? "host" : gpu_name;
}

bool is_host_driven(Comm comm) {
  return variant_of(comm).host_driven;
}

bool uses_datatypes(Comm comm) {
  return variant_of(comm).datatypes;
}

bool uses_nccl(Comm comm) {
  return variant_of(comm).nccl;
}

bool needs_graphs(Comm comm) {
  return variant_of(comm).graph;
}

bool needs_all_threads(Comm comm) {
  return variant_of(comm).all_threads;
}

bool is_asked_by_name(Comm comm) {
  return variant_of(comm).by_name;
}

void add_options(CLI::App& app, Options& options) {
  app.add_option_function<std::vector<std::string>>(
         "--comm",
         [&options](const std::vector<std::string>& words) {
           for (const std::string& word : words) options.comms.push_back(comm_of(word));
         },
         "How messages go, with commas; all that are named take turns in one run: " +
             CLI::detail::join(words_of(options.offered), ", ") +
             " (default: " + default_text(options.offered) + ")")
      ->type_name("WORD")
      ->delimiter(',')
      ->check(CLI::IsMember(words_of(options.offered)));
  app.add_option_function<std::string>(
         "--device",
         [&options](const std::string& word) {
           options.device = word == "host" ? DeviceKind::host : DeviceKind::gpu;
         },
         std::string("Kernels, streams and memory of: host (the default) or ") + gpu_name)
      ->type_name("WORD")
      ->check(CLI::IsMember({"host", gpu_name}));
  app.add_flag("--staged", options.staged,
               "On a GPU, MPI gets pinned copies, as where it does not take the GPU's memory");
  app.add_flag("!--no-verify", options.verify, "Leave out the comparison with the reference");
  app.add_flag("--json", options.as_json, "Print JSON lines");
}

void add_rounds(CLI::App& app, int& rounds) {
  app.add_option("--rounds", rounds, "Rounds of each variant, interleaved")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
}

void add_triple(CLI::App& app, const std::string& name, std::array<int, 3>& values,
                const CLI::Range& range, const std::string& text) {
  app.add_option(name, values, text)->delimiter(',')->check(range);
}

std::vector<Comm> chosen_comms(const Options& options) {
#if !PENSTOCK_CUDA && !PENSTOCK_HIP
  if (options.device == DeviceKind::gpu)
    throw CLI::ValidationError("--device",
                               std::string(gpu_name) +
                                   ": this command is built without it: build one with cmake "
                                   "-DPENSTOCK_CUDA=ON, or use --device host");
#endif
  std::vector<Comm> all = options.offered;
  if (options.device == DeviceKind::host) std::erase_if(all, needs_graphs);
  if (options.comms.empty()) {
    std::erase_if(all, is_asked_by_name);
    return all;
  }
  const auto is_asked = [&](Comm comm) {
    return std::find(options.comms.begin(), options.comms.end(), comm) != options.comms.end();
  };
  const auto graph = std::find_if(options.comms.begin(), options.comms.end(), needs_graphs);
  if (options.device == DeviceKind::host && graph != options.comms.end())
    throw CLI::ValidationError("--comm", std::string(name_of(*graph)) +
                                             ": only a GPU's streams are captured: give --device " +
                                             gpu_name);
  std::erase_if(all, [&](Comm comm) { return !is_asked(comm); });
  return all;
}

}  // namespace penstock::apps
