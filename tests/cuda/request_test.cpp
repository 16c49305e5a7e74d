// SPDX-License-Identifier: Apache-2.0
// Matched requests in kernels of the program's (penstock/device.cuh). Every byte of every epoch is
// checked in the kernels.
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "cuda/graph.hpp"
#include "cuda/request_kernels.hpp"
#include "support/cuda/expect.hpp"
#include "support/endpoint.hpp"
#include "support/environment.hpp"
#include "support/program.hpp"

namespace penstock::test {
namespace {

class Pinned {
 public:
  Pinned() {
    EXPECT_EQ(cudaHostAlloc(reinterpret_cast<void**>(&findings_), sizeof *findings_,
                            cudaHostAllocDefault),
              cudaSuccess);
    *findings_ = {};
  }
  ~Pinned() { cudaFreeHost(findings_); }
  Findings* get() const { return findings_; }
  const Findings* operator->() const { return findings_; }

 private:
  Findings* findings_ = nullptr;
};

constexpr int many_blocks = 64;

// A send to the partner and a receive from it, with handles of both.
class Ends {
 public:
  explicit Ends(std::size_t bytes, bool synchronous = false, int wait_blocks = many_blocks)
      : bytes_(bytes),
        out_(bytes, Memory::ordinary, bytes % 4),
        in_(bytes, Memory::ordinary, bytes % 4) {
    const auto init = synchronous ? MPI_Ssend_init : MPI_Send_init;
    const int count = static_cast<int>(bytes);
    EXPECT_PST(init(out_.data(), count, MPI_BYTE, partner(), 0, MPI_COMM_WORLD, &requests[0]));
    EXPECT_PST(
        MPI_Recv_init(in_.data(), count, MPI_BYTE, partner(), 0, MPI_COMM_WORLD, &requests[1]));
    match_all({&requests[0], &requests[1]});
    make_handles(wait_blocks);
  }
  ~Ends() {
    for (MPI_Request& request : requests)
      if (request != MPI_REQUEST_NULL) EXPECT_PST(MPI_Request_free(&request));
  }
  Ends(const Ends&) = delete;
  Ends& operator=(const Ends&) = delete;

  void make_handles(int wait_blocks) {
    out = {{}, out_.data(), sequence_key(rank(), partner(), 0)};
    in = {{}, in_.data(), sequence_key(partner(), rank(), 0)};
    EXPECT_PST(PST_Request_device(lane.queue(), requests[0], wait_blocks, &out.handle));
    EXPECT_PST(PST_Request_device(lane.queue(), requests[1], wait_blocks, &in.handle));
  }
  Exchanges exchanges(std::uint32_t epochs) {
    Exchanges all{out, in, epoch, epochs, true, findings.get()};
    epoch += epochs;
    return all;
  }
  std::size_t bytes() const { return bytes_; }

