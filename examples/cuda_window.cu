// SPDX-License-Identifier: Apache-2.0
//
// A ring of GPUs: in each step a kernel adds 1 to what has come from the left, and a put takes the
// sum to the right. Post, complete and wait are one launch; the hosts wait once.
//
//   mpiexec -n 2 ./cuda_window
#include <cstdio>
#include <penstock/cuda.hpp>
#include <penstock/window.hpp>

constexpr int steps = 2000;

__global__ void add_one(const long* come, long* sum) {
  *sum = *come + 1;
}

long pass_around(int rank, int ranks) {
  penstock::cuda::Buffer<long> come(1), sum(1);
  penstock::cuda::Stream stream;
  penstock::cuda::Queue queue(stream);
  penstock::cuda::check(cudaMemsetAsync(come.data(), 0, sizeof(long), stream), "cudaMemsetAsync");
  queue.synchronize();
  penstock::Window<long> window(MPI_COMM_WORLD, std::span(come.data(), 1));
  const penstock::Group left(MPI_COMM_WORLD, {(rank + ranks - 1) % ranks});
  const penstock::Group right(MPI_COMM_WORLD, {(rank + 1) % ranks});

  for (int step = 0; step < steps; ++step) {
    add_one<<<1, 1, 0, stream>>>(come.data(), sum.data());
    const penstock::Batch batch(queue);
    auto exposure = window.post(left, queue);
    auto access = window.start(right);
    access.put(std::span<const long>(sum.data(), 1), (rank + 1) % ranks, 0);
    access.complete(queue);
    exposure.wait();
  }
  queue.synchronize();
  return come.to_host(stream)[0];
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const bool has_gpu = penstock::cuda::choose_device_on_host(MPI_COMM_WORLD);
  const long number = has_gpu ? pass_around(rank, ranks) : 0;
  std::printf(has_gpu ? "rank %d: %ld came last\n" : "rank %d: no GPU here\n", rank, number);
  MPI_Finalize();
  if (!has_gpu) return 77;  // ctest counts it as skipped
  return number == steps ? 0 : 1;
}
