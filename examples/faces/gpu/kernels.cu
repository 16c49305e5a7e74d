// SPDX-License-Identifier: Apache-2.0
#include "kernels.hpp"

namespace penstock::faces::gpu {
namespace {

using examples::gpu::find_task;
using examples::gpu::threads;

__global__ void pack(const __grid_constant__ Work argument) {
  const Work& work = penstock::gpu::grid_constant(argument);
  unsigned number = 0;
  const int direction = find_task(work.tasks, number);
  const Layout message = layout_of(work.block, direction);
  if (number >= message.size()) return;
  const Place place = on_side(work.block, direction, message.place(number));
  work.sides.side[direction][number] = work.u[layout_of(work.block, nowhere).offset(place)];
}

__global__ void unpack(const __grid_constant__ Work argument) {
  const Work& work = penstock::gpu::grid_constant(argument);
  unsigned number = 0;
  const int direction = find_task(work.tasks, number);
  const Box region = region_of(work.block, direction);
  if (number >= region.size()) return;
  int at[3];
  region.at(number, at);
  complete(work.block, work.u, work.sides, place_of(work.block, at));
}

// A block of threads for each element.
__global__ void sum_inside(const Block block, double* u) {
  const int element[3] = {static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.y), static_cast<int>(blockIdx.z)};
  Box boxes[3];
  shared_inside(block, element, boxes);
  const unsigned in_z = boxes[2].size();
  const unsigned in_y = in_z + boxes[1].size();
  const unsigned in_x = in_y + boxes[0].size();
  for (unsigned number = threadIdx.x; number < in_x; number += blockDim.x) {
    Place place{{element[0], element[1], element[2]}, {}};
    if (number < in_z)
      boxes[2].at(number, place.point);
    else if (number < in_y)
      boxes[1].at(number - in_z, place.point);
    else
      boxes[0].at(number - in_y, place.point);
    complete_inside(block, u, place);
  }
}

// A block of threads for each element.
__global__ void initialise(const Block block, double* u) {
  Place place{{static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.y), static_cast<int>(blockIdx.z)}, {0, 0, 0}};
  const int n = block.points;
  double* const values = u + layout_of(block, nowhere).offset(place);
  for (int number = static_cast<int>(threadIdx.x); number < n * n * n; number += static_cast<int>(blockDim.x)) {
    place.point[0] = number % n;
    place.point[1] = number / n % n;
    place.point[2] = number / n / n;
    values[number] = initial_value(block, place);
  }
}

dim3 elements_of(const Block& block) {
  return dim3(static_cast<unsigned>(block.elements[0]), static_cast<unsigned>(block.elements[1]),
              static_cast<unsigned>(block.elements[2]));
}

// As many threads as an element inside the block has points on its three upper sides, if a block of threads takes them.
unsigned threads_inside(const Block& block) {
  const int n = block.points;
  const int shared = 3 * (n - 1) * (n - 1) - 3 * (n - 1) + 1;
  const int whole_warps = (shared + 31) / 32 * 32;
  return static_cast<unsigned>(whole_warps < 512 ? whole_warps : 512);
}

}  // namespace

// A kernel that is loaded at its first launch may need an idle device, and there may be a wait on it by then.
void load_kernels() {
  cudaFuncAttributes attributes{};
  for (const void* kernel : {reinterpret_cast<const void*>(&pack), reinterpret_cast<const void*>(&unpack),
                             reinterpret_cast<const void*>(&sum_inside), reinterpret_cast<const void*>(&initialise)})
    (void)cudaFuncGetAttributes(&attributes, kernel);
}

cudaError_t enqueue_initialise(cudaStream_t stream, const Block& block, double* u) {
  initialise<<<elements_of(block), threads, 0, stream>>>(block, u);
  return cudaGetLastError();
}

cudaError_t enqueue_pack(cudaStream_t stream, const Work& work) {
  if (work.tasks.count == 0) return cudaSuccess;
  pack<<<work.tasks.blocks(), threads, 0, stream>>>(work);
  return cudaGetLastError();
}

cudaError_t enqueue_sum_inside(cudaStream_t stream, const Block& block, double* u) {
  sum_inside<<<elements_of(block), threads_inside(block), 0, stream>>>(block, u);
  return cudaGetLastError();
}

cudaError_t enqueue_unpack(cudaStream_t stream, const Work& work) {
  if (work.tasks.count == 0) return cudaSuccess;
  unpack<<<work.tasks.blocks(), threads, 0, stream>>>(work);
  return cudaGetLastError();
}

}  // namespace penstock::faces::gpu
