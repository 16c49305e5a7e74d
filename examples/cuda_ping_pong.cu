// SPDX-License-Identifier: Apache-2.0
//
// Two GPUs count to 2000 together: each adds 1 to a number in its memory and sends it to the other.
// All of it is enqueued; no thread of the host stands between a kernel and the message.
//
//   mpiexec -n 2 ./cuda_ping_pong
#include <cstdio>
#include <penstock/cuda.hpp>

__global__ void add_one(penstock::cuda::View<long> number) {
  ++number[0];
}

long count_together(int rank) {
  penstock::cuda::Buffer<long> number(1);
  penstock::cuda::Stream stream;
  penstock::cuda::Queue queue(stream);
  penstock::Requests requests;
  requests.add(penstock::send_init(number, 1 - rank, 0, MPI_COMM_WORLD));
  requests.add(penstock::recv_init(number, 1 - rank, 0, MPI_COMM_WORLD));
  penstock::match(requests);

  for (int round = 0; round < 2000; ++round) {
    const bool sends = round % 2 == rank;
    if (sends) add_one<<<1, 1, 0, stream>>>(number);
    queue.run(requests[sends ? 0 : 1]);
  }
  queue.synchronize();
  return number.to_host(stream)[0];
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const bool has_gpu = penstock::cuda::choose_device_on_host(MPI_COMM_WORLD);
  const long number = has_gpu ? count_together(rank) : 0;
  std::printf(has_gpu ? "rank %d counted to %ld\n" : "rank %d: no GPU here\n", rank, number);
  MPI_Finalize();
  if (!has_gpu) return 77;  // ctest counts it as skipped
  return number == 2000 ? 0 : 1;
}
