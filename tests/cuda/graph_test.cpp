// SPDX-License-Identifier: Apache-2.0
// G8: everything on a peer-cuda queue can be captured; graphs are replayed any number of times, mixed with direct
// enqueues.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

#include "conformance/one_way.hpp"

namespace penstock::test {
namespace {

#define ASSERT_CUDA(call) ASSERT_EQ(call, cudaSuccess)

class Graph {
 public:
  Graph(cudaStream_t stream, const std::function<void()>& enqueue) : stream_(stream) { capture(enqueue); }
  ~Graph() {
    if (graph_ != nullptr) cudaGraphExecDestroy(graph_);
  }
  void launch() { ASSERT_CUDA(cudaGraphLaunch(graph_, stream_)); }

 private:
  void capture(const std::function<void()>& enqueue) {
    cudaGraph_t graph = nullptr;
    ASSERT_CUDA(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal));
    enqueue();
    ASSERT_CUDA(cudaStreamEndCapture(stream_, &graph));
    ASSERT_CUDA(cudaGraphInstantiate(&graph_, graph, 0));
    ASSERT_CUDA(cudaGraphDestroy(graph));
    ASSERT_CUDA(cudaGraphUpload(graph_, stream_));
    ASSERT_CUDA(cudaStreamSynchronize(stream_));
  }
  cudaStream_t stream_;
  cudaGraphExec_t graph_ = nullptr;
};

const std::vector<Kind> kinds{Kind::standard, Kind::synchronous};

// One end of a sequence: its epochs directly or by a graph, `count` of them in each.
class Sequence {
 public:
  Sequence(OneWay& pair, int count) : pair_(pair), count_(count) {
    if (pair.sends()) send_.emplace(pair.send_lane().stream(), [this] { send(); });
    if (pair.receives()) receive_.emplace(pair.receive_lane().stream(), [this] { receive(); });
  }
  void enqueue() {
    if (pair_.sends()) send();
    if (pair_.receives()) receive();
  }
  void launch() {
    if (send_) send_->launch();
    if (receive_) receive_->launch();
  }

 private:
  void send() {
    for (int i = 0; i < count_; ++i) {
      pair_.start_send();
      pair_.wait_send();
    }
  }
  void receive() {
    for (int i = 0; i < count_; ++i) {
      pair_.start_receive();
      pair_.wait_receive();
    }
  }
  OneWay& pair_;
  int count_;
  std::optional<Graph> send_, receive_;
};

TEST(CudaGraph, G8_ReplayedManyTimes) {
  for_each_pair(protocol_sizes(), kinds, [](const auto& options) {
    OneWay pair(options);
    Sequence sequence(pair, 3);
    for (int i = 0; i < 30; ++i) sequence.launch();
    pair.finish_send();
    pair.finish_receive();
    pair.expect_good(90);
  });
}

TEST(CudaGraph, G8_MixedWithDirectEnqueues) {
  for_each_pair({8, 5000, eager_max() + 1, 300000}, kinds, [](const auto& options) {
    OneWay pair(options);
    Sequence sequence(pair, 2);
    for (int i = 0; i < 20; ++i) {
      if (i % 3 != 1) sequence.launch();
      if (i % 2 == 0) sequence.enqueue();
    }
    pair.finish_send();
    pair.finish_receive();
    pair.expect_good(2 * 13 + 2 * 10);
  });
}

TEST(CudaGraph, G8_TwoGraphsInTurn) {
  for_each_pair({8, eager_max() + 1}, kinds, [](const auto& options) {
    OneWay pair(options);
    Sequence one(pair, 1), three(pair, 3);
    for (int i = 0; i < 20; ++i) {
      one.launch();
      three.launch();
    }
    pair.finish_send();
    pair.finish_receive();
    pair.expect_good(80);
  });
}

TEST(CudaGraph, G8_AnExchangeInOneStartAndOneWait) {
  for (const std::size_t bytes : {std::size_t{8}, eager_max(), eager_max() + 1, std::size_t{1} << 20}) {
    SCOPED_TRACE(bytes);
    const int self = rank(), peer = partner();
    Lane lane;
    Sender sender(bytes, Memory::ordinary, sequence_key(self, peer, 0));
    Receiver receiver(bytes, Memory::ordinary, sequence_key(peer, self, 0));
    sender.init(Kind::standard, peer, 0);
    receiver.init(peer, 0);
    match_all({&sender.request(), &receiver.request()});
    MPI_Request both[] = {sender.request(), receiver.request()};
    Graph graph(lane.stream(), [&] {
      lane.launch(Sender::fill, &sender);
      lane.launch(Receiver::clear, &receiver);
      EXPECT_PST(PST_Enqueue_startall(lane.queue(), 2, both));
      EXPECT_PST(PST_Enqueue_waitall(lane.queue(), 2, both));
      lane.launch(Sender::scribble, &sender);
      lane.launch(Receiver::check, &receiver);
    });
    for (int i = 0; i < 100; ++i) graph.launch();
    lane.finish();
    receiver.expect_good(100);
  }
}

TEST(CudaGraph, G8_AWaitBelongsToTheCaptureOfItsStart) {
  OneWay pair({.bytes = 8});
  const auto expect_refused = [](Lane& lane, MPI_Request& request) {
    cudaGraph_t graph = nullptr;
    EXPECT_PST(PST_Enqueue_start(lane.queue(), &request));
    ASSERT_CUDA(cudaStreamBeginCapture(lane.stream(), cudaStreamCaptureModeGlobal));
    EXPECT_PST_KIND(PST_Enqueue_wait(lane.queue(), &request), PST_ERROR_NOT_STARTED);
    EXPECT_PST_KIND(PST_Queue_wait(lane.queue()), PST_ERROR_STREAM);
    int idle = 1;
    EXPECT_PST(PST_Queue_test(lane.queue(), &idle));
    EXPECT_EQ(idle, 0);
    ASSERT_CUDA(cudaStreamEndCapture(lane.stream(), &graph));
    ASSERT_CUDA(cudaGraphDestroy(graph));
    EXPECT_PST(PST_Enqueue_wait(lane.queue(), &request));
  };
  if (pair.sends()) expect_refused(pair.send_lane(), pair.sender().request());
  if (pair.receives()) expect_refused(pair.receive_lane(), pair.receiver().request());
  pair.finish_send();
  pair.finish_receive();
}

}  // namespace
}  // namespace penstock::test
