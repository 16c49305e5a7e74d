// SPDX-License-Identifier: Apache-2.0
// G8: everything on a peer-cuda queue can be captured; graphs are replayed any number of times,
// mixed with direct enqueues.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <latch>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "conformance/one_way.hpp"
#include "cuda/graph.hpp"

namespace penstock::test {
namespace {

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

TEST(CudaGraph, G8_TwoGraphsInFlight) {
  for (const std::size_t bytes : {std::size_t{8}, eager_max() + 1}) {
    OneWay first({.bytes = bytes, .tag = 1}), second({.bytes = bytes, .tag = 2});
    Sequence one(first, 2), other(second, 3);
    for (int i = 0; i < 20; ++i) {
      one.launch();
      other.launch();
    }
    for (OneWay* pair : {&second, &first}) {
      pair->finish_send();
      pair->finish_receive();
    }
    first.expect_good(40);
    second.expect_good(60);
  }
}

// One graph for each side of a litmus program: launched twice in a row, mixed with direct enqueues,
// and in turn with a second graph of the same.
void run_in_graphs(const Program& program, const Shape& shape) {
  SCOPED_TRACE(text(program, shape));
  const int self = rank(), peer = partner();
  std::vector<std::unique_ptr<Side>> sides;
  if (peer >= self) sides.push_back(std::make_unique<Side>(program, shape, true, self, peer));
  if (peer <= self) sides.push_back(std::make_unique<Side>(program, shape, false, self, peer));
  std::vector<MPI_Request*> requests;
  for (auto& side : sides) {
    for (MPI_Request* request : side->requests()) requests.push_back(request);
  }
  match_all(requests);
  std::vector<std::unique_ptr<Graph>> first, second;
  for (auto& side : sides) {
    for (auto* graphs : {&first, &second})
      graphs->push_back(std::make_unique<Graph>(side->lane(0).stream(), [&] { side->enqueue(); }));
  }
  const auto launch = [](auto& graphs) {
    for (auto& graph : graphs) graph->launch();
  };
  launch(first);
  launch(first);
  for (auto& side : sides) side->enqueue();
  launch(second);
  launch(first);
  for (auto& side : sides) side->enqueue();
  launch(second);
  for (auto& side : sides) side->finish(7);
}

TEST(CudaGraph, L16_LitmusProgramsInGraphs) {
  const std::vector<Program> programs{
      {"L1", "s1 w1 s2 w2", "r1 r2 w2 w1"},
      {"L2", "s1 r2 w2 w1", "r1 w1 s2 w2"},
      {"L3", "s1 r2 w*", "s2 r1 w*"},
      {"L5", "s1 d r2 w2 d w1", "r1 w1 s2 w2"},
      {"L6", times("s1 w1", slots() + 1) + "s2 w2", times("r1 w1", slots()) + "r1 r2 w2 w1"},
      {"L7", times("s1 w1", slots()) + "s1 r2 w2 w1", times("r1 w1", slots() + 1) + "s2 w2"}};
  for (Program program : programs) {
    for (const Kind kind : kinds) {
      program.kind = kind;
      for (const std::size_t bytes : {std::size_t{8}, std::size_t{20000}, eager_max() + 1})
        run_in_graphs(program, {.bytes = bytes, .repeats = 2});
      if (HasFailure()) return;
    }
  }
}

TEST(CudaGraph, G8_AnExchangeInOneStartAndOneWait) {
  for (const std::size_t bytes :
       {std::size_t{8}, eager_max(), eager_max() + 1, std::size_t{1} << 20}) {
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

TEST(CudaGraph, G7_WhatACaptureForbidsChangesNothing) {
  OneWay pair({.bytes = 8});
  const auto expect_refused = [](Lane& lane, MPI_Request& request) {
    cudaGraph_t graph = nullptr;
    EXPECT_PST(PST_Enqueue_start(lane.queue(), &request));
    ASSERT_CUDA(cudaStreamBeginCapture(lane.stream(), cudaStreamCaptureModeGlobal));
    PST_Queue queue = lane.queue();
    EXPECT_PST_KIND(PST_Queue_free(&queue), PST_ERROR_STREAM);
    EXPECT_EQ(queue, lane.queue());
    EXPECT_PST_KIND(PST_Finalize(), PST_ERROR_STREAM);
    int ready = 0;
    EXPECT_PST(PST_Initialized(&ready));
    EXPECT_EQ(ready, 1);
    ASSERT_CUDA(cudaStreamEndCapture(lane.stream(), &graph));
    ASSERT_CUDA(cudaGraphDestroy(graph));
    EXPECT_PST(PST_Enqueue_wait(lane.queue(), &request));
    // Nor is a request freed whose last work may still run.
    ASSERT_CUDA(cudaStreamBeginCapture(lane.stream(), cudaStreamCaptureModeGlobal));
    MPI_Request copy = request;
    EXPECT_PST_KIND(MPI_Request_free(&copy), PST_ERROR_STREAM);
    ASSERT_CUDA(cudaStreamEndCapture(lane.stream(), &graph));
    ASSERT_CUDA(cudaGraphDestroy(graph));
  };
  if (pair.sends()) expect_refused(pair.send_lane(), pair.sender().request());
  if (pair.receives()) expect_refused(pair.receive_lane(), pair.receiver().request());
  pair.finish_send();
  pair.finish_receive();
}

// What has run directly is not thought to have ended because the stream's capture cannot go on.
TEST(CudaGraph, G7_ABrokenCaptureForbidsWhatACaptureForbids) {
  OneWay pair({.bytes = 8});
  const auto expect_refused = [](Lane& lane, MPI_Request& request) {
    cudaGraph_t graph = nullptr;
    EXPECT_PST(PST_Enqueue_start(lane.queue(), &request));
    EXPECT_PST(PST_Enqueue_wait(lane.queue(), &request));
    ASSERT_CUDA(cudaStreamBeginCapture(lane.stream(), cudaStreamCaptureModeRelaxed));
    EXPECT_NE(cudaStreamSynchronize(lane.stream()), cudaSuccess);  // breaks it
    (void)cudaGetLastError();
    MPI_Request copy = request;
    EXPECT_PST_KIND(MPI_Request_free(&copy), PST_ERROR_STREAM);
    EXPECT_PST_KIND(PST_Queue_wait(lane.queue()), PST_ERROR_STREAM);
    EXPECT_NE(cudaStreamEndCapture(lane.stream(), &graph), cudaSuccess);
    (void)cudaGetLastError();
  };
  if (pair.sends()) expect_refused(pair.send_lane(), pair.sender().request());
  if (pair.receives()) expect_refused(pair.receive_lane(), pair.receiver().request());
  pair.finish_send();
  pair.finish_receive();
}

// More requests over host memory than the library has pinned memory for at first. One part is
// matched before there is a CUDA queue, the other while there is one; all are started for the first
// time inside the capture.
TEST(CudaGraph, G8_ManyHostRequestsAreFirstStartedInACapture) {
  constexpr int count = 1200;
  std::vector<int> from(count), to(count, -1);
  std::vector<MPI_Request> requests(2 * count);
  for (int i = 0; i < count; ++i) {
    from[i] = 7 * i;
    EXPECT_PST(MPI_Send_init(&from[i], 1, MPI_INT, rank(), i, MPI_COMM_WORLD, &requests[2 * i]));
    EXPECT_PST(MPI_Recv_init(&to[i], 1, MPI_INT, rank(), i, MPI_COMM_WORLD, &requests[2 * i + 1]));
  }
  ASSERT_PST(PST_Matchall(count, requests.data(), MPI_STATUSES_IGNORE));
  {
    Lane lane;
    ASSERT_PST(PST_Matchall(count, requests.data() + count, MPI_STATUSES_IGNORE));
    Graph graph(lane.stream(), [&] {
      EXPECT_PST(PST_Enqueue_startall(lane.queue(), 2 * count, requests.data()));
      EXPECT_PST(PST_Enqueue_waitall(lane.queue(), 2 * count, requests.data()));
    });
    for (int launch = 0; launch < 3; ++launch) {
      graph.launch();
      lane.finish();
      EXPECT_EQ(to, from);
      std::fill(to.begin(), to.end(), -1);
    }
  }
  for (MPI_Request& request : requests) EXPECT_PST(MPI_Request_free(&request));
}

// What a match allocates breaks no capture, though the same thread has begun it in the strictest
// mode.
TEST(CudaGraph, G8_ManyHostRequestsAreMatchedInACapture) {
  constexpr int count = 1200;
  std::vector<int> from(count), to(count, -1);
  std::vector<MPI_Request> requests(2 * count);
  for (int i = 0; i < count; ++i) {
    from[i] = 7 * i;
    EXPECT_PST(MPI_Send_init(&from[i], 1, MPI_INT, rank(), i, MPI_COMM_WORLD, &requests[2 * i]));
    EXPECT_PST(MPI_Recv_init(&to[i], 1, MPI_INT, rank(), i, MPI_COMM_WORLD, &requests[2 * i + 1]));
  }
  Lane lane;
  Graph graph(lane.stream(), [&] {
    EXPECT_PST(PST_Matchall(2 * count, requests.data(), MPI_STATUSES_IGNORE));
    EXPECT_PST(PST_Enqueue_startall(lane.queue(), 2 * count, requests.data()));
    EXPECT_PST(PST_Enqueue_waitall(lane.queue(), 2 * count, requests.data()));
  });
  graph.launch();
  lane.finish();
  EXPECT_EQ(to, from);
  for (MPI_Request& request : requests) EXPECT_PST(MPI_Request_free(&request));
}

// Waiting and testing break no capture of another thread, though it forbids much to all threads.
TEST(CudaGraph, G8_AnotherThreadWaitsDuringACapture) {
  Lane captured, waiting;
  ASSERT_CUDA(cudaStreamBeginCapture(captured.stream(), cudaStreamCaptureModeGlobal));
  std::thread([&] {
    int flag = 0;
    EXPECT_PST(PST_Queue_test(waiting.queue(), &flag));
    EXPECT_EQ(flag, 1);
    EXPECT_PST(PST_Queue_wait(waiting.queue()));
  }).join();
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(captured.stream(), &graph), cudaSuccess);
  ASSERT_CUDA(cudaGraphDestroy(graph));
}

// The life of a queue and of its requests breaks no capture of another thread.
TEST(CudaGraph, G8_AnotherThreadMakesAndFreesDuringACapture) {
  Lane captured;
  constexpr int bytes = 300000;
  Buffer from(bytes, Memory::ordinary), to(bytes, Memory::ordinary);
  cudaStream_t stream = nullptr;
  ASSERT_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  ASSERT_CUDA(cudaMemset(from.data(), 7, bytes));
  ASSERT_CUDA(cudaMemset(to.data(), 0, bytes));
  ASSERT_CUDA(cudaDeviceSynchronize());

  // Who has begun a capture ends it.
  std::latch begun(1), used(1);
  cudaError_t end = cudaErrorNotReady;
  std::thread other([&] {
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamBeginCapture(captured.stream(), cudaStreamCaptureModeGlobal), cudaSuccess);
    begun.count_down();
    used.wait();
    end = cudaStreamEndCapture(captured.stream(), &graph);
    if (graph != nullptr) cudaGraphDestroy(graph);
  });
  begun.wait();
  for (int i = 0; i < 3; ++i) {
    PST_Queue queue = PST_QUEUE_NULL;
    EXPECT_PST(PST_Queue_init(&queue, queue_type, &stream));
    MPI_Request requests[2];
    EXPECT_PST(
        MPI_Send_init(from.data(), bytes, MPI_BYTE, rank(), 0, MPI_COMM_WORLD, &requests[0]));
    EXPECT_PST(MPI_Recv_init(to.data(), bytes, MPI_BYTE, rank(), 0, MPI_COMM_WORLD, &requests[1]));
    EXPECT_PST(PST_Matchall(2, requests, MPI_STATUSES_IGNORE));
    EXPECT_PST(PST_Enqueue_runall(queue, 2, requests));
    EXPECT_PST(PST_Queue_wait(queue));
    for (MPI_Request& request : requests) EXPECT_PST(MPI_Request_free(&request));
    EXPECT_PST(PST_Queue_free(&queue));
  }
  used.count_down();
  other.join();
  EXPECT_EQ(end, cudaSuccess);

  std::vector<std::byte> arrived(bytes);
  ASSERT_CUDA(cudaMemcpy(arrived.data(), to.data(), bytes, cudaMemcpyDefault));
  EXPECT_EQ(arrived, std::vector<std::byte>(bytes, std::byte{7}));
  ASSERT_CUDA(cudaStreamDestroy(stream));
}

TEST(CudaGraph, G8_AStartBelongsToTheCaptureOfItsWait) {
  for (const std::size_t bytes : {std::size_t{8}, eager_max() + 1}) {
    OneWay pair({.bytes = bytes, .kind = Kind::synchronous});
    // In a graph that is never launched: no wait can be for it, and the pair goes on without it.
    const auto start_alone = [](Lane& lane, MPI_Request& request) {
      Graph graph(lane.stream(), [&] { EXPECT_PST(PST_Enqueue_start(lane.queue(), &request)); });
      EXPECT_PST_KIND(PST_Enqueue_wait(lane.queue(), &request), PST_ERROR_NOT_STARTED);
      EXPECT_PST_KIND(PST_Queue_wait(lane.queue()), PST_ERROR_NOT_STARTED);
      lane.finish();
    };
    if (pair.receives()) start_alone(pair.receive_lane(), pair.receiver().request());
    if (pair.sends()) start_alone(pair.send_lane(), pair.sender().request());
    pair.start_send();
    pair.start_receive();
    pair.wait_send();
    pair.wait_receive();
    pair.finish_send();
    pair.finish_receive();
    pair.expect_good(1);
  }
}

// Two streams of one capture, and one of another, in turns. What orders the epochs inside each
// graph is the library; the graphs are launched one after the other.
TEST(CudaGraph, G8_TwoCapturesThatTakeTurnsWithARequest) {
  for (const std::size_t bytes : {std::size_t{8}, eager_max() + 1}) {
    Sender sender(bytes, Memory::ordinary, 1);
    Receiver receiver(bytes, Memory::ordinary, 1);
    sender.init(Kind::standard, rank(), 0);
    receiver.init(rank(), 0);
    match_all({&sender.request(), &receiver.request()});
    Lane first, forked, other;
    const auto epoch = [&](Lane& lane) {
      std::array<MPI_Request, 2> both{sender.request(), receiver.request()};
      EXPECT_PST(PST_Enqueue_startall(lane.queue(), 2, both.data()));
      EXPECT_PST(PST_Enqueue_waitall(lane.queue(), 2, both.data()));
    };
    const auto branch = [](Lane& from, Lane& to) {
      cudaEvent_t event = nullptr;
      ASSERT_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
      ASSERT_CUDA(cudaEventRecord(event, from.stream()));
      ASSERT_CUDA(cudaStreamWaitEvent(to.stream(), event, 0));
      ASSERT_CUDA(cudaEventDestroy(event));
    };
    first.launch(Sender::fill, &sender);
    first.synchronize();
    std::optional<Graph> second;
    Graph graph(
        first.stream(),
        [&] {
          branch(first, forked);
          epoch(first);
          epoch(forked);
          second.emplace(
              other.stream(), [&] { epoch(other); }, cudaStreamCaptureModeRelaxed);
          epoch(first);
          branch(forked, first);
        },
        cudaStreamCaptureModeRelaxed);
    for (int launch = 0; launch < 3; ++launch) {
      graph.launch();
      first.synchronize();
      second->launch();
      other.synchronize();
    }
    for (Lane* lane : {&first, &forked, &other}) lane->finish();
    first.launch(Receiver::check, &receiver);
    first.synchronize();
    receiver.expect_good(1);
  }
}

// Each end's start alone in a graph that is launched twice: nobody sees it before the device does.
TEST(CudaGraph, L16_AStartAloneLaunchedTwice) {
  for (const bool of_send : {true, false}) {
    for (const bool small : {true, false}) {
      SCOPED_TRACE(std::string(of_send ? "send, " : "receive, ") + (small ? "8 B" : "rendezvous"));
      const int self = rank(), peer = partner();
      const bool sends = self % 2 == 0, receives = self % 2 == 1 || peer == self;
      const std::size_t bytes = small ? 8 : eager_max() + 1;
      Sender sender(bytes, Memory::ordinary, 1);
      Receiver receiver(bytes, Memory::ordinary, 1);
      std::vector<MPI_Request*> requests;
      if (sends) {
        sender.init(Kind::synchronous, peer, 0);
        requests.push_back(&sender.request());
      }
      if (receives) {
        receiver.init(peer, 0);
        requests.push_back(&receiver.request());
      }
      match_all(requests);
      BrokenLane lanes[2];
      const auto run = [&](Lane& lane, MPI_Request& request, bool wrong) {
        if (!wrong) {
          const int code = PST_Enqueue_start(lane.queue(), &request);
          if (code != MPI_SUCCESS) {
            EXPECT_EQ(kind_of(code), PST_ERROR_PEER_FREED) << describe(code);
          }
          return;
        }
        Graph graph(lane.stream(), [&] { EXPECT_PST(PST_Enqueue_start(lane.queue(), &request)); });
        graph.launch();
        graph.launch();
        lane.synchronize();
      };
      if (sends) run(lanes[0], sender.request(), of_send);
      if (receives) run(lanes[1], receiver.request(), !of_send);
      const auto finish = [](Lane& lane, bool wrong) {
        const int code = PST_Queue_wait(lane.queue());
        // The other end may have had its message before.
        if (wrong || code != MPI_SUCCESS) {
          EXPECT_EQ(kind_of(code), wrong ? PST_ERROR_ALREADY_STARTED : PST_ERROR_PEER_FREED)
              << describe(code);
        }
      };
      if (sends) finish(lanes[0], of_send);
      if (receives) finish(lanes[1], !of_send);
      meet();
    }
  }
}

}  // namespace
}  // namespace penstock::test
