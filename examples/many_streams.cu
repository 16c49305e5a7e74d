// SPDX-License-Identifier: Apache-2.0
//
// Eight streams of each rank exchange a part of an array each: a stream's messages wait for that
// stream's kernels alone, so that one stream computes while another's message is on its way.
//
//   mpiexec -n 2 ./many_streams
#include <cstdio>
#include <penstock/cuda.hpp>
#include <vector>

namespace cuda = penstock::cuda;

constexpr int streams = 8, rounds = 100;
constexpr std::size_t size = 50000;  // of a part

// What element i holds that this rank sends in a round; no two streams share a round's number.
__device__ long value(int rank, int round, std::size_t i) {
  return (rank + 1) * 1000000000L + round * 1000000L + static_cast<long>(i);
}
__global__ void fill(cuda::View<long> part, int rank, int round) {
  const std::size_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < part.size()) part[i] = value(rank, round, i);
}
__global__ void check(cuda::View<const long> part, int rank, int round, cuda::View<int> wrong) {
  const std::size_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < part.size() && part[i] != value(rank, round, i)) atomicAdd(&wrong[0], 1);
}

struct Part {
  cuda::View<long> out, in;
  cuda::Stream stream;
  cuda::Queue queue{stream};
  penstock::Requests requests;

  Part(cuda::View<long> to_send, cuda::View<long> to_receive, int peer, int tag)
      : out(to_send), in(to_receive) {
    requests.add(penstock::send_init(out, peer, tag, MPI_COMM_WORLD));
    requests.add(penstock::recv_init(in, peer, tag, MPI_COMM_WORLD));
    penstock::match(requests);
  }
  void enqueue_round(int rank, int round, cuda::View<int> wrong) {
    constexpr int threads = 256, blocks = (size + threads - 1) / threads;
    fill<<<blocks, threads, 0, stream>>>(out, rank, round);
    queue.run(requests);
    check<<<blocks, threads, 0, stream>>>(in, 1 - rank, round, wrong);
  }
};

int count_wrong(int rank) {
  cuda::Buffer<long> out(streams * size), in(streams * size);
  cuda::Buffer<int> wrong(1);
  std::vector<Part> parts;
  parts.reserve(streams);
  for (int s = 0; s < streams; ++s)
    parts.emplace_back(out.part(s * size, size), in.part(s * size, size), 1 - rank, s);

  for (int round = 0; round < rounds; ++round)
    for (int s = 0; s < streams; ++s) parts[s].enqueue_round(rank, round * streams + s, wrong);
  for (Part& part : parts) part.queue.synchronize();
  return wrong.to_host(parts[0].stream)[0];
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const bool has_gpu = cuda::choose_device_on_host(MPI_COMM_WORLD);
  const int wrong = has_gpu ? count_wrong(rank) : 0;
  std::printf(has_gpu ? "rank %d: %d elements are wrong\n" : "rank %d: no GPU here\n", rank, wrong);
  MPI_Finalize();
  if (!has_gpu) return 77;  // ctest counts it as skipped
  return wrong == 0 ? 0 : 1;
}
