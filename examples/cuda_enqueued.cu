// SPDX-License-Identifier: Apache-2.0
//
// A ring of which rank 0 is plain MPI on the host, and the others are GPUs: each receives a number,
// a kernel adds 1, and the sum goes on. The streams trigger the messages and wait for them, all
// steps are enqueued ahead, and MPI matches what is enqueued with what rank 0 calls.
//
//   mpiexec -n 2 ./cuda_enqueued
#include <cstdio>
#include <penstock/cuda.hpp>

constexpr int steps = 200;

__global__ void add_one(long* number) {
  *number += 1;
}

long pass_on(int left, int right) {
  penstock::cuda::Buffer<long> number(1);
  penstock::cuda::Stream stream;
  penstock::cuda::Queue queue(stream, MPI_COMM_WORLD);
  for (int step = 0; step < steps; ++step) {
    queue.receive(number, left, 0);
    queue.trigger();
    queue.wait_outstanding();
    add_one<<<1, 1, 0, stream>>>(number.data());
    queue.send(number, right, 0);
    queue.trigger();
    queue.wait_outstanding();
  }
  queue.synchronize();
  return number.to_host(stream)[0];
}

long call_plain_mpi(int left, int right) {
  long number = 0;
  for (int step = 0; step < steps; ++step) {
    MPI_Send(&number, 1, MPI_LONG, right, 0, MPI_COMM_WORLD);
    MPI_Recv(&number, 1, MPI_LONG, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  return number;
}

int main(int argc, char** argv) {
  int level = 0, rank = 0, ranks = 1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);  // a thread of Penstock calls MPI
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const bool has_gpu = penstock::cuda::choose_device_on_host(MPI_COMM_WORLD);
  const int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
  long number = 0;
  if (has_gpu && ranks > 1) number = rank == 0 ? call_plain_mpi(left, right) : pass_on(left, right);
  std::printf(has_gpu ? "rank %d: %ld came last\n" : "rank %d: no GPU here\n", rank, number);
  MPI_Finalize();
  if (!has_gpu) return 77;  // ctest counts it as skipped
  // Each GPU adds 1 a step, and rank 0 gets what the last one has added.
  const long expected =
      rank == 0 ? long{steps} * (ranks - 1) : long{steps - 1} * (ranks - 1) + rank;
  return ranks == 1 || number == expected ? 0 : 1;
}
