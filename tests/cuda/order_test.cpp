// SPDX-License-Identifier: Apache-2.0
// L15 and L17: order that CUDA adds between streams, and host calls that may wait for the device,
// while a wait spins. Programs that would complete in host order complete; others complete or are
// released by the watchdog.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "conformance/one_way.hpp"
#include "cuda/graph.hpp"
#include "support/cuda/kernels.hpp"

namespace penstock::test {
namespace {

// A message each way with the partner.
struct Exchange {
  Sender sender;
  Receiver receiver;
  explicit Exchange(std::size_t bytes, int tag = 0)
      : sender(bytes, Memory::ordinary, sequence_key(rank(), partner(), tag)),
        receiver(bytes, Memory::ordinary, sequence_key(partner(), rank(), tag)) {
    sender.init(Kind::standard, partner(), tag);
    receiver.init(partner(), tag);
    match_all({&sender.request(), &receiver.request()});
  }
};

const std::vector<std::size_t> sizes{8, 20000, eager_max() + 1};

// The NULL stream and a blocking stream order themselves, as the host enqueues.
TEST(CudaOrder, L15_TheNullStreamBesideABlockingOne) {
  cudaStream_t blocking = nullptr;
  ASSERT_CUDA(cudaStreamCreate(&blocking));
  for (const std::size_t bytes : sizes) {
    SCOPED_TRACE(bytes);
    Exchange messages(bytes);
    Lane null(cudaStreamLegacy), other(blocking);
    constexpr int epochs = 20;
    for (int i = 0; i < epochs; ++i) {
      messages.sender.enqueue_start(null);
      messages.receiver.enqueue_start(other);
      if (i % 2 == 0) messages.sender.enqueue_wait(null);
      messages.receiver.enqueue_wait(other);
      if (i % 2 == 1) messages.sender.enqueue_wait(null);
    }
    null.finish();
    other.finish();
    messages.receiver.expect_good(epochs);
  }
  ASSERT_CUDA(cudaStreamDestroy(blocking));
}

// Branches of a graph may run one after the other, in any order that the graph allows: so both
// starts stand before both waits.
TEST(CudaOrder, L15_ParallelBranchesOfAGraph) {
  for (const std::size_t bytes : sizes) {
    SCOPED_TRACE(bytes);
    Exchange messages(bytes);
    Lane one, two;
    cudaEvent_t event = nullptr;
    ASSERT_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    const auto order = [&](Lane& before, Lane& behind) {
      ASSERT_CUDA(cudaEventRecord(event, before.stream()));
      ASSERT_CUDA(cudaStreamWaitEvent(behind.stream(), event, 0));
    };
    Graph graph(one.stream(), [&] {
      order(one, two);
      messages.sender.enqueue_start(one);
      messages.receiver.enqueue_start(two);
      order(one, two);
      order(two, one);
      messages.sender.enqueue_wait(one);
      messages.receiver.enqueue_wait(two);
      order(two, one);
    });
    constexpr int epochs = 20;
    for (int i = 0; i < epochs; ++i) graph.launch();
    one.finish();
    two.finish();
    messages.receiver.expect_good(epochs);
    ASSERT_CUDA(cudaEventDestroy(event));
  }
}

// The limit: waits, and what stands behind them, are enqueued before the starts that they depend
// on. As long as each stream has a hardware connection of its own it completes; with fewer, what
// stands behind a wait can hold up the start.
TEST(CudaOrder, L15_AgainstHostOrderItCompletesOrIsReleased) {
  if (std::getenv("PENSTOCK_TEST_RELEASE") == nullptr)
    GTEST_SKIP() << "needs PENSTOCK_TEST_RELEASE and a short PENSTOCK_TIMEOUT";
  if (size() > 1) GTEST_SKIP() << "both ends are in one process";
  for (const std::size_t count : {1u, 2u, 4u, 8u}) {
    std::vector<std::unique_ptr<Exchange>> messages;
    std::vector<std::unique_ptr<BrokenLane>> sending, receiving;
    for (std::size_t i = 0; i < count; ++i) {
      messages.push_back(std::make_unique<Exchange>(8, static_cast<int>(i)));
      sending.push_back(std::make_unique<BrokenLane>());
      receiving.push_back(std::make_unique<BrokenLane>());
    }
    for (std::size_t i = 0; i < count; ++i) {
      messages[i]->receiver.enqueue_start(*receiving[i]);
      messages[i]->receiver.enqueue_wait(*receiving[i]);
    }
    for (std::size_t i = 0; i < count; ++i) {
      sending[i]->launch(Sender::fill, &messages[i]->sender);
      const int code = PST_Enqueue_start(sending[i]->queue(), &messages[i]->sender.request());
      EXPECT_TRUE(code == MPI_SUCCESS || kind_of(code) == PST_ERROR_PEER_FREED) << describe(code);
    }
    std::size_t completed = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const int code = PST_Queue_wait(receiving[i]->queue());
      if (code == MPI_SUCCESS) {
        ++completed;
        messages[i]->receiver.expect_good(1);
      } else {
        EXPECT_EQ(kind_of(code), PST_ERROR_TIMEOUT) << describe(code);
      }
      PST_Queue_wait(sending[i]->queue());
    }
    std::printf("%zu receives before their sends: %zu completed\n", count, completed);
  }
}

// Another rank's start comes late, and does not depend on what is done here meanwhile: a first
// launch and a match, which may be held up until the wait has ended.
TEST(CudaOrder, L17_AFirstLaunchAndAMatchWhileAWaitSpins) {
  for (const std::size_t bytes : sizes) {
    SCOPED_TRACE(bytes);
    OneWay pair({.bytes = bytes, .tag = 5});
    if (pair.sends()) enqueue_delay(pair.send_lane(), 50000);
    pair.start_send();
    pair.start_receive();
    pair.wait_receive();
    pair.wait_send();
    const Stream fresh = make_stream();
    enqueue_never_loaded(fresh);
    synchronize(fresh);
    ASSERT_CUDA(cudaGetLastError());
    free_stream(fresh);
    Exchange later(bytes + 1, 6);
    Lane lane;
    later.receiver.enqueue_start(lane);
    later.sender.enqueue_start(lane);
    later.sender.enqueue_wait(lane);
    later.receiver.enqueue_wait(lane);
    lane.finish();
    later.receiver.expect_good(1);
    pair.finish_send();
    pair.finish_receive();
    pair.expect_good(1);
  }
}

}  // namespace
}  // namespace penstock::test
