// SPDX-License-Identifier: Apache-2.0
#include "kernels.hpp"

#include <array>
#include <utility>

#include "sum_inside.cuh"

namespace penstock::faces::gpu {
namespace {

using apps::gpu::find_task;
using apps::gpu::threads;

// Kernels of sums for which the number of points is a constant.
constexpr int most_known_points = 16;

__global__ void pack(const __grid_constant__ Work argument) {
  penstock::vendor::let_successor_in();  // the start, which waits for this kernel before it reads
  const Work& work = penstock::vendor::grid_constant(argument);
  unsigned number = 0;
  const int direction = find_task(work.tasks, number);
  const Layout message = layout_of(work.block, direction);
  if (number >= message.size()) return;
  const Place place = on_side(work.block, direction, message.place(number));
  work.sides.side[direction][number] = work.u[layout_of(work.block, nowhere).offset(place)];
}

__global__ void unpack(const __grid_constant__ Work argument) {
  penstock::vendor::await_predecessor();
  penstock::vendor::let_successor_in();  // the next start, as for pack()
  const Work& work = penstock::vendor::grid_constant(argument);
  unsigned number = 0;
  const int direction = find_task(work.tasks, number);
  const Box region = region_of(work.block, direction);
  if (number >= region.size()) return;
  int at[3];
  region.at(number, at);
  complete(work.block, work.u, work.sides, work.next, direction, place_of(work.block, at));
}

// A block of threads for each element.
__global__ void initialise(const Block block, double* u) {
  Place place{
      {static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.y), static_cast<int>(blockIdx.z)},
      {0, 0, 0}};
  const int n = block.points;
  double* const values = u + layout_of(block, nowhere).offset(place);
  for (int number = static_cast<int>(threadIdx.x); number < n * n * n;
       number += static_cast<int>(blockDim.x)) {
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

// With dependent launch, if the code has it, the kernel may begin before its predecessor has ended,
// and waits for it.
template <class... Arguments>
cudaError_t launch_dependent(void (*kernel)(Arguments...), unsigned blocks, unsigned width,
                             cudaStream_t stream, const Arguments&... arguments) {
#if PENSTOCK_HIP
  kernel<<<blocks, width, 0, stream>>>(arguments...);
  return cudaGetLastError();
#else
  static const bool is_dependent =
      penstock::vendor::awaits_predecessor(reinterpret_cast<const void*>(kernel));
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(width);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = is_dependent ? 1 : 0;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
#endif
}

// The kernel for so many points. That for any number spends more on its indices than on the values.
template <int... points>
auto sum_inside_for(int wanted, std::integer_sequence<int, points...>) {
  constexpr std::array kernels{sum_inside<points>...};
  return kernels[wanted < static_cast<int>(kernels.size()) ? static_cast<std::size_t>(wanted) : 0];
}

auto sum_inside_for(const Block& block) {
  return sum_inside_for(block.points, std::make_integer_sequence<int, most_known_points + 1>());
}

}  // namespace

// A kernel that is loaded at its first launch may need an idle device, and there may be a wait on
// it by then.
void load_kernels(const Block& block) {
  cudaFuncAttributes attributes{};
  for (const void* kernel :
       {reinterpret_cast<const void*>(&pack), reinterpret_cast<const void*>(&unpack),
        reinterpret_cast<const void*>(sum_inside_for(block)),
        reinterpret_cast<const void*>(&initialise)})
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

cudaError_t enqueue_sum_inside(cudaStream_t stream, const Block& block, double* u, bool downward) {
  const Inside inside(block);
  return launch_dependent(sum_inside_for(block), inside.blocks(), Inside::threads, stream, block, u,
                          inside, downward);
}

cudaError_t enqueue_unpack(cudaStream_t stream, const Work& work) {
  if (work.tasks.count == 0) return cudaSuccess;
  return launch_dependent(unpack, work.tasks.blocks(), threads, stream, work);
}

}  // namespace penstock::faces::gpu
