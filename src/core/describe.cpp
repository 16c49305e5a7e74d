// SPDX-License-Identifier: Apache-2.0
#include "core/describe.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "base/error.hpp"
#include "base/run_delay.hpp"
#include "core/library.hpp"
#include "core/matching/matcher.hpp"
#include "core/node.hpp"
#include "core/transports.hpp"
#include "device/gpu.hpp"
#include "group/machine.hpp"
#if PENSTOCK_OFI
#include "ofi/provider_list.hpp"
#endif

namespace penstock::core {

namespace {

nlohmann::ordered_json describe_gpu(const device::Gpu& gpu) {
  nlohmann::ordered_json json{{"device", gpu.device},
                              {"name", gpu.name},
                              {"architecture", gpu.architecture},
                              {"pci", gpu.bus},
                              {"processors", gpu.processors},
                              {"bytes", gpu.bytes}};
  json["links"] = nlohmann::ordered_json::array();
  for (const device::GpuLink& link : gpu.links)
    json["links"].push_back({{"device", link.device},
                             {"p2p", link.access},
                             {"native_atomics", link.native_atomics},
                             {"performance_rank", link.rank}});
  for (const device::GpuMemory& memory : gpu.memory)
    json["exports"][memory.kind] = memory.exported_by;
  return json;
}

nlohmann::ordered_json describe_transport(const Transports::Entry& entry,
                                          const PairCounts::Seen& pairs) {
  const std::string name = entry.transport->name();
  const transport::Verdict verdict = entry.allowed
                                         ? entry.transport->usable()
                                         : transport::Verdict{false, "not in PENSTOCK_TRANSPORT"};
  nlohmann::ordered_json json{{"name", name}, {"usable", verdict.yes}, {"why", verdict.why}};
  const auto served = pairs.served.find(name);
  json["pairs"] = served != pairs.served.end() ? served->second : 0;
  json["passed_over"] = nlohmann::ordered_json::array();
  for (const auto& [reason, count] : pairs.passed_over)
    if (reason.first == name)
      json["passed_over"].push_back({{"why", reason.second}, {"pairs", count}});
  for (const auto& [what, count] : entry.transport->counts()) json["counts"][what] = count;
  return json;
}

#if PENSTOCK_OFI
nlohmann::ordered_json describe_providers(const base::Settings& settings) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  std::vector<ofi::ProviderVerdict> verdicts;
  try {
    verdicts = ofi::list_providers(settings);
  } catch (const base::Error& error) {
    return nlohmann::ordered_json::array(
        {{{"name", "libfabric"}, {"usable", false}, {"why", error.text()}}});
  }
  for (const ofi::ProviderVerdict& one : verdicts)
    json.push_back({{"name", one.provider},
                    {"fabric", one.fabric},
                    {"domain", one.domain},
                    {"address", one.address},
                    {"usable", one.serves},
                    {"gpu_memory", one.gpu_memory},
                    {"why", one.why}});
  if (json.empty())
    json.push_back({{"name", "libfabric"}, {"usable", false}, {"why", "offers no provider here"}});
  return json;
}
#else
nlohmann::ordered_json describe_providers(const base::Settings&) {
  return nlohmann::ordered_json::array(
      {{{"name", "libfabric"}, {"usable", false}, {"why", "not built into this library"}}});
}
#endif

}  // namespace

std::string describe(Library& library, const std::string& version,
                     const std::vector<std::pair<std::string, std::uint64_t>>& large_messages) {
  const group::Machine machine = group::look_at_machine();
  group::World& world = library.world();
  nlohmann::ordered_json json;
  json["version"] = version;
  json["mpi"] = world.mpi_version();
  json["thread_level"] = name_of(world.thread_level());
  json["ranks"] = world.size();
  json["ranks_on_host"] = world.processes_on_host();
  std::vector<int> ranks(static_cast<std::size_t>(world.size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  json["first_rank_of_node"] = first_of_node(ranks, library);
  json["host"] = world.host();
  json["processor"] = machine.processor;
  json["cores"] = machine.cores;
  json["cores_usable"] = machine.usable_cores;
  if (const std::string text = library.cores().only_core(); !text.empty()) json["only_core"] = text;
  json["ranks_on_our_cores"] = library.cores().processes();
  // Always as long: the program may have asked for the length before.
  const base::RunDelay delay = base::look_at_run_delay();
  json["run_delay"] = fmt::format("{:.2f}", delay.share());
  json["threads_ran"] = fmt::format("{:018.6f}", delay.ran);
  json["threads_waited"] = fmt::format("{:018.6f}", delay.waited);
  json["numa_nodes"] = machine.numa_nodes;
  const base::Verdict cuda = device::gpu_status(device::Vendor::cuda);
  const base::Verdict hip = device::gpu_status(device::Vendor::hip);
  json["devices"] = nlohmann::ordered_json::array(
      {{{"name", "host"}, {"usable", true}, {"why", "streams with a worker thread each"}},
       {{"name", "cuda"}, {"usable", cuda.yes}, {"why", cuda.why}},
       {{"name", "hip"}, {"usable", hip.yes}, {"why", hip.why}}});
  json["gpus"] = nlohmann::ordered_json::array();
  for (const device::Gpu& gpu : device::list_gpus()) json["gpus"].push_back(describe_gpu(gpu));
  json["transports"] = nlohmann::ordered_json::array();
  const PairCounts::Seen pairs = library.matcher().pairs().seen();
  for (const Transports::Entry& entry : library.transports().entries())
    json["transports"].push_back(describe_transport(entry, pairs));
  json["large_messages"] = nlohmann::ordered_json::object();
  for (const auto& [what, count] : large_messages)  // always as long, as above
    json["large_messages"][what] = fmt::format("{:020}", count);
  json["providers"] = describe_providers(library.settings());
  for (const auto& [name, value] : library.settings().table()) json["settings"][name] = value;
  // A setting may be any bytes.
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace penstock::core
