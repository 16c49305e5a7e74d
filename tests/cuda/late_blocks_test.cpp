// SPDX-License-Identifier: Apache-2.0
// L18 and L21 on a crowded device: the sender's wait pushes with many blocks, which find their places late and one by
// one. Meanwhile the receiver is released and frees its request, and what it had serves a new pair. No block of the old
// pair may be taken for the new one's. Run with PENSTOCK_CUDA_EAGER_MAX=0.
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
  enqueue_crowd(stream, static_cast<unsigned>(20 * properties.multiProcessorCount), most_microseconds, salt);
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

// The even rank of a pair sends to the odd one; a rank that is its own partner is both.
class Round {
 public:
  explicit Round(std::size_t bytes) : bytes_(bytes) {
    const int self = rank(), peer = partner();
    std::vector<MPI_Request*> requests;
    if (self % 2 == 0) {
      sender_.emplace(bytes, Memory::ordinary, sequence_key(self, peer, 0));
      sender_->init(Kind::standard, peer, 0);
      token_out_.emplace(8, Memory::ordinary, 1);
      token_out_->init(Kind::standard, peer, 1);
      requests.insert(requests.end(), {&sender_->request(), &token_out_->request()});
    }
    if (self % 2 == 1 || peer == self) {
      receiver_.emplace(bytes, Memory::ordinary, sequence_key(peer, self, 0));
      receiver_->init(peer, 0);
      token_in_.emplace(8, Memory::ordinary, 1);
      token_in_->init(peer, 1);
      requests.insert(requests.end(), {&receiver_->request(), &token_in_->request()});
    }
    match_all(requests);
  }

  void run(cudaStream_t urgent, std::uint64_t salt) {
    if (sender_) sender_->enqueue_start(sending_);  // before the receive: so the message is left to the waits
    sending_.synchronize();
    meet();
    ASSERT_NO_FATAL_FAILURE(crowd(urgent, salt));
    std::optional<Urgent> second;
    std::optional<BrokenLane> receiving;
    if (receiver_) {
      second.emplace();
      receiving.emplace(second->stream);
      receiver_->enqueue_start(*receiving);
      receiving->start(token_in_->request());
      // Its wait for the message stands behind one that never comes: so the sender's wait finds the receive, and
      // pushes.
      receiving->wait(token_in_->request());
      receiving->wait(receiver_->request());
    }
    if (sender_) sending_.wait(sender_->request());
    meet();
    if (sender_) token_out_->free();  // which makes the receiver's wait for it hopeless, and its queue fail
    if (receiver_) {
      EXPECT_PST_KIND(PST_Queue_wait(receiving->queue()), PST_ERROR_PEER_FREED);
      receiver_->free();
      token_in_->free();
      use_again(second->stream, bytes_, 2);
      receiving.reset();
    }
    if (sender_) {
      const int code = PST_Queue_wait(sending_.queue());
      if (code != MPI_SUCCESS) {
        EXPECT_EQ(kind_of(code), PST_ERROR_PEER_FREED) << describe(code);
      } else {
        ++pushed;
      }
    }
    EXPECT_EQ(cudaStreamSynchronize(urgent), cudaSuccess);
  }

  static inline int pushed = 0;

 private:
  std::size_t bytes_;
  std::optional<Sender> sender_, token_out_;
  std::optional<Receiver> receiver_, token_in_;
  BrokenLane sending_;
};

TEST(CudaLateBlocks, L18_ANewPairGetsNothingOfAReleasedOne) {
  auto random = generator(60);  // the same on every rank
  const int rounds = long_run() ? 1000 : 60;
  Urgent urgent;
  for (int i = 0; i < rounds && !HasFailure(); ++i) {
    const std::size_t bytes = (std::size_t{16} << 10) * (2 + random() % 30);
    SCOPED_TRACE("round " + std::to_string(i) + ", " + std::to_string(bytes) + " B");
    Round round(bytes);
    round.run(urgent.stream, random());
    meet();
  }
  if (rank() == 0) std::printf("%d of %d pushes held\n", Round::pushed, rounds);
}

}  // namespace
}  // namespace penstock::test
