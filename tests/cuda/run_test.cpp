// SPDX-License-Identifier: Apache-2.0
// Runs of messages between GPUs: one kernel starts what a call sends and waits for what it
// receives, where nothing of a pair's is touched by both.
#include <array>
#include <cstdlib>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cuda/graph.hpp"
#include "support/endpoint.hpp"
#include "support/environment.hpp"
#include "support/program.hpp"

namespace penstock::test {
namespace {

// A send to the partner and a receive from it.
class Trip {
 public:
  Trip(std::size_t bytes, Kind kind, int tag)
      : sender(bytes, Memory::ordinary, sequence_key(rank(), partner(), tag), bytes % 8),
        receiver(bytes, Memory::ordinary, sequence_key(partner(), rank(), tag), bytes % 8) {
    sender.init(kind, partner(), tag);
    receiver.init(partner(), tag);
    match_all({&sender.request(), &receiver.request()});
  }
  std::array<MPI_Request, 2> requests() { return {sender.request(), receiver.request()}; }

  Sender sender;
  Receiver receiver;
};

void run(Lane& lane, std::span<MPI_Request> requests) {
  EXPECT_PST(PST_Enqueue_runall(lane.queue(), static_cast<int>(requests.size()), requests.data()));
}

std::size_t kernels_of(cudaStream_t stream, const std::function<void()>& enqueue) {
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  enqueue();
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  std::size_t nodes = 0;
  EXPECT_EQ(cudaGraphGetNodes(graph, nullptr, &nodes), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  return nodes;
}

bool by_gates() {
  const char* const wait = std::getenv("PENSTOCK_CUDA_WAIT");
  return wait != nullptr && std::string(wait) == "value";
}

constexpr std::array<std::size_t, 6> sizes{8, 100, 4096, 4100, 65536, 300000};

TEST(CudaRun, OneKernelStartsAndWaitsWhereBothAreApart) {
  if (by_gates()) GTEST_SKIP() << "gates stand before kernels";
  Trip small(8, Kind::standard, 0), synchronous(8, Kind::synchronous, 1);
  Lane lane;
  auto requests = small.requests();
  EXPECT_EQ(kernels_of(lane.stream(), [&] { run(lane, requests); }), 1u);
  // Start and wait of a synchronous send use the same words, one behind the other.
  requests = synchronous.requests();
  EXPECT_EQ(kernels_of(lane.stream(), [&] { run(lane, requests); }), 2u);
  meet();  // nothing travels that would keep the peer
}

// Who answers sends with the receive of the next message.
TEST(CudaRun, G1_PingPongByRuns) {
  const bool leads = rank() <= partner();
  constexpr int epochs = 50;
  for (const std::size_t bytes : sizes) {
    SCOPED_TRACE(bytes);
    Trip trip(bytes, Kind::standard, 0);
    Lane lane;
    auto requests = trip.requests();
    const std::span both(requests);
    if (!leads) {
      lane.launch(Receiver::clear, &trip.receiver);
      run(lane, both.last(1));
    }
    for (int epoch = 0; epoch < epochs; ++epoch) {
      if (!leads) lane.launch(Receiver::check, &trip.receiver);
      lane.launch(Sender::fill, &trip.sender);
      const bool last = !leads && epoch + 1 == epochs;
      if (!last) lane.launch(Receiver::clear, &trip.receiver);
      run(lane, last ? both.first(1) : both);
      lane.launch(Sender::scribble, &trip.sender);
      if (leads) lane.launch(Receiver::check, &trip.receiver);
    }
    lane.finish();
    trip.receiver.expect_good(epochs);
    trip.sender.expect_good(epochs);
  }
}

TEST(CudaRun, G8_GraphsRepeatARun) {
  constexpr int launches = 2000;
  for (const std::size_t bytes : sizes) {
    SCOPED_TRACE(bytes);
    Trip trip(bytes, Kind::standard, 0);
    Lane lane;
    auto requests = trip.requests();
    Graph graph(lane.stream(), [&] {
      lane.launch(Sender::fill, &trip.sender);
      lane.launch(Receiver::clear, &trip.receiver);
      run(lane, requests);
      lane.launch(Sender::scribble, &trip.sender);
      lane.launch(Receiver::check, &trip.receiver);
    });
    for (int i = 0; i < launches; ++i) graph.launch();
    lane.finish();
    trip.receiver.expect_good(launches);
  }
}

// More than one kernel takes, too.
TEST(CudaRun, G1_ManyMessagesInOneCall) {
  constexpr int epochs = 20;
  for (const int count : {2, 13, 16, 17, 40}) {
    SCOPED_TRACE(count);
    std::vector<std::unique_ptr<Trip>> trips;
    std::vector<MPI_Request> requests;
    for (int i = 0; i < count; ++i) {
      const Kind kind = i % 5 == 4 ? Kind::synchronous : Kind::standard;
      trips.push_back(std::make_unique<Trip>(sizes[static_cast<std::size_t>(i) % 4], kind, i));
      for (MPI_Request request : trips.back()->requests()) requests.push_back(request);
    }
    Lane lane;
    for (int epoch = 0; epoch < epochs; ++epoch) {
      for (auto& trip : trips) {
        lane.launch(Sender::fill, &trip->sender);
        lane.launch(Receiver::clear, &trip->receiver);
      }
      run(lane, requests);
      for (auto& trip : trips) {
        lane.launch(Sender::scribble, &trip->sender);
        lane.launch(Receiver::check, &trip->receiver);
      }
    }
    lane.finish();
    for (auto& trip : trips) trip->receiver.expect_good(epochs);
  }
}

// A send that goes another way leaves before the wait, which its answer may need.
TEST(CudaRun, G4_AStartOfAnotherTransportStandsBeforeTheWaits) {
  constexpr int epochs = 20;
  const bool asks = rank() <= partner();
  const Memory memory = Memory::pinned;
  if (rank() == partner()) GTEST_SKIP() << "one rank asks and answers in one stream";
  Sender question(8, memory, 1);
  Receiver asked(8, memory, 1);
  Sender answer(8, Memory::ordinary, 2);
  Receiver answered(8, Memory::ordinary, 2);
  Lane lane;
  if (asks) {
    question.init(Kind::standard, partner(), 0);
    answered.init(partner(), 1);
    match_all({&question.request(), &answered.request()});
  } else {
    asked.init(partner(), 0);
    answer.init(Kind::standard, partner(), 1);
    match_all({&asked.request(), &answer.request()});
  }
  for (int epoch = 0; epoch < epochs; ++epoch) {
    if (asks) {
      lane.launch(Sender::fill, &question);
      lane.launch(Receiver::clear, &answered);
      std::array<MPI_Request, 2> both{question.request(), answered.request()};
      run(lane, both);
      lane.launch(Receiver::check, &answered);
    } else {
      lane.launch(Receiver::clear, &asked);
      run(lane, std::span(&asked.request(), 1));
      lane.launch(Receiver::check, &asked);
      lane.launch(Sender::fill, &answer);
      run(lane, std::span(&answer.request(), 1));
    }
  }
  lane.finish();
  (asks ? answered : asked).expect_good(epochs);
}

// The slots are full: the start stands in one kernel with a wait for what the peer sends later.
TEST(CudaRun, G1_ARunWhoseSlotsAreFull) {
  constexpr int alone = 8, epochs = 16;
  for (const std::size_t bytes : sizes) {
    SCOPED_TRACE(bytes);
    Trip trip(bytes, Kind::standard, 0), back(8, Kind::standard, 1);
    Lane sends, receives;
    enqueue_delay(receives, 2000);
    for (int epoch = 0; epoch < epochs; ++epoch) {
      std::array<MPI_Request, 2> there{trip.sender.request(), back.receiver.request()};
      std::array<MPI_Request, 2> here{trip.receiver.request(), back.sender.request()};
      const std::size_t count = epoch < alone ? 1 : 2;
      sends.launch(Sender::fill, &trip.sender);
      sends.launch(Receiver::clear, &back.receiver);
      run(sends, std::span(there).first(count));
      if (count == 2) sends.launch(Receiver::check, &back.receiver);
      receives.launch(Receiver::clear, &trip.receiver);
      if (count == 2) receives.launch(Sender::fill, &back.sender);
      run(receives, std::span(here).first(count));
      receives.launch(Receiver::check, &trip.receiver);
      if (count == 2) receives.launch(Sender::scribble, &back.sender);
    }
    sends.finish();
    receives.finish();
    trip.receiver.expect_good(epochs);
    back.receiver.expect_good(epochs - alone);
  }
}

}  // namespace
}  // namespace penstock::test