  BrokenLane lane;
  std::array<MPI_Request, 2> requests{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  KernelEnd out, in;
  Pinned findings;
  std::uint64_t epoch = 1;

 private:
  std::size_t bytes_;
  Buffer out_;
  Buffer in_;
};

constexpr std::array<std::size_t, 7> sizes{8, 100, 4096, 65536, 262144, 300004, 1 << 20};

class DeviceRequest : public ::testing::Test {
 protected:
  void SetUp() override {
    load_request_kernels();
    if (const char* const wait = std::getenv("PENSTOCK_CUDA_WAIT");
        wait != nullptr && std::string(wait) == "value")
      GTEST_SKIP() << "there are no handles where ranks take turns";
  }
};

TEST_F(DeviceRequest, EveryByteOfEveryEpochByOneBlockAndByMany) {
  constexpr std::uint32_t epochs = 40;
  for (const std::size_t bytes : sizes)
    for (const unsigned blocks : {1u, 3u, 16u, 64u}) {
      SCOPED_TRACE(std::to_string(bytes) + " bytes, " + std::to_string(blocks) + " blocks");
      Ends ends(bytes);
      EXPECT_CUDA(
          enqueue_exchanges(ends.lane.stream(), ends.exchanges(epochs), Way::wait, 256, blocks));
      ends.lane.finish();
      EXPECT_EQ(ends.findings->wrong, 0u);
      EXPECT_EQ(ends.findings->refused, 0u);
      EXPECT_EQ(ends.findings->checked, std::uint64_t{epochs} * blocks);
    }
}

TEST_F(DeviceRequest, EachWayOfReceiving) {
  constexpr std::uint32_t epochs = 40;
  for (const Way way : {Way::wait, Way::look, Way::poll, Way::peek, Way::in_place})
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{100}, std::size_t{65536},
                                    std::size_t{262144}, std::size_t{300004}}) {
      SCOPED_TRACE(std::to_string(static_cast<int>(way)) + ", " + std::to_string(bytes));
      Ends ends(bytes);
      EXPECT_CUDA(enqueue_exchanges(ends.lane.stream(), ends.exchanges(epochs), way, 128, 8));
      ends.lane.finish();
      EXPECT_EQ(ends.findings->wrong, 0u);
      EXPECT_EQ(ends.findings->refused, 0u);
      EXPECT_EQ(ends.findings->checked, epochs * 8u);
    }
}

TEST_F(DeviceRequest, BlocksOfSeveralDimensionsAndOddSizes) {
  for (const dim3 threads : {dim3(16, 4, 2), dim3(7, 3), dim3(1), dim3(500)}) {
    Ends ends(4100);
    EXPECT_CUDA(enqueue_exchanges(ends.lane.stream(), ends.exchanges(20), Way::wait, threads, 2));
    ends.lane.finish();
    EXPECT_EQ(ends.findings->wrong, 0u);
    EXPECT_EQ(ends.findings->refused, 0u);
  }
}

TEST_F(DeviceRequest, SynchronousSends) {
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{65536}}) {
    Ends ends(bytes, true);
    // The receive's start is a call, as a kernel that waits for its own send needs it before.
    for (int i = 0; i < 20; ++i) {
      EXPECT_PST(PST_Enqueue_start(ends.lane.queue(), &ends.requests[1]));
      EXPECT_CUDA(enqueue_exchanges(ends.lane.stream(), ends.exchanges(1), Way::wait, 128, 1));
    }
    ends.lane.finish();
    EXPECT_EQ(ends.findings->wrong, 0u);
    EXPECT_EQ(ends.findings->refused, 0u);
  }
}

// In stream order, in each of the four ways.
TEST_F(DeviceRequest, KernelsAndCallsTakeTurns) {
  for (const std::size_t bytes : sizes) {
    SCOPED_TRACE(bytes);
    Ends ends(bytes);
    Lane& lane = ends.lane;
    constexpr std::uint64_t epochs = 48;
    for (std::uint64_t epoch = 1; epoch <= epochs; ++epoch) {
      if (epoch % 2 == 0) {
        enqueue_start(lane.stream(), ends.out, epoch, 4, ends.findings.get());
      } else {
        enqueue_fill(lane.stream(), ends.out, bytes, epoch);
        EXPECT_PST(PST_Enqueue_start(lane.queue(), &ends.requests[0]));
      }
      EXPECT_PST(PST_Enqueue_start(lane.queue(), &ends.requests[1]));
      if (epoch % 4 < 2) {
        enqueue_wait(lane.stream(), ends.in, epoch, 4, ends.findings.get());
      } else {
        EXPECT_PST(PST_Enqueue_wait(lane.queue(), &ends.requests[1]));
        enqueue_check(lane.stream(), ends.in, bytes, epoch, ends.findings.get());
      }
      if (epoch % 8 < 4)
        enqueue_send_wait(lane.stream(), ends.out, ends.findings.get());
      else
        EXPECT_PST(PST_Enqueue_wait(lane.queue(), &ends.requests[0]));
    }
    lane.finish();
    EXPECT_EQ(ends.findings->wrong, 0u);
    EXPECT_EQ(ends.findings->refused, 0u);
  }
}

