// SPDX-License-Identifier: Apache-2.0
#include <penstock/device.cuh>

#include "cuda_check.hpp"
#include "inside.hpp"

namespace penstock::bench {
namespace {

__global__ void __launch_bounds__(512) make_trips(const __grid_constant__ InsideTrips what) {
  DeviceSender send(what.send, blockIdx.x, gridDim.x);
  DeviceReceiver receive(what.receive, blockIdx.x, gridDim.x);
  bool good = true;
  for (int i = 0; i < what.trips && good; ++i) {
    if (!what.leads) good = receive.wait();
    good = good && send.start();
    if (what.leads) good = good && receive.wait();
    good = good && send.wait();
  }
}

}  // namespace

void enqueue_trips(cudaStream_t stream, const InsideTrips& trips, unsigned blocks,
                   unsigned threads) {
  make_trips<<<blocks, threads, 0, stream>>>(trips);
  CHECK_CUDA(cudaGetLastError());
}

}  // namespace penstock::bench
