// SPDX-License-Identifier: Apache-2.0
#include "core/describe.hpp"

#include <nlohmann/json.hpp>

#include "core/library.hpp"
#include "core/transports.hpp"
#include "device/gpu.hpp"
#include "group/machine.hpp"

namespace penstock::core {

std::string describe(Library& library, const std::string& version) {
  const group::Machine machine = group::look_at_machine();
  group::World& world = library.world();
  nlohmann::ordered_json json;
  json["version"] = version;
  json["mpi"] = world.mpi_version();
  json["thread_level"] = name_of(world.thread_level());
  json["ranks"] = world.size();
  json["ranks_on_host"] = world.processes_on_host();
  json["host"] = world.host();
  json["processor"] = machine.processor;
  json["cores"] = machine.cores;
  json["cores_usable"] = machine.usable_cores;
  json["numa_nodes"] = machine.numa_nodes;
  const device::GpuStatus cuda = device::gpu_status(device::Vendor::cuda);
  const device::GpuStatus hip = device::gpu_status(device::Vendor::hip);
  json["devices"] =
      nlohmann::ordered_json::array({{{"name", "host"}, {"usable", true}, {"why", "streams with a worker thread each"}},
                                     {{"name", "cuda"}, {"usable", cuda.usable}, {"why", cuda.why}},
                                     {{"name", "hip"}, {"usable", hip.usable}, {"why", hip.why}}});
  json["transports"] = nlohmann::ordered_json::array();
  for (const Transports::Entry& entry : library.transports().entries()) {
    const transport::Verdict verdict =
        entry.allowed ? entry.transport->usable() : transport::Verdict{false, "not in PENSTOCK_TRANSPORT"};
    json["transports"].push_back({{"name", entry.transport->name()}, {"usable", verdict.yes}, {"why", verdict.why}});
  }
  for (const auto& [name, value] : library.settings().table()) json["settings"][name] = value;
  return json.dump(2);
}

}  // namespace penstock::core
