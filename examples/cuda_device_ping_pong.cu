// SPDX-License-Identifier: Apache-2.0
//
// Two GPUs count to 2000 together, as in cuda_ping_pong.cu, but inside one kernel each: there is no
// launch between a message and its answer.
//
//   mpiexec -n 2 ./cuda_device_ping_pong
#include <cstdio>
#include <penstock/cuda.hpp>
#include <penstock/device.cuh>

__global__ void count(const __grid_constant__ PST_Device_request to,
                      const __grid_constant__ PST_Device_request from, long* number, int rank) {
  penstock::DeviceSender send(to);
  penstock::DeviceReceiver receive(from);
  for (int round = 0; round < 2000; ++round) {
    if (round % 2 == rank) {
      if (threadIdx.x == 0) ++*number;
      if (!send.start() || !send.wait()) return;  // the queue has the error
    } else if (!receive.wait()) {
      return;
    }
  }
}

long count_together(int rank) {
  penstock::cuda::Buffer<long> number(1);
  penstock::cuda::Stream stream;
  penstock::cuda::Queue queue(stream);
  penstock::Requests requests;
  requests.add(penstock::send_init(number, 1 - rank, 0, MPI_COMM_WORLD));
  requests.add(penstock::recv_init(number, 1 - rank, 0, MPI_COMM_WORLD));
  penstock::match(requests);

  const PST_Device_request to = queue.device_request(requests[0], 1);
  const PST_Device_request from = queue.device_request(requests[1], 1);
  count<<<1, 32, 0, stream>>>(to, from, number.data(), rank);
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