// Enqueued messages first, of which the last send's wait is left to its next start.
TEST_F(DeviceRequest, AHandleOfARequestThatHasBeenUsed) {
  Ends ends(4096);
  Lane& lane = ends.lane;
  for (std::uint64_t epoch = 1; epoch <= 3; ++epoch) {
    enqueue_fill(lane.stream(), ends.out, 4096, epoch);
    EXPECT_PST(PST_Enqueue_runall(lane.queue(), 2, ends.requests.data()));
    enqueue_check(lane.stream(), ends.in, 4096, epoch, ends.findings.get());
  }
  ends.epoch = 4;
  ends.make_handles(many_blocks);
  EXPECT_CUDA(enqueue_exchanges(lane.stream(), ends.exchanges(10), Way::wait, 256, 2));
  lane.finish();
  EXPECT_EQ(ends.findings->wrong, 0u);
  EXPECT_EQ(ends.findings->refused, 0u);
}

TEST_F(DeviceRequest, G8_GraphsThatAreReplayed) {
  constexpr int launches = 5000;
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{65536}, std::size_t{262144}}) {
    Ends ends(bytes);
    // The epoch in a graph's arguments stays: a message of one epoch, sent again and again.
    Exchanges same = ends.exchanges(1);
    Graph graph(ends.lane.stream(),
                [&] { enqueue_exchanges(ends.lane.stream(), same, Way::wait, 256, 4); });
    for (int i = 0; i < launches; ++i) graph.launch();
    ends.lane.finish();
    EXPECT_EQ(ends.findings->wrong, 0u);
    EXPECT_EQ(ends.findings->refused, 0u);
    EXPECT_EQ(ends.findings->checked, 4u * launches);
  }
}

// Most blocks find a place only when others have ended; nothing in them waits.
TEST_F(DeviceRequest, StartsInAKernelLargerThanTheDevice) {
  constexpr std::uint64_t epochs = 20;
  for (const std::size_t bytes : {std::size_t{65536}, std::size_t{1 << 20}}) {
    Ends ends(bytes);
    Lane& lane = ends.lane;
    for (std::uint64_t epoch = 1; epoch <= epochs; ++epoch) {
      enqueue_start(lane.stream(), ends.out, epoch, 20000, ends.findings.get());
      enqueue_wait(lane.stream(), ends.in, epoch, 16, ends.findings.get());
      enqueue_send_wait(lane.stream(), ends.out, ends.findings.get());
    }
    lane.finish();
    EXPECT_EQ(ends.findings->wrong, 0u);
    EXPECT_EQ(ends.findings->refused, 0u);
  }
}

// What each waits for is sent behind the other's wait on the peer.
TEST_F(DeviceRequest, L2_TwoStreamsInOppositeOrders) {
  Ends first(4096), second(4096);
  for (int i = 0; i < 100; ++i) {
    Ends* const order[] = {rank() % 2 == 0 ? &first : &second, rank() % 2 == 0 ? &second : &first};
    for (Ends* const ends : order)
      EXPECT_CUDA(enqueue_exchanges(ends->lane.stream(), ends->exchanges(1), Way::wait, 256, 4));
  }
  for (Ends* const ends : {&first, &second}) {
    ends->lane.finish();
    EXPECT_EQ(ends->findings->wrong, 0u);
    EXPECT_EQ(ends->findings->refused, 0u);
  }
}

TEST_F(DeviceRequest, MisuseIsAnErrorOfTheQueue) {
  const std::array<std::pair<Misuse, PST_Error>, 3> kinds{
      std::pair{Misuse::start_twice, PST_ERROR_ALREADY_STARTED},
      std::pair{Misuse::wait_unstarted, PST_ERROR_NOT_STARTED},
      std::pair{Misuse::wait_late, PST_ERROR_ARGUMENT}};
  for (const auto& [misuse, kind] : kinds) {
    Ends ends(8, false, 2);
    const KernelEnd& side = misuse == Misuse::wait_late ? ends.in : ends.out;
    enqueue_misuse(ends.lane.stream(), side, misuse, ends.findings.get());
    EXPECT_PST_KIND(PST_Queue_wait(ends.lane.queue()), kind);
    EXPECT_EQ(ends.findings->refused, 1u);
    meet();
  }
}

