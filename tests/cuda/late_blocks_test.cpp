// SPDX-License-Identifier: Apache-2.0
// L18 and L21 on a crowded device: the wait of one end pushes, or pulls, with many blocks, which
// find their places late and one by one. Meanwhile the other end is released and frees its request,
// and what it had serves a new pair. No block of the old pair may be taken for the new one's. Run
// with PENSTOCK_CUDA_EAGER_MAX=0.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <random>
#include <string>

#include "conformance/one_way.hpp"
#include "cuda/graph.hpp"
#include "support/cuda/kernels.hpp"

namespace penstock::test {
namespace {

constexpr int most_microseconds = 400;  // of a block of the crowd

// Streams whose work comes before that of ordinary ones where there is room for one of them alone.
struct Urgent {
  cudaStream_t stream = nullptr;
  Urgent() {
    int least = 0, greatest = 0;
    EXPECT_EQ(cudaDeviceGetStreamPriorityRange(&least, &greatest), cudaSuccess);
    EXPECT_EQ(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest), cudaSuccess);
  }
  ~Urgent() { EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess); }
  Urgent(const Urgent&) = delete;
  Urgent& operator=(const Urgent&) = delete;
};

// Blocks that fill the device several times over and end at random moments.
void crowd(cudaStream_t stream, std::uint64_t salt) {
  int device = 0;
  cudaDeviceProp properties{};
  ASSERT_CUDA(cudaGetDevice(&device));
  ASSERT_CUDA(cudaGetDeviceProperties(&properties, device));
  enqueue_crowd(stream, static_cast<unsigned>(20 * properties.multiProcessorCount),
                most_microseconds, salt);
}

// What the released end does next: messages to itself, of the same size.
void use_again(cudaStream_t stream, std::size_t bytes, int tag) {
  constexpr int epochs = 4;
  const int self = rank();
  Sender sender(bytes, Memory::ordinary, sequence_key(self, self, tag));
  Receiver receiver(bytes, Memory::ordinary, sequence_key(self, self, tag));
  sender.init(Kind::standard, self, tag);
  receiver.init(self, tag);
  match_all({&sender.request(), &receiver.request()});
  Lane lane(stream);
  for (int i = 0; i < epochs; ++i) {
    receiver.enqueue_start(lane);
    sender.enqueue_start(lane);
    sender.enqueue_wait(lane);
    receiver.enqueue_wait(lane);
  }
  lane.finish();
  receiver.expect_good(epochs);
}

// The even rank of a pair sends to the odd one; a rank that is its own partner is both. One end is
// released, and the other one, whose start came first or whose wait finds the other's start, moves
// the message in its wait.
class Round {
 public:
  Round(std::size_t bytes, bool of_sender) : bytes_(bytes) {
    const int self = rank(), peer = partner();
    const bool sends = self % 2 == 0, receives = self % 2 == 1 || peer == self;
    released_ = of_sender ? sends : receives;
    moves_ = of_sender ? receives : sends;
    std::vector<MPI_Request*> requests;
    if (sends) {
      sender_.emplace(bytes, Memory::ordinary, sequence_key(self, peer, 0));
      sender_->init(Kind::standard, peer, 0);
      requests.push_back(&sender_->request());
      if (released_ && of_sender) released_request_ = &sender_->request();
      if (moves_ && !of_sender) moved_request_ = &sender_->request();
    }
    if (receives) {
      receiver_.emplace(bytes, Memory::ordinary, sequence_key(peer, self, 0));
      receiver_->init(peer, 0);
      requests.push_back(&receiver_->request());
      if (released_ && !of_sender) released_request_ = &receiver_->request();
      if (moves_ && of_sender) moved_request_ = &receiver_->request();
    }
    if (moves_) {
      token_out_.emplace(8, Memory::ordinary, 1);
      token_out_->init(Kind::standard, peer, 1);
      requests.push_back(&token_out_->request());
    }
    if (released_) {
      token_in_.emplace(8, Memory::ordinary, 1);
      token_in_->init(peer, 1);
      requests.push_back(&token_in_->request());
    }
    match_all(requests);
    sending_ = of_sender ? &releasing_ : &moving_;
    receiving_ = of_sender ? &moving_ : &releasing_;
  }

  void run(cudaStream_t stream, std::uint64_t salt) {
    // The send first, so that the message is left to the waits.
    if (sender_) sender_->enqueue_start(*sending_);
    if (sender_) sending_->synchronize();
    meet();
    if (receiver_) receiver_->enqueue_start(*receiving_);
    if (receiver_) receiving_->synchronize();
    meet();
    ASSERT_NO_FATAL_FAILURE(crowd(stream, salt));
    if (released_) {
      releasing_.start(token_in_->request());
      // Its wait for the message stands behind one that never comes: so the other end's wait finds
      // both started.
      releasing_.wait(token_in_->request());
      releasing_.wait(*released_request_);
    }
    if (moves_) moving_.wait(*moved_request_);
    meet();
    // Which makes the other end's wait for it hopeless, and its queue fail.
    if (moves_) token_out_->free();
    if (released_) {
      EXPECT_PST_KIND(PST_Queue_wait(releasing_.queue()), PST_ERROR_PEER_FREED);
      EXPECT_PST(MPI_Request_free(released_request_));
      token_in_->free();
      use_again(urgent_.stream, bytes_, 2);
    }
    if (moves_) {
      const int code = PST_Queue_wait(moving_.queue());
      if (code != MPI_SUCCESS) {
        EXPECT_EQ(kind_of(code), PST_ERROR_PEER_FREED) << describe(code);
      }
    }
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  }

 private:
  std::size_t bytes_;
  bool released_ = false, moves_ = false;
  std::optional<Sender> sender_, token_out_;
  std::optional<Receiver> receiver_, token_in_;
  MPI_Request* released_request_ = nullptr;
  MPI_Request* moved_request_ = nullptr;
  Urgent urgent_;
  BrokenLane moving_, releasing_{urgent_.stream};
  Lane* sending_ = nullptr;
  Lane* receiving_ = nullptr;
};

void run_rounds(bool of_sender) {
  auto random = generator(60);  // the same on every rank
  const int rounds = long_run() ? 1000 : 40;
  Urgent urgent;
  for (int i = 0; i < rounds && !::testing::Test::HasFailure(); ++i) {
    const std::size_t bytes = (std::size_t{16} << 10) * (2 + random() % 30);
    SCOPED_TRACE("round " + std::to_string(i) + ", " + std::to_string(bytes) + " B");
    Round round(bytes, of_sender);
    round.run(urgent.stream, random());
    meet();
  }
}

TEST(CudaLateBlocks, L18_ANewPairGetsNothingOfAReleasedReceive) {
  run_rounds(false);
}

TEST(CudaLateBlocks, L18_ANewPairGetsNothingOfAReleasedSend) {
  run_rounds(true);
}

}  // namespace
}  // namespace penstock::test
