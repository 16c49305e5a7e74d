// SPDX-License-Identifier: Apache-2.0
// GPUs, as the library lists them; what the system says of their driver and of ranks that share
// one.
#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <vector>

#include "penstock/doctor_checks.hpp"

namespace penstock::tool::doctor {
namespace {

using nlohmann::json;

std::string nvidia_driver() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string line;
  std::getline(file, line);
  const std::size_t colon = line.find_first_not_of(' ', line.find(':') + 1);
  return line.empty() || colon == std::string::npos ? line : line.substr(colon);
}

std::string why_no_cuda(const json& description) {
  for (const json& device : description.at("devices"))
    if (device.value("name", "") == "cuda") return device.value("why", "");
  return "";
}

void examine_absence(Findings& findings, const json& description, bool has_driver) {
  const std::string why = why_no_cuda(description);
  Finding finding{Level::ok, "gpu.devices", "none: CUDA is " + why, ""};
  if (why.find("built") == std::string::npos) finding.found = "none: " + why;
  if (has_driver) {
    finding.level = Level::note;
    finding.cure = why.find("built") != std::string::npos
                       ? "cmake --preset cuda && cmake --build build/cuda"
                       : "nvidia-smi says whether the driver works; echo $CUDA_VISIBLE_DEVICES";
  }
  findings.push_back(finding);
}

void examine_links(Findings& findings, const json& gpus) {
  std::string without;
  for (const json& gpu : gpus)
    for (const json& link : gpu.at("links"))
      if (!link.value("p2p", false))
        without += fmt::format("{}{} to {}", without.empty() ? "" : ", ", gpu.at("device").dump(),
                               link.at("device").dump());
  if (gpus.size() < 2) return;
  if (without.empty())
    findings.push_back({Level::ok, "gpu.peer-access", "each GPU reaches each other one", ""});
  else
    findings.push_back(
        {Level::note, "gpu.peer-access",
         "no peer access, so that messages go by the host: " + without,
         "nvidia-smi topo -p2p r says why; in a container give all GPUs to each rank"});
}

bool has_multi_process_service() {
  const char* const folder = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
  const std::string control =
      std::string(folder != nullptr && *folder != '\0' ? folder : "/tmp/nvidia-mps") + "/control";
  return access(control.c_str(), F_OK) == 0;
}

void examine_sharing(Findings& findings, int ranks, int gpus) {
  if (ranks <= gpus) {
    findings.push_back({Level::ok, "gpu.sharing",
                        fmt::format("ranks that see these GPUs: {}, GPUs: {}", ranks, gpus), ""});
    return;
  }
  const bool served = has_multi_process_service();
  findings.push_back({served ? Level::ok : Level::note, "gpu.sharing",
                      fmt::format("{} ranks share {} GPU{} {} the multi-process service{}", ranks,
                                  gpus, gpus == 1 ? "" : "s", served ? "with" : "without",
                                  served ? "" : ", so that their kernels take turns"),
                      served ? "" : "nvidia-cuda-mps-control -d"});
}

// What ranks of one host that see the same GPUs have in common.
std::uint64_t mark_of_gpus(const json& description) {
  std::string text = description.value("host", "");
  for (const json& gpu : description.at("gpus")) text += "|" + gpu.value("pci", "");
  return std::hash<std::string>()(text);
}

}  // namespace

int count_ranks_with_our_gpus(const json& description) {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const std::uint64_t mine = description.is_null() ? 0 : mark_of_gpus(description);
  std::vector<std::uint64_t> all(static_cast<std::size_t>(ranks));
  MPI_Allgather(&mine, 1, MPI_UINT64_T, all.data(), 1, MPI_UINT64_T, MPI_COMM_WORLD);
  return static_cast<int>(std::count(all.begin(), all.end(), mine));
}

void examine_gpus(Findings& findings, const Known& known) {
  const json& description = known.description;
  const std::string driver = nvidia_driver();
  if (!driver.empty()) findings.push_back({Level::ok, "gpu.driver", driver, ""});
  const json& gpus = description.at("gpus");
  if (gpus.empty()) return examine_absence(findings, description, !driver.empty());
  for (const json& gpu : gpus)
    findings.push_back({Level::ok, "gpu." + gpu.at("device").dump(),
                        fmt::format("{}, {}, PCI {}", gpu.value("name", ""),
                                    gpu.value("architecture", ""), gpu.value("pci", "")),
                        ""});
  examine_links(findings, gpus);
  examine_sharing(findings, known.ranks_with_our_gpus, static_cast<int>(gpus.size()));
}

}  // namespace penstock::tool::doctor
