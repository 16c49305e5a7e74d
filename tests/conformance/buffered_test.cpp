// SPDX-License-Identifier: Apache-2.0
// G5: a matched buffered send completes locally, out of SLOTS buffers of the library; when all are
// taken the next start is an error of the queue, and nothing that was taken is lost.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <memory>

#include "conformance/one_way.hpp"
#include "support/rounds.hpp"

namespace penstock::test {
namespace {

TEST(Buffered, G5_CompletesWithoutTheReceiver) {
  for_each_pair(protocol_sizes(), {Kind::buffered}, [](const auto& options) {
    OneWay pair(options);
    const auto epochs = static_cast<int>(slots());
    for (int i = 0; i < epochs; ++i) {
      pair.start_send();
      pair.wait_send();
    }
    pair.finish_send();  // returns although the peer has started nothing
    meet();
    for (int i = 0; i < epochs; ++i) {
      pair.start_receive();
      pair.wait_receive();
    }
    pair.finish_receive();
    pair.expect_good(slots());
  });
}

TEST(Buffered, G6_BuffersAreUsedAgainForHundredsOfEpochs) {
  for_each_pair({8, eager_max(), eager_max() + 1, 65536}, {Kind::buffered},
                [](const auto& options) {
                  OneWay pair(options);
                  const int self = rank(), peer = partner();
                  // The answer travels against the messages, on the same streams.
                  Sender answer(1, Memory::ordinary, 5);
                  Receiver answered(1, Memory::ordinary, 5);
                  std::vector<MPI_Request*> requests;
                  if (pair.receives()) {
                    answer.init(Kind::standard, peer, 7);
                    requests.push_back(&answer.request());
                  }
                  if (pair.sends()) {
                    answered.init(peer, 7);
                    requests.push_back(&answered.request());
                  }
                  match_all(requests);
                  const int epochs = fewer_rounds(size() > 2 || peer == self ? 50 : 300, 3);
                  for (int i = 0; i < epochs; ++i) {
                    if (pair.sends()) {
                      pair.start_send();
                      pair.wait_send();
                      answered.enqueue_start(pair.send_lane());
                      answered.enqueue_wait(pair.send_lane());
                    }
                    if (pair.receives()) {
                      pair.start_receive();
                      pair.wait_receive();
                      answer.enqueue_start(pair.receive_lane());
                      answer.enqueue_wait(pair.receive_lane());
                    }
                  }
                  pair.finish_send();
                  pair.finish_receive();
                  pair.expect_good(static_cast<std::uint64_t>(epochs));
                  if (pair.sends()) answered.expect_good(static_cast<std::uint64_t>(epochs));
                });
}

TEST(Buffered, G5_ExhaustedBuffersAreAnErrorOfTheQueue) {
  for_each_pair({0, 8, eager_max(), eager_max() + 1}, {Kind::buffered}, [](const auto& options) {
    const int self = rank(), peer = partner();
    const bool sends = self % 2 == 0, receives = self % 2 == 1 || peer == self;
    Sender sender(options.bytes, options.memory, sequence_key(self, peer, 0));
    Receiver receiver(options.bytes, options.memory, sequence_key(peer, self, 0));
    std::vector<MPI_Request*> requests;
    if (sends) {
      sender.init(Kind::buffered, peer, 0);
      requests.push_back(&sender.request());
    }
    if (receives) {
      receiver.init(peer, 0);
      requests.push_back(&receiver.request());
    }
    match_all(requests);
    if (sends) {
      PST_Stream stream = PST_STREAM_NULL;
      PST_Queue queue = PST_QUEUE_NULL;
      ASSERT_PST(PST_Stream_create(&stream));
      ASSERT_PST(PST_Queue_init(&queue, PST_QUEUE_HOST, &stream));
      for (unsigned i = 0; i < slots() + 1; ++i) {
        ASSERT_PST(PST_Stream_launch(stream, Sender::fill, &sender));
        ASSERT_PST(PST_Enqueue_start(queue, &sender.request()));
        // The stream may have come to the one start too many already.
        const int code = PST_Enqueue_wait(queue, &sender.request());
        if (i < slots() || code == MPI_SUCCESS) {
          ASSERT_PST(code);
        } else {
          EXPECT_PST_KIND(code, PST_ERROR_BUFFER);
        }
      }
      EXPECT_PST_KIND(PST_Queue_wait(queue), PST_ERROR_BUFFER);
      EXPECT_PST_KIND(PST_Queue_wait(queue), PST_ERROR_BUFFER);  // sticky
      EXPECT_PST_KIND(PST_Enqueue_start(queue, &sender.request()), PST_ERROR_BUFFER);
      EXPECT_PST_KIND(PST_Queue_free(&queue), PST_ERROR_BUFFER);
      EXPECT_EQ(queue, PST_QUEUE_NULL);
      EXPECT_PST(PST_Stream_free(&stream));
    }
    meet();
    if (receives) {
      Lane lane;
      for (unsigned i = 0; i < slots(); ++i) {
        receiver.enqueue_start(lane);
        receiver.enqueue_wait(lane);
      }
      lane.finish();
      receiver.expect_good(slots());
    }
    meet();
  });
}

// Of this process, in bytes.
std::size_t resident() {
  std::ifstream file("/proc/self/statm");
  std::size_t all = 0, here = 0;
  file >> all >> here;
  return here * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// Messages of gigabytes would take seconds inside the match otherwise, and memory that no start may
// ever use.
TEST(Buffered, AMatchTouchesNoneOfItsBuffers) {
  if (size() != 2) GTEST_SKIP() << "one pair is enough";
  constexpr std::size_t bytes = std::size_t{sanitized ? 64 : 256} << 20;
  const auto buffer = std::make_unique_for_overwrite<std::byte[]>(bytes);
  MPI_Request request = MPI_REQUEST_NULL;
  if (rank() == 0)
    MPI_Bsend_init(buffer.get(), bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
  else
    MPI_Recv_init(buffer.get(), bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
  const std::size_t before = resident();
  ASSERT_PST(PST_Match(&request, MPI_STATUS_IGNORE));
  // Shared memory is reserved by touching it, so that there is no lack of it later.
  if (transport_of(request).rfind("peer", 0) != 0) {
    EXPECT_LT(resident(), before + bytes / 2);
  }
  meet();
  MPI_Request_free(&request);
}

}  // namespace
}  // namespace penstock::test
