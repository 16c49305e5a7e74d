// SPDX-License-Identifier: Apache-2.0
#include "baselines.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "device.hpp"
#include "put_collective.hpp"

namespace penstock::bench {
namespace {

using Names = std::vector<std::string>;

const Names cuda_baselines{"nccl",       "nvshmem", "nvshmem-add", "windows", "mpi",
                           "contiguous", "packed",  "enqueued",    "promised"};
const Names host_baselines{"mpi-nonblocking",
                           "contiguous",
                           "packed",
                           "enqueued",
                           "promised",
                           "windows",
                           "mpi-windows",
                           "ofi-chain",
                           "ofi-chain-direct",
                           "ofi-chain-auto",
                           "ofi-chain-auto-direct"};

const Names host_baselines_of_collectives{"mpi", mpi_alone};
const Names host_baselines_of_alltoallv{
    "mpi", mpi_alone, rma_fence, rma_lock, rma_fence_persistent, rma_lock_persistent};
const Names cuda_baselines_of_collectives{"mpi", mpi_alone, "nccl"};

const Names& known_baselines(Kind kind, bool on_cuda) {
  if (is_collective(kind) && on_cuda) return cuda_baselines_of_collectives;
  if (kind == Kind::alltoallv) return host_baselines_of_alltoallv;
  if (is_collective(kind)) return host_baselines_of_collectives;
  return on_cuda ? cuda_baselines : host_baselines;
}

}  // namespace

Names baseline_names(Kind kind) {
  Names names = known_baselines(kind, true);
  for (const std::string& name : known_baselines(kind, false))
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  return names;
}

// Only a ping-pong can be made of the bare chain.
void require_known_baselines(const Options& options) {
  const Names& known = known_baselines(options.kind, options.on_cuda());
  for (const std::string& name : options.baselines) {
    const bool without_gaps = name == "contiguous" || name == "packed";
    if (options.layout.has_gaps() && !without_gaps && name != "mpi")
      throw CLI::ValidationError("--baseline", name + " knows no --rows");
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw CLI::ValidationError(
          "--baseline", name + " is not one of --device " + (options.on_cuda() ? "cuda" : "host"));
    if (without_gaps && !options.layout.has_gaps())
      throw CLI::ValidationError("--baseline", name + " is for messages in --rows");
    if (name.ends_with("windows") && (is_windowed(options.kind) || options.kind == Kind::rma))
      throw CLI::ValidationError("--baseline", name + " is for latency and halo");
    if (name.starts_with("ofi-") && options.kind != Kind::latency)
      throw CLI::ValidationError(
          "--baseline", std::string(about(options.kind).command) + " has no baseline " + name);
  }
}

}  // namespace penstock::bench
