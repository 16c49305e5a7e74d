// SPDX-License-Identifier: Apache-2.0
//
// Two GPUs have a box of cells each, side by side along x, the fastest index. Each step a kernel
// changes the inner cells, and the outermost layer of these goes to the neighbour's layer of
// ghosts. The cells of a layer lie a row apart: a datatype says where, and no kernel packs them. A
// step is captured once and launched again and again.
//
//   mpiexec -n 2 ./cuda_faces
#include <cstddef>
#include <cstdio>
#include <penstock/cuda.hpp>
#include <vector>

constexpr int depth = 32, height = 48, width = 66;  // the first and the last cell of a row: ghosts
constexpr int cells = depth * height * width, steps = 100;

__global__ void add_to_inner(penstock::cuda::View<double> box, double number) {
  const int x = 1 + static_cast<int>(threadIdx.x), y = static_cast<int>(blockIdx.x),
            z = static_cast<int>(blockIdx.y);
  box[(z * height + y) * width + x] += number;
}

// The layer of all cells with this x.
penstock::Datatype layer(int x) {
  return penstock::Datatype::subarray({depth, height, width}, {depth, height, 1}, {0, 0, x},
                                      MPI_DOUBLE);
}

long count_wrong(int rank) {
  penstock::cuda::Buffer<double> box(cells);
  penstock::cuda::Stream stream;
  penstock::cuda::Queue queue(stream);
  penstock::Requests requests;
  const int edge = rank == 0 ? width - 2 : 1, ghosts = rank == 0 ? width - 1 : 0;
  requests.add(penstock::send_init(box.data(), 1, layer(edge), 1 - rank, 0, MPI_COMM_WORLD));
  requests.add(penstock::recv_init(box.data(), 1, layer(ghosts), 1 - rank, 0, MPI_COMM_WORLD));
  penstock::match(requests);

  penstock::cuda::Capture capture(stream);
  add_to_inner<<<dim3(height, depth), width - 2, 0, stream>>>(box, rank + 1.0);
  queue.run(requests);
  const penstock::cuda::Graph step = capture.end();
  for (int i = 0; i < steps; ++i) step.launch(stream);
  queue.synchronize();

  const std::vector<double> seen = box.to_host(stream);
  long wrong = 0;
  for (std::size_t row = 0; row < std::size_t{depth} * height; ++row) {
    for (int x = 0; x < width; ++x) {
      const bool inner = x > 0 && x < width - 1;
      const double expected = inner ? steps * (rank + 1.0) : x == ghosts ? steps * (2.0 - rank) : 0;
      wrong += seen[row * width + static_cast<std::size_t>(x)] != expected ? 1 : 0;
    }
  }
  return wrong;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const bool has_gpu = penstock::cuda::choose_device_on_host(MPI_COMM_WORLD);
  const long wrong = has_gpu ? count_wrong(rank) : 0;
  if (has_gpu)
    std::printf("rank %d: %d cells, %ld of them wrong\n", rank, cells, wrong);
  else
    std::printf("rank %d: no GPU here\n", rank);
  MPI_Finalize();
  if (!has_gpu) return 77;  // ctest counts it as skipped
  return wrong == 0 ? 0 : 1;
}
