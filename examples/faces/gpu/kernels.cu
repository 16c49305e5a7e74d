// SPDX-License-Identifier: Apache-2.0
#include "kernels.hpp"

namespace penstock::faces::gpu {
namespace {

using examples::gpu::find_task;
using examples::gpu::threads;

__global__ void pack(const __grid_constant__ Work argument) {
  penstock::gpu::let_successor_in();  // the start, which waits for this kernel before it reads
  const Work& work = penstock::gpu::grid_constant(argument);
  unsigned number = 0;
  const int direction = find_task(work.tasks, number);
  const Layout message = layout_of(work.block, direction);
  if (number >= message.size()) return;
  const Place place = on_side(work.block, direction, message.place(number));
  work.sides.side[direction][number] = work.u[layout_of(work.block, nowhere).offset(place)];
}

__global__ void unpack(const __grid_constant__ Work argument) {
  penstock::gpu::await_predecessor();
  penstock::gpu::let_successor_in();  // the next start, as for pack()
  const Work& work = penstock::gpu::grid_constant(argument);
  unsigned number = 0;
  const int direction = find_task(work.tasks, number);
  const Box region = region_of(work.block, direction);
  if (number >= region.size()) return;
  int at[3];
  region.at(number, at);
  complete(work.block, work.u, work.sides, work.next, direction, place_of(work.block, at));
}

// A block of threads for each element.
__global__ void sum_inside(const Block block, double* u) {
  const int element[3] = {static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.y), static_cast<int>(blockIdx.z)};
  const int a = static_cast<int>(threadIdx.x);
  for (int b = static_cast<int>(threadIdx.y); b < block.points; b += static_cast<int>(blockDim.y))
    sum_upper_sides(block, u, element, a, b);
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

// Threads (a, b) for the points of a side, if a block of threads takes as many.
dim3 side_of(const Block& block) {
  const auto n = static_cast<unsigned>(block.points);
  return dim3(n, n * n <= 1024 ? n : 1024 / n);
}

#if !PENSTOCK_HIP
// Whether the code that was loaded waits for its predecessor. That of earlier GPUs does not, also where it runs on one
// that could.
bool awaits_predecessor(void (*kernel)(Work)) {
  cudaFuncAttributes attributes{};
  return cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(kernel)) == cudaSuccess &&
         attributes.ptxVersion >= 90;
}
#endif

// With dependent launch, if the code has it, the kernel may begin before its predecessor has ended, and waits for it.
cudaError_t launch_unpack(unsigned blocks, cudaStream_t stream, const Work& work) {
#if PENSTOCK_HIP
  unpack<<<blocks, threads, 0, stream>>>(work);
  return cudaGetLastError();
#else
  static const bool is_dependent = awaits_predecessor(unpack);
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = is_dependent ? 1 : 0;
  return cudaLaunchKernelEx(&config, unpack, work);
#endif
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
  sum_inside<<<elements_of(block), side_of(block), 0, stream>>>(block, u);
  return cudaGetLastError();
}

cudaError_t enqueue_unpack(cudaStream_t stream, const Work& work) {
  if (work.tasks.count == 0) return cudaSuccess;
  return launch_unpack(work.tasks.blocks(), stream, work);
}

}  // namespace penstock::faces::gpu
