// SPDX-License-Identifier: Apache-2.0
//
// A ring of cells over all GPUs, each of which becomes the sum of its neighbours and twice itself,
// again and again. One kernel a step does everything: its first block waits for the neighbours'
// cells, makes the two at the ends of our part and sends them; the other blocks meanwhile make
// those in between. No kernel packs, starts or waits, and the host takes no part.
//
//   mpiexec -n 2 ./cuda_fused_halo
#include <cstdint>
#include <cstdio>
#include <penstock/cuda.hpp>
#include <penstock/device.cuh>
#include <vector>

using Cell = std::uint64_t;
constexpr int cells = 100'000;  // of a rank, between two halo cells
constexpr int steps = 500;

struct Halo {
  PST_Device_request to_left, to_right, from_left, from_right;
  Cell* out;  // the ends of our part, as they are sent
};

__device__ Cell sum(const Cell* from, int i) {
  return from[i - 1] + 2 * from[i] + from[i + 1];
}

__device__ void make_ends(const Halo& halo, Cell* from, Cell* to) {
  penstock::DeviceReceiver left(halo.from_left), right(halo.from_right);
  penstock::DeviceSender to_left(halo.to_left), to_right(halo.to_right);
  Cell before = 0, after = 0;
  if (!left.wait_in_place() || !right.wait_in_place()) return;  // the queue has the error
  if (threadIdx.x == 0) {
    left.peek(0, before);
    right.peek(0, after);
    halo.out[0] = to[1] = before + 2 * from[1] + from[2];
    halo.out[1] = to[cells] = from[cells - 1] + 2 * from[cells] + after;
  }
  if (!left.done() || !right.done()) return;
  if (to_left.wait() && to_right.wait() && to_left.start()) to_right.start();
}

__global__ void step(const __grid_constant__ Halo halo, Cell* from, Cell* to) {
  if (blockIdx.x == 0) return make_ends(halo, from, to);
  const int stride = static_cast<int>((gridDim.x - 1) * blockDim.x);
  for (int i = 2 + static_cast<int>((blockIdx.x - 1) * blockDim.x + threadIdx.x); i < cells;
       i += stride)
    to[i] = sum(from, i);
}

__global__ void send_first_ends(const __grid_constant__ Halo halo, const Cell* from) {
  if (threadIdx.x == 0) {
    halo.out[0] = from[1];
    halo.out[1] = from[cells];
  }
  penstock::DeviceSender(halo.to_left).start();
  penstock::DeviceSender(halo.to_right).start();
}

Cell first_value(long cell) {
  return static_cast<Cell>(cell) * 2654435761u + 12345;
}

// All ranks' cells, by one thread.
std::vector<Cell> expected(int ranks) {
  const long all = static_cast<long>(ranks) * cells;
  std::vector<Cell> now(static_cast<std::size_t>(all)), next(now.size());
  for (long i = 0; i < all; ++i) now[static_cast<std::size_t>(i)] = first_value(i);
  for (int s = 0; s < steps; ++s) {
    for (long i = 0; i < all; ++i)
      next[static_cast<std::size_t>(i)] = now[static_cast<std::size_t>((i + all - 1) % all)] +
                                          2 * now[static_cast<std::size_t>(i)] +
                                          now[static_cast<std::size_t>((i + 1) % all)];
    now.swap(next);
  }
  return now;
}

bool run(int rank, int ranks) {
  penstock::cuda::Stream stream;
  penstock::cuda::Queue queue(stream);
  penstock::cuda::Buffer<Cell> first(cells + 2), second(cells + 2), out(2), in(2);
  std::vector<Cell> begin(cells + 2);
  for (int i = 1; i <= cells; ++i)
    begin[static_cast<std::size_t>(i)] = first_value(static_cast<long>(rank) * cells + i - 1);
  cudaMemcpy(first.data(), begin.data(), begin.size() * sizeof(Cell), cudaMemcpyHostToDevice);

  const int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
  penstock::Requests requests;
  const auto one = [](penstock::cuda::Buffer<Cell>& buffer, int i) {
    return penstock::cuda::View<Cell>(buffer.data() + i, 1);
  };
  requests.add(penstock::send_init(one(out, 0), left, 0, MPI_COMM_WORLD));
  requests.add(penstock::send_init(one(out, 1), right, 1, MPI_COMM_WORLD));
  requests.add(penstock::recv_init(one(in, 0), left, 1, MPI_COMM_WORLD));
  requests.add(penstock::recv_init(one(in, 1), right, 0, MPI_COMM_WORLD));
  penstock::match(requests);
  const auto handle = [&](std::size_t i) { return queue.device_request(requests[i], 1); };
  const Halo halo{handle(0), handle(1), handle(2), handle(3), out.data()};

  send_first_ends<<<1, 32, 0, stream>>>(halo, first.data());
  Cell *from = first.data(), *to = second.data();
  for (int s = 0; s < steps; ++s) {
    step<<<40, 256, 0, stream>>>(halo, from, to);
    std::swap(from, to);
  }
  // What the last step has sent is received, too.
  queue.wait(requests[2]);
  queue.wait(requests[3]);
  queue.wait(requests[0]);
  queue.wait(requests[1]);
  queue.synchronize();

  std::vector<Cell> end(cells + 2);
  cudaMemcpy(end.data(), from, end.size() * sizeof(Cell), cudaMemcpyDeviceToHost);
  const std::vector<Cell> right_values = expected(ranks);
  long wrong = 0;
  for (int i = 0; i < cells; ++i)
    if (end[static_cast<std::size_t>(i) + 1] !=
        right_values[static_cast<std::size_t>(rank) * cells + static_cast<std::size_t>(i)])
      ++wrong;
  std::printf("rank %d: %d cells after %d steps, %ld wrong\n", rank, cells, steps, wrong);
  return wrong == 0;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const bool has_gpu = penstock::cuda::choose_device_on_host(MPI_COMM_WORLD);
  if (!has_gpu) std::printf("rank %d: no GPU here\n", rank);
  const bool good = has_gpu && run(rank, ranks);
  MPI_Finalize();
  if (!has_gpu) return 77;  // ctest counts it as skipped
  return good ? 0 : 1;
}
