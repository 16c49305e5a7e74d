// SPDX-License-Identifier: Apache-2.0
#include "kernels.hpp"

namespace penstock::comb::gpu {
namespace {

using apps::gpu::find_task;
using apps::gpu::threads;

// The place of a value in the array; its variable is returned.
__device__ int locate(const Mesh& mesh, unsigned number, int (&at)[3]) {
  const Box everything{{0, 0, 0}, {mesh.extent(0), mesh.extent(1), mesh.extent(2)}};
  everything.at(number % everything.size(), at);
  return static_cast<int>(number / everything.size());
}

__global__ void fill(const Mesh mesh, double* values, int cycle) {
  const unsigned number = blockIdx.x * threads + threadIdx.x;
  if (number >= mesh.volume() * mesh.variables) return;
  int at[3];
  const int variable = locate(mesh, number, at);
  values[number] = value_before(mesh, at, variable, cycle);
}

__global__ void check(const Mesh mesh, const double* values, int cycle, bool with_messages,
                      unsigned long long* wrong) {
  const unsigned number = blockIdx.x * threads + threadIdx.x;
  if (number >= mesh.volume() * mesh.variables) return;
  int at[3];
  const int variable = locate(mesh, number, at);
  if (values[number] == value_after(mesh, at, variable, cycle, with_messages)) return;
  atomicAdd(&wrong[0], 1ULL);
  atomicMin(&wrong[1], static_cast<unsigned long long>(number));
}

__global__ void pack(const __grid_constant__ Work argument) {
  const Work& work = penstock::vendor::grid_constant(argument);
  unsigned number = 0;
  const int direction = find_task(work.tasks, number);
  const Box box = sent_box(work.mesh, direction);
  if (number >= box.size() * work.mesh.variables) return;
  work.sides.side[direction][number] = work.values[place_in(work.mesh, box, number)];
}

__global__ void unpack(const __grid_constant__ Work argument) {
  const Work& work = penstock::vendor::grid_constant(argument);
  unsigned number = 0;
  const int direction = find_task(work.tasks, number);
  const Box box = ghost_box(work.mesh, direction);
  if (number >= box.size() * work.mesh.variables) return;
  work.values[place_in(work.mesh, box, number)] = work.sides.side[direction][number];
}

unsigned blocks_for_all(const Mesh& mesh) {
  return static_cast<unsigned>(
      (mesh.volume() * static_cast<std::size_t>(mesh.variables) + threads - 1) / threads);
}

}  // namespace

// A kernel that is loaded at its first launch may need an idle device, and there may be a wait on
// it by then.
void load_kernels() {
  cudaFuncAttributes attributes{};
  for (const void* kernel :
       {reinterpret_cast<const void*>(&fill), reinterpret_cast<const void*>(&check),
        reinterpret_cast<const void*>(&pack), reinterpret_cast<const void*>(&unpack)})
    (void)cudaFuncGetAttributes(&attributes, kernel);
}

cudaError_t enqueue_fill(cudaStream_t stream, const Mesh& mesh, double* values, int cycle) {
  fill<<<blocks_for_all(mesh), threads, 0, stream>>>(mesh, values, cycle);
  return cudaGetLastError();
}

cudaError_t enqueue_pack(cudaStream_t stream, const Work& work) {
  if (work.tasks.count == 0) return cudaSuccess;
  pack<<<work.tasks.blocks(), threads, 0, stream>>>(work);
  return cudaGetLastError();
}

cudaError_t enqueue_unpack(cudaStream_t stream, const Work& work) {
  if (work.tasks.count == 0) return cudaSuccess;
  unpack<<<work.tasks.blocks(), threads, 0, stream>>>(work);
  return cudaGetLastError();
}

cudaError_t enqueue_check(cudaStream_t stream, const Mesh& mesh, const double* values, int cycle,
                          bool with_messages, unsigned long long* wrong) {
  check<<<blocks_for_all(mesh), threads, 0, stream>>>(mesh, values, cycle, with_messages, wrong);
  return cudaGetLastError();
}

}  // namespace penstock::comb::gpu
