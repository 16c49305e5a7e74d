// SPDX-License-Identifier: Apache-2.0
// Wrong and impossible use on CUDA queues: a clear error at the call, nothing enqueued, the queue
// stays usable.
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "conformance/one_way.hpp"

namespace penstock::test {
namespace {

// A pair of this rank with itself over the given memory.
struct Loop {
  Loop(void* from, void* to, int bytes, int tag) {
    EXPECT_PST(MPI_Send_init(from, bytes, MPI_BYTE, rank(), tag, MPI_COMM_WORLD, &requests[0]));
    EXPECT_PST(MPI_Recv_init(to, bytes, MPI_BYTE, rank(), tag, MPI_COMM_WORLD, &requests[1]));
  }
  ~Loop() {
    for (MPI_Request& request : requests) EXPECT_PST(MPI_Request_free(&request));
  }
  int match() { return PST_Matchall(2, requests, MPI_STATUSES_IGNORE); }
  MPI_Request requests[2];
};

TEST(CudaErrors, G7_CudaMemoryOnAHostQueue) {
  std::vector<std::byte> from(64, std::byte{7}), to(64);
  Buffer device_from(64, Memory::ordinary), device_to(64, Memory::ordinary);
  Loop host(from.data(), to.data(), 64, 1), device(device_from.data(), device_to.data(), 64, 2);
  ASSERT_PST(host.match());
  ASSERT_PST(device.match());
  PST_Stream stream = PST_STREAM_NULL;
  PST_Queue queue = PST_QUEUE_NULL;
  ASSERT_PST(PST_Stream_create(&stream));
  ASSERT_PST(PST_Queue_init(&queue, PST_QUEUE_HOST, &stream));
  MPI_Request mixed[] = {host.requests[0], host.requests[1], device.requests[0],
                         device.requests[1]};
  EXPECT_PST_KIND(PST_Enqueue_startall(queue, 4, mixed), PST_ERROR_UNSUPPORTED);
  // Nothing of it was enqueued.
  EXPECT_PST_KIND(PST_Enqueue_wait(queue, &mixed[0]), PST_ERROR_NOT_STARTED);
  {
    // A CUDA queue serves both.
    Lane lane;
    EXPECT_PST(PST_Enqueue_startall(lane.queue(), 4, mixed));
    EXPECT_PST(PST_Enqueue_waitall(lane.queue(), 4, mixed));
    lane.finish();
    EXPECT_EQ(from, to);
  }
  EXPECT_PST(PST_Queue_free(&queue));
  EXPECT_PST(PST_Stream_free(&stream));
}

TEST(CudaErrors, G7_StreamOfAnotherDevice) {
  int devices = 0;
  ASSERT_EQ(cudaGetDeviceCount(&devices), cudaSuccess);
  if (devices < 2) GTEST_SKIP() << "needs two devices";
  Buffer from(64, Memory::ordinary), to(64, Memory::ordinary);
  Loop loop(from.data(), to.data(), 64, 1);
  ASSERT_PST(loop.match());
  int own = 0;
  cudaGetDevice(&own);
  cudaSetDevice(1 - own);
  {
    Lane lane;
    EXPECT_PST_KIND(PST_Enqueue_start(lane.queue(), &loop.requests[0]), PST_ERROR_UNSUPPORTED);
  }
  cudaSetDevice(own);
}

// A launch on a stream whose capture has become invalid fails; the context lives on.
TEST(CudaErrors, G9_ALaunchThatFailsIsToldToThePeer) {
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{20000}, eager_max() + 1}) {
    SCOPED_TRACE(bytes);
    const int self = rank(), peer = partner();
    const bool sends = self % 2 == 0, receives = self % 2 == 1 || peer == self;
    Sender sender(bytes, Memory::ordinary, 1);
    Receiver receiver(bytes, Memory::ordinary, 1);
    std::vector<MPI_Request*> requests;
    if (sends) {
      sender.init(Kind::standard, peer, 0);
      requests.push_back(&sender.request());
    }
    if (receives) {
      receiver.init(peer, 0);
      requests.push_back(&receiver.request());
    }
    match_all(requests);
    BrokenLane sending, receiving;
    if (receives) {
      receiving.start(receiver.request());
      receiving.wait(receiver.request());
    }
    meet();
    if (sends) {
      cudaGraph_t graph = nullptr;
      ASSERT_EQ(cudaStreamBeginCapture(sending.stream(), cudaStreamCaptureModeGlobal), cudaSuccess);
      EXPECT_NE(cudaStreamSynchronize(sending.stream()), cudaSuccess)
          << "which makes the capture invalid";
      PST_Enqueue_start(sending.queue(), &sender.request());
      EXPECT_PST_KIND(PST_Enqueue_wait(sending.queue(), &sender.request()), PST_ERROR_STREAM);
      EXPECT_NE(cudaStreamEndCapture(sending.stream(), &graph), cudaSuccess);
      cudaGetLastError();
      // On another queue the pair is refused too.
      BrokenLane other;
      const int code = PST_Enqueue_start(other.queue(), &sender.request());
      EXPECT_NE(code == MPI_SUCCESS ? PST_Queue_wait(other.queue()) : code, MPI_SUCCESS);
    }
    if (receives) EXPECT_PST_KIND(PST_Queue_wait(receiving.queue()), PST_ERROR_PEER_FREED);
    meet();
  }
}

// G9. Run with PENSTOCK_TIMEOUT set to a second or so.
TEST(CudaErrors, G9_AWaitThatNobodyEndsIsReleased) {
  if (std::getenv("PENSTOCK_TEST_RELEASE") == nullptr)
    GTEST_SKIP() << "needs PENSTOCK_TEST_RELEASE and a short PENSTOCK_TIMEOUT";
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{20000}, eager_max() + 1}) {
    SCOPED_TRACE(bytes);
    const int peer = partner();
    Sender sender(bytes, Memory::ordinary, 1);
    Receiver receiver(bytes, Memory::ordinary, 1);
    sender.init(Kind::standard, peer, 0);
    receiver.init(peer, 0);
    match_all({&sender.request(), &receiver.request()});
    PST_Queue queue = PST_QUEUE_NULL;
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_PST(PST_Queue_init(&queue, queue_type, &stream));
    EXPECT_PST(PST_Enqueue_start(queue, &receiver.request()));
    EXPECT_PST(PST_Enqueue_wait(queue, &receiver.request()));
    EXPECT_PST_KIND(PST_Queue_wait(queue), PST_ERROR_TIMEOUT);
    EXPECT_EQ(cudaStreamQuery(stream), cudaSuccess) << "the stream has been released";
    EXPECT_PST_KIND(PST_Enqueue_start(queue, &sender.request()), PST_ERROR_TIMEOUT);
    EXPECT_PST_KIND(PST_Queue_free(&queue), PST_ERROR_TIMEOUT);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
    meet();
  }
}

}  // namespace
}  // namespace penstock::test
