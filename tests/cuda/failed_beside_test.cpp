// SPDX-License-Identifier: Apache-2.0
// A CUDA queue fails because of one pair while another pair's large message is under way, by
// kernels or relayed. When PST_Queue_wait has returned, the large message's buffer is the program's
// own again: nothing of it is written or read any more. (tests/fault/beside.cpp is the same on
// host streams.)
//
// Rank 0's queue fails: rank 1 frees its half of a small message once the large one has begun.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "cuda/graph.hpp"
#include "support/endpoint.hpp"
#include "support/environment.hpp"
#include "support/program.hpp"

namespace penstock::test {
namespace {

constexpr std::size_t large_bytes = std::size_t{48} << 20, small_bytes = 8;
constexpr int rounds = 5;
constexpr int small_tag = 1, large_tag = 2, last_tag = 3, token_tag = 4;
constexpr std::byte cleared{0}, sent{0x5a}, own{0x77};

class Plain {
 public:
  Plain(Memory memory, std::size_t bytes, std::byte value)
      : memory_(memory), bytes_(bytes), data_(allocate(memory, bytes, value)) {}
  ~Plain() { test::free(memory_, data_); }
  Plain(const Plain&) = delete;
  Plain& operator=(const Plain&) = delete;

  MPI_Request to(int peer, int tag) const {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Send_init(data_, static_cast<int>(bytes_), MPI_BYTE, peer, tag, MPI_COMM_WORLD, &request);
    return request;
  }
  MPI_Request from(int peer, int tag) const {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Recv_init(data_, static_cast<int>(bytes_), MPI_BYTE, peer, tag, MPI_COMM_WORLD, &request);
    return request;
  }
  // In no order with any queue.
  void set(cudaStream_t beside, std::byte value) const {
    ASSERT_CUDA(cudaMemsetAsync(data_, std::to_integer<int>(value), bytes_, beside));
    ASSERT_CUDA(cudaStreamSynchronize(beside));
  }
  std::vector<std::byte> read(cudaStream_t beside, std::size_t bytes) const {
    std::vector<std::byte> copy(bytes);
    EXPECT_EQ(cudaMemcpyAsync(copy.data(), data_, bytes, cudaMemcpyDefault, beside), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(beside), cudaSuccess);
    return copy;
  }
  bool holds(cudaStream_t beside, std::byte value) const {
    const auto copy = read(beside, bytes_);
    return std::all_of(copy.begin(), copy.end(), [=](std::byte each) { return each == value; });
  }

 private:
  Memory memory_;
  std::size_t bytes_;
  std::byte* data_;
};

void run(Lane& lane, std::vector<MPI_Request>& requests) {
  ASSERT_PST(PST_Enqueue_runall(lane.queue(), static_cast<int>(requests.size()), requests.data()));
}

void free_all(std::vector<MPI_Request>& requests) {
  for (MPI_Request& request : requests) EXPECT_PST(MPI_Request_free(&request));
}

class FailedBeside : public testing::TestWithParam<std::tuple<Memory, bool>> {
 protected:
  Memory memory() const { return std::get<0>(GetParam()); }
  // Whether the rank whose queue fails receives the large message.
  bool failing_receives() const { return std::get<1>(GetParam()); }
  bool fails() const { return rank() == 0; }
  bool receives() const { return fails() == failing_receives(); }
  int peer() const { return 1 - rank(); }

  void await_begin(const Plain& large) const {
    while (large.read(beside_.stream(), 1)[0] == cleared) {
    }
  }
  // Returns once the receiver, whichever rank that is, has seen the message begin.
  void let_peer_leave(const Plain& large) const {
    if (!failing_receives()) return;  // the receiver itself leaves
    await_begin(large);
    MPI_Send(nullptr, 0, MPI_BYTE, peer(), token_tag, MPI_COMM_WORLD);
  }
  void await_leave(const Plain& large) const {
    if (!failing_receives()) return await_begin(large);
    MPI_Recv(nullptr, 0, MPI_BYTE, peer(), token_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  // The same way brings it that brought what came before: all of that is here then.
  void pass_one_more_message() const {
    const Plain data(memory(), small_bytes, sent);
    std::vector<MPI_Request> requests{receives() ? data.from(peer(), last_tag)
                                                 : data.to(peer(), last_tag)};
    match_all({&requests[0]});
    Lane lane;
    run(lane, requests);
    lane.finish();
    free_all(requests);
  }

  // Whether the large message arrived.
  bool fail_beside(const Plain& large) const {
    const Plain small(Memory::pinned, small_bytes, cleared);
    std::vector<MPI_Request> requests{
        receives() ? large.from(peer(), large_tag) : large.to(peer(), large_tag),
        fails() ? small.from(peer(), small_tag) : small.to(peer(), small_tag)};
    match_all({&requests[0], &requests[1]});
    meet();
    BrokenLane lane;
    if (fails()) {
      run(lane, requests);
      let_peer_leave(large);
      EXPECT_PST_KIND(PST_Queue_wait(lane.queue()), PST_ERROR_PEER_FREED);
      free_all(requests);
      large.set(beside_.stream(), own);
      return false;
    }
    std::vector<MPI_Request> leaving{requests[1]};
    requests.resize(1);
    run(lane, requests);
    await_leave(large);
    free_all(leaving);
    const int code = PST_Queue_wait(lane.queue());
    if (code != MPI_SUCCESS) {
      EXPECT_EQ(kind_of(code), PST_ERROR_PEER_FREED) << describe(code);
    } else if (receives()) {
      EXPECT_TRUE(large.holds(beside_.stream(), sent)) << "a message arrived torn";
    }
    free_all(requests);
    return code == MPI_SUCCESS;
  }

  Lane beside_;
};

TEST_P(FailedBeside, ItsBufferIsTheProgramsOwnAgain) {
  if (size() != 2) GTEST_SKIP() << "two ranks";
  int arrived = 0;
  for (int round = 0; round < rounds; ++round) {
    const Plain large(memory(), large_bytes, receives() ? cleared : sent);
    arrived += fail_beside(large) ? 1 : 0;
    meet();
    pass_one_more_message();
    if (fails()) {
      EXPECT_TRUE(large.holds(beside_.stream(), own)) << "the buffer is still written";
    }
    meet();
  }
  if (!fails()) std::printf("%d of %d large messages went through\n", arrived, rounds);
}

INSTANTIATE_TEST_SUITE_P(MemoryAndSide, FailedBeside,
                         testing::Combine(testing::Values(Memory::ordinary, Memory::pinned),
                                          testing::Bool()),
                         [](const auto& test) {
                           return std::string(name(std::get<0>(test.param))) +
                                  (std::get<1>(test.param) ? "_receive" : "_send");
                         });

}  // namespace
}  // namespace penstock::test
