// SPDX-License-Identifier: Apache-2.0
// Messages between memory of every kind, on queues of either type: every byte, at sizes around the
// switches of the protocols. And what such pairs are refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cuda/graph.hpp"
#include "cuda/message_end.hpp"
#include "support/environment.hpp"
#include "support/program.hpp"

namespace penstock::test {
namespace {

constexpr int epochs = 3;

std::vector<std::size_t> sizes() {
  std::vector<std::size_t> all{0, 8, 4097, 70000, 300001};
  if (!transport_allowed("proxy")) all.push_back(eager_max() + 1);
  return all;
}

// The even rank of each pair sends to the odd one; a rank that is its own partner has both ends.
class OnePair {
 public:
  OnePair(Allocation from, Allocation to, std::size_t bytes, std::size_t shift = 0,
          bool buffered = false) {
    const int self = rank(), peer = partner(), sender = std::min(self, peer),
              receiver = std::max(self, peer);
    const std::uint64_t key = sequence_key_of(sender, receiver, bytes);
    std::vector<MPI_Request*> requests;
    if (self == sender) {
      send_ = std::make_unique<MessageEnd>(MessageEnd::Options{.kind = from,
                                                               .bytes = bytes,
                                                               .sends = true,
                                                               .key = key,
                                                               .shift = shift,
                                                               .buffered = buffered},
                                           receiver, 0);
      requests.push_back(&send_->request());
    }
    if (self == receiver) {
      receive_ = std::make_unique<MessageEnd>(
          MessageEnd::Options{.kind = to, .bytes = bytes, .key = key, .shift = shift * 5 % 16},
          sender, 0);
      requests.push_back(&receive_->request());
    }
    match_all(requests);
  }
  MessageEnd* send() { return send_.get(); }
  MessageEnd* receive() { return receive_.get(); }
  MPI_Request& request() { return send_ ? send_->request() : receive_->request(); }
  void run(AnyLane& send_lane, AnyLane& receive_lane, int count = epochs) {
    for (int i = 0; i < count; ++i) {
      if (receive_) receive_->enqueue_start(receive_lane);
      if (send_) send_->enqueue_start(send_lane);
      if (receive_) receive_->enqueue_wait(receive_lane);
      if (send_) send_->enqueue_wait(send_lane);
    }
    if (send_) send_lane.finish();
    if (receive_) receive_lane.finish();
  }
  void expect_good(std::uint64_t count = epochs) {
    if (receive_) receive_->expect_good(count);
  }

