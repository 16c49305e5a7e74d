// SPDX-License-Identifier: Apache-2.0
// L21 between GPUs: one end is released from its wait and uses its buffer again, in the order of
// its stream. No copy into or from the new use is reported as a message; nothing hangs; the
// released queue's stream goes on.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>

#include "conformance/one_way.hpp"
#include "cuda/graph.hpp"

namespace penstock::test {
namespace {

// A message from the even rank of a pair to the odd one, and the means to release one end of it:
// that end waits for a token first, and the token's request is freed instead of started. A rank
// that is its own partner is both ends.
class Scene {
 public:
  Scene(std::size_t bytes, bool of_sender)
      : sends_(rank() % 2 == 0),
        receives_(rank() % 2 == 1 || partner() == rank()),
        released_(of_sender ? sends_ : receives_),
        releases_(of_sender ? receives_ : sends_),
        of_sender_(of_sender) {
    const int peer = partner();
    std::vector<MPI_Request*> requests;
    if (sends_) {
      sender_ = std::make_unique<Sender>(bytes, Memory::ordinary, sequence_key(rank(), peer, 0));
      sender_->init(Kind::standard, peer, 0);
      requests.push_back(&sender_->request());
      sender_lane_ = std::make_unique<BrokenLane>();
      sender_lane_->launch(Sender::fill, sender_.get());
      sender_lane_->synchronize();
    }
    if (receives_) {
      receiver_ =
          std::make_unique<Receiver>(bytes, Memory::ordinary, sequence_key(peer, rank(), 0));
      receiver_->init(peer, 0);
      requests.push_back(&receiver_->request());
      receiver_lane_ = std::make_unique<BrokenLane>();
    }
    if (released_) {
      token_in_ = std::make_unique<Receiver>(8, Memory::ordinary, 1);
      token_in_->init(peer, 1);
      requests.push_back(&token_in_->request());
    }
    if (releases_) {
      token_out_ = std::make_unique<Sender>(8, Memory::ordinary, 1);
      token_out_->init(Kind::standard, peer, 1);
      requests.push_back(&token_out_->request());
    }
    match_all(requests);
  }

  bool released() const { return released_; }
  bool releases() const { return releases_; }
  Receiver* receiver() { return receiver_.get(); }

  // The end that will be released: everything up to the new use of the buffer is enqueued.
  void enqueue_released() {
    Lane& lane = of_sender_ ? *sender_lane_ : *receiver_lane_;
    MPI_Request& request = of_sender_ ? sender_->request() : receiver_->request();
    lane.start(request);
    lane.start(token_in_->request());
    lane.wait(token_in_->request());
    lane.wait(request);
    if (of_sender_)
      lane.launch(Sender::scribble, sender_.get());
    else
      lane.launch(Receiver::clear, receiver_.get());
  }
  // The other end lets that wait last, and then makes it hopeless.
  void release() {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    token_out_->free();
  }
  Lane& other_lane() { return of_sender_ ? *receiver_lane_ : *sender_lane_; }
  MPI_Request& other_request() { return of_sender_ ? receiver_->request() : sender_->request(); }
  int run_other() {
    Lane& lane = other_lane();
    if (const int code = PST_Enqueue_start(lane.queue(), &other_request()); code != MPI_SUCCESS)
      return code;
    if (const int code = PST_Enqueue_wait(lane.queue(), &other_request()); code != MPI_SUCCESS)
      return code;
    return PST_Queue_wait(lane.queue());
  }
  // The released queue has failed, and its stream has run on to the new use of the buffer.
  void expect_released() {
    Lane& lane = of_sender_ ? *sender_lane_ : *receiver_lane_;
    EXPECT_PST_KIND(PST_Queue_wait(lane.queue()), PST_ERROR_PEER_FREED);
    EXPECT_EQ(cudaStreamQuery(lane.stream()), cudaSuccess) << "the stream has been released";
  }
  // What the message's receiver finds, on its stream.
  void check_received() {
    receiver_lane_->launch(Receiver::check, receiver_.get());
    receiver_lane_->synchronize();
    receiver_->expect_good(1);
  }
  void check_untouched() {
    receiver_lane_->launch(Receiver::check_clear, receiver_.get());
    receiver_lane_->synchronize();
    receiver_->expect_good(0);
  }

