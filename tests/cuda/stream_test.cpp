// SPDX-License-Identifier: Apache-2.0
// G1 to G3 on every kind of CUDA stream, and the memory that messages may lie in.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "conformance/one_way.hpp"
#include "cuda/graph.hpp"

namespace penstock::test {
namespace {

// An exchange with the partner, each way on the lane given.
void exchange(Lane& lane, std::size_t bytes, int epochs) {
  const int self = rank(), peer = partner();
  Sender sender(bytes, Memory::ordinary, sequence_key(self, peer, 0));
  Receiver receiver(bytes, Memory::ordinary, sequence_key(peer, self, 0));
  sender.init(Kind::standard, peer, 0);
  receiver.init(peer, 0);
  match_all({&sender.request(), &receiver.request()});
  for (int i = 0; i < epochs; ++i) {
    receiver.enqueue_start(lane);
    sender.enqueue_start(lane);
    sender.enqueue_wait(lane);
    receiver.enqueue_wait(lane);
  }
  lane.finish();
  receiver.expect_good(static_cast<std::uint64_t>(epochs));
}

void exchange_on(cudaStream_t stream) {
  Lane lane(stream);
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{10000}, eager_max() + 1})
    exchange(lane, bytes, 20);
}

TEST(CudaStream, G3_LegacyDefaultStream) {
  exchange_on(nullptr);
  exchange_on(cudaStreamLegacy);
}

TEST(CudaStream, G3_PerThreadDefaultStream) {
  exchange_on(cudaStreamPerThread);
}

TEST(CudaStream, G3_BlockingStream) {
  cudaStream_t stream = nullptr;
  ASSERT_CUDA(cudaStreamCreate(&stream));
  exchange_on(stream);
  ASSERT_CUDA(cudaStreamDestroy(stream));
}

TEST(CudaStream, G2_AStartNeverHoldsUpTheStream) {
  for_each_pair(protocol_sizes(), {Kind::standard, Kind::synchronous}, [](const auto& options) {
    OneWay pair(options);
    pair.start_send();
    if (pair.sends()) pair.synchronize_send();  // returns, though nobody has started the receive
    meet();
    pair.start_receive();
    pair.wait_receive();
    pair.wait_send();
    pair.finish_send();
    pair.finish_receive();
    pair.expect_good(1);
  });
}

TEST(CudaStream, G3_AnEventBehindAWaitMeansTheMessageIsThere) {
  for_each_pair({8, 20000, eager_max() + 1}, {Kind::standard}, [](const auto& options) {
    OneWay pair(options);
    cudaEvent_t event = nullptr;
    ASSERT_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    for (int epoch = 1; epoch <= 5; ++epoch) {
      pair.start_receive();
      pair.wait_receive();
      if (pair.receives()) {
        ASSERT_CUDA(cudaEventRecord(event, pair.receive_lane().stream()));
        // Gives an event that would complete too early the time to do so; a right one passes at any
        // speed.
        std::this_thread::sleep_for(std::chrono::microseconds(500));
        EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
      }
      meet();
      pair.start_send();
      pair.wait_send();
      pair.finish_send();
      if (pair.receives()) {
        ASSERT_CUDA(cudaEventSynchronize(event));
      }
      meet();
    }
    pair.finish_receive();
    pair.expect_good(5);
    ASSERT_CUDA(cudaEventDestroy(event));
  });
}

TEST(CudaStream, EveryOffsetAndLength) {
  const int self = rank(), peer = partner();
  Lane lane;
  for (std::size_t shift = 0; shift < 17; shift += 1) {
    for (const std::size_t bytes :
         {std::size_t{0}, std::size_t{1}, std::size_t{13}, std::size_t{4095},
          eager_max() + 1 + shift, std::size_t{200001}}) {
      SCOPED_TRACE("shift " + std::to_string(shift) + ", " + std::to_string(bytes) + " bytes");
      Sender sender(bytes, Memory::ordinary, sequence_key(self, peer, 0), shift);
      Receiver receiver(bytes, Memory::ordinary, sequence_key(peer, self, 0), shift * 7 % 17,
                        shift);
      sender.init(Kind::standard, peer, 0);
      receiver.init(peer, 0);
      match_all({&sender.request(), &receiver.request()});
      for (int i = 0; i < 3; ++i) {
        receiver.enqueue_start(lane);
        sender.enqueue_start(lane);
        receiver.enqueue_wait(lane);
        sender.enqueue_wait(lane);
      }
      lane.finish();
      receiver.expect_good(3);
    }
  }
}

// The same addresses come again for other allocations; mappings of the old ones must not be taken
// for them.
TEST(CudaStream, MemoryFreedAndAllocatedAgain) {
  Lane lane;
  for (int i = 0; i < 30; ++i)
    exchange(lane, eager_max() + 1 + static_cast<std::size_t>(i) * 100000, 2);
}

TEST(CudaStream, ManyMessagesInOneStartAndOneWait) {
  constexpr int messages = 70;  // more than one kernel takes
  const int self = rank(), peer = partner();
  Lane lane;
  std::vector<std::unique_ptr<Sender>> senders;
  std::vector<std::unique_ptr<Receiver>> receivers;
  std::vector<MPI_Request*> pointers;
  for (int i = 0; i < messages; ++i) {
    const std::size_t bytes = i % 3 == 0   ? 8
                              : i % 3 == 1 ? 3000 + static_cast<std::size_t>(i)
                                           : eager_max() + 1;
    senders.push_back(
        std::make_unique<Sender>(bytes, Memory::ordinary, sequence_key(self, peer, i)));
    receivers.push_back(
        std::make_unique<Receiver>(bytes, Memory::ordinary, sequence_key(peer, self, i)));
    senders.back()->init(Kind::standard, peer, i);
    receivers.back()->init(peer, i);
    pointers.push_back(&senders.back()->request());
    pointers.push_back(&receivers.back()->request());
  }
  match_all(pointers);
  std::vector<MPI_Request> all;
  for (MPI_Request* request : pointers) all.push_back(*request);
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (auto& sender : senders) lane.launch(Sender::fill, sender.get());
    for (auto& receiver : receivers) lane.launch(Receiver::clear, receiver.get());
    EXPECT_PST(PST_Enqueue_startall(lane.queue(), 2 * messages, all.data()));
    EXPECT_PST(PST_Enqueue_waitall(lane.queue(), 2 * messages, all.data()));
    for (auto& receiver : receivers) lane.launch(Receiver::check, receiver.get());
    lane.finish();
  }
  for (auto& receiver : receivers) receiver->expect_good(3);
}

}  // namespace
}  // namespace penstock::test