 private:
  static std::uint64_t sequence_key_of(int from, int to, std::size_t bytes) {
    return (seed() ^ (bytes * 0x9E3779B97F4A7C15u)) + static_cast<std::uint64_t>(from * 1000 + to);
  }
  std::unique_ptr<MessageEnd> send_, receive_;
};

std::string text(Allocation from, Allocation to, std::size_t bytes) {
  return std::string(name(from)) + " to " + name(to) + ", " + std::to_string(bytes) + " bytes";
}

// Calls body(from, to) for all pairs of kinds.
template <class Body>
void for_each_kind(Body body) {
  for (const Allocation from : allocations()) {
    for (const Allocation to : allocations()) {
      body(from, to);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(CudaMemory, G3_EveryKindToEveryKindOnCudaQueues) {
  AnyLane send_lane(queue_type), receive_lane(queue_type);
  std::size_t shift = 0;
  for_each_kind([&](Allocation from, Allocation to) {
    for (const std::size_t bytes : sizes()) {
      SCOPED_TRACE(text(from, to, bytes));
      OnePair pair(from, to, bytes, shift++ % 16);
      pair.run(send_lane, receive_lane);
      pair.expect_good();
    }
  });
}

// The host's memory on a host queue, a device's on a CUDA queue.
TEST(CudaMemory, G3_EveryKindOnItsOwnTypeOfQueue) {
  AnyLane cuda_send(queue_type), cuda_receive(queue_type), host_send(PST_QUEUE_HOST),
      host_receive(PST_QUEUE_HOST);
  for_each_kind([&](Allocation from, Allocation to) {
    for (const std::size_t bytes : sizes()) {
      SCOPED_TRACE(text(from, to, bytes));
      OnePair pair(from, to, bytes);
      pair.run(on_device(from) ? cuda_send : host_send,
               on_device(to) ? cuda_receive : host_receive);
      pair.expect_good();
    }
  });
}

TEST(CudaMemory, TheTransportIsTheBestThatServesBothEnds) {
  const bool peer = transport_allowed("peer");
  const std::string host_way = peer ? "peer" : transport_allowed("ofi") ? "ofi" : "proxy";
  const auto expect = [](Allocation from, Allocation to, const std::string& transport) {
    SCOPED_TRACE(text(from, to, 8));
    OnePair pair(from, to, 8);
    EXPECT_EQ(transport_of(pair.request()), transport);
  };
  expect(Allocation::device, Allocation::device, peer ? gpu_transport : host_way);
  expect(Allocation::device, Allocation::pageable, host_way);
  expect(Allocation::pageable, Allocation::device, host_way);
  expect(Allocation::pageable, Allocation::pageable, host_way);
}

TEST(CudaMemory, G5_BufferedSendsFromEveryKind) {
  AnyLane send_lane(queue_type), receive_lane(queue_type);
  for (const Allocation from : allocations()) {
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{20000}}) {
      SCOPED_TRACE(text(from, Allocation::device, bytes));
      OnePair pair(from, Allocation::device, bytes, 0, true);
      for (int i = 0; i < epochs; ++i) {
        pair.run(send_lane, receive_lane, 1);
        meet();  // a library buffer is free again
      }
      pair.expect_good();
    }
  }
}

// Addresses come again for other memory: nothing that is known of the old must be taken for the
// new.
TEST(CudaMemory, FreedAndAllocatedAgain) {
  AnyLane send_lane(queue_type), receive_lane(queue_type);
  for (int round = 0; round < 4; ++round) {
    for (const Allocation kind : allocations()) {
      SCOPED_TRACE(text(kind, kind, 600000));
      OnePair pair(kind, kind, 600000);
      pair.run(send_lane, receive_lane, 2);
      pair.expect_good(2);
    }
  }
}

TEST(CudaMemory, G7_ARequestStaysWithItsTypeOfQueue) {
  AnyLane cuda(queue_type), host(PST_QUEUE_HOST);
  OnePair on_cuda(Allocation::pageable, Allocation::pageable, 8);
  on_cuda.run(cuda, cuda);
  EXPECT_PST_KIND(PST_Enqueue_start(host.queue(), &on_cuda.request()), PST_ERROR_UNSUPPORTED);
  on_cuda.run(cuda, cuda);
  on_cuda.expect_good(2 * epochs);
  OnePair on_host(Allocation::pageable, Allocation::pageable, 8);
  on_host.run(host, host);
  EXPECT_PST_KIND(PST_Enqueue_start(cuda.queue(), &on_host.request()), PST_ERROR_UNSUPPORTED);
  on_host.run(host, host);
  on_host.expect_good(2 * epochs);
}

// L16: two epochs must not be taken for one.
TEST(CudaMemory, G8_AStartWithoutItsWaitLaunchedTwice) {
  const bool peer_has_kernels = transport_allowed("peer");
  OnePair pair(peer_has_kernels ? Allocation::pageable : Allocation::device, Allocation::pageable,
               8);
  if (pair.send() == nullptr) return meet();
  cudaStream_t stream = nullptr;
  PST_Queue queue = PST_QUEUE_NULL;
  ASSERT_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  ASSERT_PST(PST_Queue_init(&queue, queue_type, &stream));
  {
    const auto start = [&] { EXPECT_PST(PST_Enqueue_start(queue, &pair.request())); };
    Graph graph(stream, start, cudaStreamCaptureModeThreadLocal);
    for (int i = 0; i < 2; ++i) graph.launch();
    EXPECT_PST_KIND(PST_Queue_wait(queue), PST_ERROR_ALREADY_STARTED);
    EXPECT_PST_KIND(PST_Queue_free(&queue), PST_ERROR_ALREADY_STARTED);
  }
  ASSERT_CUDA(cudaStreamDestroy(stream));
  meet();
}

// A start and its wait of one end. MPI's own copies may go on meanwhile.
void capture(std::optional<Graph>& graph, AnyLane& lane, MessageEnd* end) {
  if (end == nullptr) return;
  const auto enqueue = [&] {
    end->enqueue_start(lane);
    end->enqueue_wait(lane);
  };
  graph.emplace(lane.stream(), enqueue, cudaStreamCaptureModeThreadLocal);
}

TEST(CudaMemory, G8_GraphsOverMemoryOfTheHost) {
  AnyLane send_lane(queue_type), receive_lane(queue_type);
  for (const auto& [from, to] : {std::pair(Allocation::pageable, Allocation::pageable),
                                 std::pair(Allocation::device, Allocation::pinned),
                                 std::pair(Allocation::pageable, Allocation::device)}) {
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{100000}}) {
      SCOPED_TRACE(text(from, to, bytes));
      OnePair pair(from, to, bytes);
      pair.run(send_lane, receive_lane);  // epochs before, and
      std::optional<Graph> send, receive;
      capture(send, send_lane, pair.send());
      capture(receive, receive_lane, pair.receive());
      for (int i = 0; i < 20; ++i) {
        if (send) send->launch();
        if (receive) receive->launch();
      }
      if (pair.send() != nullptr) send_lane.finish();
      if (pair.receive() != nullptr) receive_lane.finish();
      pair.run(send_lane, receive_lane);  // after those of the graph
      pair.expect_good(20 + 2 * epochs);
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace penstock::test