 private:
  bool sends_, receives_, released_, releases_, of_sender_;
  std::unique_ptr<Sender> sender_, token_out_;
  std::unique_ptr<Receiver> receiver_, token_in_;
  // Destroyed first: they complete everything.
  std::unique_ptr<BrokenLane> sender_lane_, receiver_lane_;
};

// What the end that was not released got, on both ranks.
int outcome_on_both(bool mine, int code) {
  int outcome = code == MPI_SUCCESS ? 1 : 0;
  if (partner() == rank()) return outcome;
  int other = 0;
  MPI_Sendrecv(&outcome, 1, MPI_INT, partner(), 99, &other, 1, MPI_INT, partner(), 99,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return mine ? outcome : other;
}

void expect_success_or_freed(int code) {
  if (code != MPI_SUCCESS) {
    EXPECT_EQ(kind_of(code), PST_ERROR_PEER_FREED) << describe(code);
  }
}

constexpr std::size_t large = std::size_t{128} << 20;

// The copy begins about when the other end gives up: before, while and after.
void race(bool of_sender) {
  auto random = generator(static_cast<std::uint64_t>(rank()) + 40);
  const int rounds = long_run() ? 300 : 30;
  int successes = 0;
  for (int round = 0; round < rounds && !::testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Scene scene(large, of_sender);
    if (scene.released()) scene.enqueue_released();
    meet();
    int code = MPI_SUCCESS;
    if (scene.releases()) {
      scene.release();
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
      code = scene.run_other();
      expect_success_or_freed(code);
    }
    if (scene.released()) scene.expect_released();
    const bool success = outcome_on_both(scene.releases(), code) != 0;
    successes += success;
    if (!success || scene.receiver() == nullptr) continue;
    // A push that is said to have arrived came before the new use; a pull that is said to have
    // succeeded has the message.
    if (of_sender)
      scene.check_received();
    else
      scene.check_untouched();
  }
  if (rank() == 0) std::printf("%d of %d copies held\n", successes, rounds);
}

TEST(CudaReleased, L21_ReceiverReleasedAtAnyMomentOfAPush) {
  race(false);
}

TEST(CudaReleased, L21_SenderReleasedAtAnyMomentOfAPull) {
  race(true);
}

// The other end's start and wait are in a graph, so that no call of the host can refuse them.
void after_release(std::size_t bytes, bool of_sender) {
  SCOPED_TRACE(std::to_string(bytes) + (of_sender ? " B, sender" : " B, receiver"));
  Scene scene(bytes, of_sender);
  std::unique_ptr<Graph> graph;
  if (scene.releases()) {
    Lane& lane = scene.other_lane();
    graph = std::make_unique<Graph>(lane.stream(), [&] {
      lane.start(scene.other_request());
      lane.wait(scene.other_request());
    });
  }
  if (scene.released()) scene.enqueue_released();
  meet();
  if (scene.releases()) scene.release();
  if (scene.released()) scene.expect_released();
  meet();
  int code = MPI_SUCCESS;
  if (scene.releases()) {
    graph->launch();
    code = PST_Queue_wait(scene.other_lane().queue());
    expect_success_or_freed(code);
    // A small message may have been sent, or be sent to nobody.
    if (bytes > eager_max()) {
      EXPECT_NE(code, MPI_SUCCESS) << "a message to or from an end that had been released";
    }
  }
  const bool success = outcome_on_both(scene.releases(), code) != 0;
  if (scene.receiver() == nullptr) return;
  if (!of_sender) scene.check_untouched();
  if (of_sender && success) scene.check_received();
}

TEST(CudaReleased, L21_NothingIsPushedIntoAReleasedReceive) {
  for (const std::size_t bytes :
       {std::size_t{8}, std::size_t{20000}, eager_max() + 1, (std::size_t{1} << 20) + 3})
    after_release(bytes, false);
}

TEST(CudaReleased, L21_NothingIsPulledFromAReleasedSend) {
  for (const std::size_t bytes :
       {std::size_t{8}, std::size_t{20000}, eager_max() + 1, (std::size_t{1} << 20) + 3})
    after_release(bytes, true);
}

}  // namespace
}  // namespace penstock::test
