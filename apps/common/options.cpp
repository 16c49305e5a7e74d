// SPDX-License-Identifier: Apache-2.0
#include "common/options.hpp"

#include <algorithm>
#include <map>

namespace penstock::apps {
namespace {

#if PENSTOCK_HIP
constexpr const char* gpu_name = "hip";
#else
constexpr const char* gpu_name = "cuda";
#endif

const std::map<std::string, Comm> comms{{"mpi", Comm::mpi},
                                        {"mpi-waitany", Comm::mpi_waitany},
                                        {"mpi-persistent", Comm::mpi_persistent},
                                        {"mpi-datatype", Comm::mpi_datatype},
                                        {"stream", Comm::stream},
                                        {"stream-ready", Comm::stream_ready},
                                        {"stream-datatype", Comm::stream_datatype},
                                        {"graph", Comm::graph},
                                        {"mpi-rma", Comm::mpi_rma},
                                        {"stream-rma", Comm::stream_rma},
                                        {"stream-rma-batch", Comm::stream_rma_batch},
                                        {"graph-rma", Comm::graph_rma},
                                        {"hpe-send", Comm::hpe_send},
                                        {"hpe", Comm::hpe}};

std::vector<std::string> words_of(const std::vector<Comm>& offered) {
  std::vector<std::string> words;
  for (const Comm comm : offered) words.emplace_back(name_of(comm));
  return words;
}

// "all that the device has, but for hpe and hpe-send"
std::string default_text(std::vector<Comm> offered) {
  std::erase_if(offered, [](Comm comm) { return !is_asked_by_name(comm); });
  return offered.empty()
             ? "all that the device has"
             : "all that the device has, but for " + CLI::detail::join(words_of(offered), ", ");
}

}  // namespace

const char* name_of(Comm comm) noexcept {
  for (const auto& [name, value] : comms)
    if (value == comm) return name.c_str();
  return "?";
}

const char* name_of(DeviceKind device) noexcept {
  return device == DeviceKind::host ? "host" : gpu_name;
}

bool is_host_driven(Comm comm) noexcept {
  return comm < Comm::stream;
}

bool uses_datatypes(Comm comm) noexcept {
  return comm == Comm::mpi_datatype || comm == Comm::stream_datatype;
}

bool needs_graphs(Comm comm) noexcept {
  return comm == Comm::graph || comm == Comm::graph_rma;
}

bool is_asked_by_name(Comm comm) noexcept {
  return comm == Comm::mpi_rma || comm >= Comm::stream_rma;
}

bool needs_all_threads(Comm comm) noexcept {
  return comm == Comm::hpe_send || comm == Comm::hpe;
}

void add_options(CLI::App& app, Options& options) {
  app.add_option_function<std::vector<std::string>>(
         "--comm",
         [&options](const std::vector<std::string>& words) {
           for (const std::string& word : words) options.comms.push_back(comms.at(word));
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
