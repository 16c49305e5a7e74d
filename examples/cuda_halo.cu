// SPDX-License-Identifier: Apache-2.0
//
// A picture walks along the diagonal of a periodic grid that the ranks share: each step fills the
// ghost cells from the neighbours, corners too, and takes every cell from its upper left.
//
//   mpiexec -n 2 ./cuda_halo        (any number of ranks)
#include <cstdio>
#include <penstock/cuda.hpp>
#include <penstock/halo.hpp>
#include <vector>

namespace cuda = penstock::cuda;
namespace halo = penstock::halo;

constexpr std::ptrdiff_t rows = 300, columns = 400, steps = 500;

__global__ void shift(cuda::View<const int> from, cuda::View<int> to, int height, int width) {
  const int row = 1 + blockIdx.y * blockDim.y + threadIdx.y;
  const int column = 1 + blockIdx.x * blockDim.x + threadIdx.x;
  if (row <= height && column <= width)
    to[row * (width + 2) + column] = from[(row - 1) * (width + 2) + column - 1];
}

// What the picture shows at first, anywhere in the plane.
int picture(std::ptrdiff_t row, std::ptrdiff_t column) {
  const auto wrapped = [](std::ptrdiff_t at, std::ptrdiff_t n) { return (at % n + n) % n; };
  return static_cast<int>(wrapped(row, rows) * columns + wrapped(column, columns));
}

// This rank's block of the picture after some steps, with a ghost cell on each side.
std::vector<int> block_after(std::ptrdiff_t step, const halo::Grid<2>& grid) {
  const auto block = grid.block(), first = grid.first();
  std::vector<int> cells;
  for (std::ptrdiff_t i = -1; i <= block[0]; ++i)
    for (std::ptrdiff_t j = -1; j <= block[1]; ++j)
      cells.push_back(picture(first[0] + i - step, first[1] + j - step));
  return cells;
}

bool walks() {
  const halo::Grid<2> grid(MPI_COMM_WORLD, {rows, columns}, {true, true});
  const auto block = grid.block();
  const int height = static_cast<int>(block[0]), width = static_cast<int>(block[1]);
  const std::vector<int> at_first = block_after(0, grid);
  cuda::Buffer<int> now(at_first.size()), next(at_first.size());
  cuda::Stream stream;
  now.copy_from(at_first, stream);

  const auto cells = [&](cuda::View<int> buffer) {
    return halo::row_major<2>(buffer.data(), {block[0] + 2, block[1] + 2});
  };
  cudaStream_t handle = stream;
  halo::Halo<2> exchange(PST_QUEUE_CUDA, &handle, grid, {.width = 1}, cells(now));
  const dim3 threads(32, 8), blocks((width + 31) / 32, (height + 7) / 8);
  for (int step = 0; step < steps; ++step) {
    exchange.enqueue_gather(cells(now));
    shift<<<blocks, threads, 0, stream>>>(now, next, height, width);
    std::swap(now, next);
  }
  exchange.enqueue_gather(cells(now));
  exchange.synchronize();
  return now.to_host(stream) == block_after(steps, grid);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const bool has_gpu = cuda::choose_device_on_host(MPI_COMM_WORLD);
  const bool right = has_gpu && walks();
  std::printf("rank %d: %s\n", rank, !has_gpu ? "no GPU here" : right ? "right" : "WRONG");
  MPI_Finalize();
  if (!has_gpu) return 77;  // ctest counts it as skipped
  return right ? 0 : 1;
}
