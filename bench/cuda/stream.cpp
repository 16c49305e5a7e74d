// SPDX-License-Identifier: Apache-2.0
#include "stream.hpp"

#include <algorithm>
#include <gpu_runtime.hpp>
#include <vector>

namespace penstock::bench {
namespace {

template <class Function>
Function driver_function(const char* name, unsigned version) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  CHECK_CUDA(cudaGetDriverEntryPointByVersion(name, &function, version, cudaEnableDefault, &found));
  if (found != cudaDriverEntryPointSuccess)
    throw std::runtime_error(std::string("the driver has no ") + name);
  return reinterpret_cast<Function>(function);
}

}  // namespace

// By the driver: kernels that a library has launched by its calls are unknown to this program's
// runtime.
unsigned CudaGraph::most_blocks() const {
  using GetParameters = CUresult (*)(CUgraphNode, CUDA_KERNEL_NODE_PARAMS*);
  static const auto get_parameters =
      driver_function<GetParameters>("cuGraphKernelNodeGetParams", 12000);
  std::size_t count = 0;
  CHECK_CUDA(cudaGraphGetNodes(graph_, nullptr, &count));
  std::vector<cudaGraphNode_t> nodes(count);
  CHECK_CUDA(cudaGraphGetNodes(graph_, nodes.data(), &count));
  unsigned most = 0;
  for (const cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type{};
    CHECK_CUDA(cudaGraphNodeGetType(node, &type));
    if (type != cudaGraphNodeTypeKernel) continue;
    CUDA_KERNEL_NODE_PARAMS parameters{};
    if (get_parameters(node, &parameters) != CUDA_SUCCESS) continue;
    most = std::max(most, parameters.gridDimX * parameters.gridDimY * parameters.gridDimZ);
  }
  return most;
}

}  // namespace penstock::bench