TEST_F(DeviceRequest, AHandleOfAFreedRequest) {
  Ends ends(8);
  EXPECT_CUDA(enqueue_exchanges(ends.lane.stream(), ends.exchanges(3), Way::wait, 64, 1));
  ends.lane.finish();
  meet();
  for (MPI_Request& request : ends.requests) EXPECT_PST(MPI_Request_free(&request));
  enqueue_start(ends.lane.stream(), ends.out, 4, 1, ends.findings.get());
  EXPECT_PST_KIND(PST_Queue_wait(ends.lane.queue()), PST_ERROR_REQUEST);
  EXPECT_EQ(ends.findings->refused, 1u);
  meet();
}

// The peer frees its send while a kernel of ours waits for it.
TEST_F(DeviceRequest, G9_AWaitWhosePeerHasGone) {
  if (partner() == rank()) GTEST_SKIP() << "needs a peer";
  Ends ends(8);
  if (rank() % 2 == 0) {
    enqueue_wait(ends.lane.stream(), ends.in, 1, 1, ends.findings.get());
    meet();
    EXPECT_PST_KIND(PST_Queue_wait(ends.lane.queue()), PST_ERROR_PEER_FREED);
    EXPECT_EQ(ends.findings->refused, 1u);
  } else {
    meet();
    EXPECT_PST(MPI_Request_free(&ends.requests[0]));
  }
  meet();
}

// Run with PENSTOCK_TIMEOUT set to a second or so.
TEST_F(DeviceRequest, G9_AWaitThatTimeEnds) {
  if (std::getenv("PENSTOCK_TEST_RELEASE") == nullptr)
    GTEST_SKIP() << "needs PENSTOCK_TEST_RELEASE and a short PENSTOCK_TIMEOUT";
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{262144}}) {
    Ends ends(bytes);
    enqueue_wait(ends.lane.stream(), ends.in, 1, 1, ends.findings.get());
    EXPECT_PST_KIND(PST_Queue_wait(ends.lane.queue()), PST_ERROR_TIMEOUT);
    EXPECT_EQ(ends.findings->refused, 1u);
    EXPECT_EQ(ends.findings->checked, 0u);
    meet();
  }
}

TEST_F(DeviceRequest, WhatHasNoHandle) {
  const auto refused = [](std::byte* buffer, std::size_t bytes, PST_Error kind) {
    Lane lane;
    std::array<MPI_Request, 2> requests{};
    const int count = static_cast<int>(bytes);
    EXPECT_PST(MPI_Send_init(buffer, count, MPI_BYTE, partner(), 0, MPI_COMM_WORLD, &requests[0]));
    EXPECT_PST(MPI_Recv_init(buffer, count, MPI_BYTE, partner(), 0, MPI_COMM_WORLD, &requests[1]));
    PST_Device_request handle;
    EXPECT_PST_KIND(PST_Request_device(lane.queue(), requests[0], 1, &handle),
                    PST_ERROR_NOT_MATCHED);
    match_all({&requests[0], &requests[1]});
    EXPECT_PST_KIND(PST_Request_device(lane.queue(), requests[0], 1, &handle), kind);
    EXPECT_PST_KIND(PST_Request_device(lane.queue(), requests[0], -1, &handle), PST_ERROR_ARGUMENT);
    EXPECT_PST_KIND(PST_Request_device(lane.queue(), requests[0], 1, nullptr), PST_ERROR_ARGUMENT);
    // It serves as ever.
    EXPECT_PST(PST_Enqueue_runall(lane.queue(), 2, requests.data()));
    lane.finish();
    for (MPI_Request& request : requests) EXPECT_PST(MPI_Request_free(&request));
  };
  Buffer host(8, Memory::pinned), large(8 << 20, Memory::ordinary);
  refused(host.data(), 8, PST_ERROR_UNSUPPORTED);
  refused(large.data(), large.bytes(), PST_ERROR_UNSUPPORTED);
}

TEST_F(DeviceRequest, HowManyBlocksMayWait) {
  int blocks = 0, fewer = 0;
  EXPECT_EQ(wait_blocks_of_exchanges(64, &blocks), cudaSuccess);
  EXPECT_EQ(wait_blocks_of_exchanges(512, &fewer), cudaSuccess);
  EXPECT_GT(blocks, 0);
  EXPECT_GT(fewer, 0);
  EXPECT_LE(fewer, blocks);
}

}  // namespace
}  // namespace penstock::test
