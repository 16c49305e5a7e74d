// SPDX-License-Identifier: Apache-2.0
// penstock/cuda.hpp on a GPU: buffers, their views in messages, graphs.
#include <gtest/gtest.h>

#include <numeric>
#include <penstock/cuda.hpp>
#include <stdexcept>
#include <vector>

#include "support/environment.hpp"

namespace penstock::test {
namespace {

constexpr std::size_t size = 10000;

std::vector<long> numbers(int of_rank, std::size_t count = size) {
  std::vector<long> all(count);
  std::iota(all.begin(), all.end(), 1000000L * (of_rank + 1));
  return all;
}

// A message each way between two buffers of this rank and its partner's.
Requests exchange(cuda::View<const long> out, cuda::View<long> in) {
  Requests requests;
  requests.add(send_init(out, partner(), 0, MPI_COMM_WORLD));
  requests.add(recv_init(in, partner(), 0, MPI_COMM_WORLD));
  match(requests);
  return requests;
}

TEST(CudaBuffers, AreZeroAndCopied) {
  const cuda::Stream stream;
  for (const bool is_ordered : {false, true}) {
    cuda::Buffer<long> buffer =
        is_ordered ? cuda::Buffer<long>(size, stream) : cuda::Buffer<long>(size);
    EXPECT_EQ(buffer.to_host(stream), std::vector<long>(size, 0));
    const auto values = numbers(rank());
    buffer.copy_from(values, stream);
    buffer.part(10, 5).copy_from(std::vector<long>(5, -1), stream);
    auto expected = values;
    std::fill_n(expected.begin() + 10, 5, -1);
    EXPECT_EQ(buffer.to_host(stream), expected);
    const cuda::Buffer<long> moved = std::move(buffer);
    EXPECT_EQ(moved.part(12, 8).to_host(stream),
              std::vector<long>(expected.begin() + 12, expected.begin() + 20));
  }
  EXPECT_TRUE(cuda::Buffer<long>(0).to_host(stream).empty());
  EXPECT_TRUE(cuda::Buffer<long>(0, stream).to_host(stream).empty());
}

TEST(CudaBuffers, HoldNoMoreThanMemoryCan) {
  const cuda::Stream stream;
  constexpr std::size_t one_too_many = (std::size_t{1} << 61) + 1;
  EXPECT_THROW(cuda::Buffer<double>{one_too_many}, std::length_error);
  EXPECT_THROW((cuda::Buffer<double>{one_too_many, stream}), std::length_error);
}

TEST(CudaBuffers, G1_PartsAreSentAndReceived) {
  const cuda::Stream stream;
  cuda::Buffer<long> out(size), in(size);
  out.copy_from(numbers(rank()), stream);
  cuda::Queue queue(stream);
  Requests requests = exchange(out.part(100, 50), in.part(7, 50));
  queue.run(requests);
  queue.synchronize();
  std::vector<long> expected(size, 0);
  const auto theirs = numbers(partner());
  std::copy_n(theirs.begin() + 100, 50, expected.begin() + 7);
  EXPECT_EQ(in.to_host(stream), expected);
}

TEST(CudaBuffers, G1_StreamOrderedMemoryIsServed) {
  const cuda::Stream stream;
  cuda::Buffer<long> out(size, stream), in(size, stream);
  out.copy_from(numbers(rank()), stream);
  stream.synchronize();
  cuda::Queue queue(stream);
  Requests requests = exchange(out, in);
  for (int i = 0; i < 3; ++i) queue.run(requests);
  queue.synchronize();
  EXPECT_EQ(in.to_host(stream), numbers(partner()));
}

// The messages go around: what has come is what is sent next.
TEST(CudaBuffers, G8_ACaptureIsLaunchedManyTimes) {
  const cuda::Stream stream;
  cuda::Buffer<long> out(size), in(size);
  out.copy_from(numbers(rank()), stream);
  cuda::Queue queue(stream);
  Requests requests = exchange(out, in);
  cuda::Capture capture(stream);
  queue.start(requests);
  queue.wait(requests);
  cuda::check(
      cudaMemcpyAsync(out.data(), in.data(), size * sizeof(long), cudaMemcpyDeviceToDevice, stream),
      "cudaMemcpyAsync");
  const cuda::Graph graph = capture.end();
  for (int i = 0; i < 7; ++i) graph.launch(stream);
  queue.run(requests);
  queue.synchronize();
  EXPECT_EQ(out.to_host(stream), numbers(partner()));
  EXPECT_EQ(in.to_host(stream), numbers(rank()));
}

TEST(CudaBuffers, G8_ACaptureThatIsLeftIsDropped) {
  const cuda::Stream stream;
  cuda::Buffer<long> buffer(size);
  const auto leave = [&] {
    const cuda::Capture capture(stream);
    cuda::check(cudaMemsetAsync(buffer.data(), -1, size * sizeof(long), stream), "cudaMemsetAsync");
    throw std::runtime_error("left");
  };
  EXPECT_THROW(leave(), std::runtime_error);
  EXPECT_EQ(buffer.to_host(stream), std::vector<long>(size, 0)) << "it has run, or is still open";
}

}  // namespace
}  // namespace penstock::test
