// SPDX-License-Identifier: Apache-2.0
// The queue that belongs to a stream, and the papers' calls on windows, which take the stream
// itself.
#include <penstock/mpix.h>

#include <vector>

#include "conformance/window.hpp"

namespace penstock::test {
namespace {

class OwnStream {
 public:
  OwnStream() { EXPECT_PST(PST_Stream_create(&stream_)); }
  ~OwnStream() {
    if (stream_ != PST_STREAM_NULL) EXPECT_PST(PST_Stream_free(&stream_));
  }
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;
  operator PST_Stream() const { return stream_; }
  PST_Stream* handle() { return &stream_; }
  PST_Queue queue() const {
    PST_Queue queue = PST_QUEUE_NULL;
    EXPECT_PST(PST_Stream_queue(stream_, &queue));
    return queue;
  }

 private:
  PST_Stream stream_ = PST_STREAM_NULL;
};

TEST(StreamQueue, IsOneForEachStream) {
  const OwnStream first, second;
  EXPECT_EQ(first.queue(), first.queue());
  EXPECT_NE(first.queue(), second.queue());
}

TEST(StreamQueue, IsMadeAnewOnceTheProgramHasFreedIt) {
  const OwnStream stream;
  PST_Queue freed = stream.queue();
  const PST_Queue old = freed;
  EXPECT_PST(PST_Queue_free(&freed));
  EXPECT_NE(stream.queue(), old);
  EXPECT_PST(PST_Queue_wait(stream.queue()));
}

TEST(StreamQueue, EndsWithItsStream) {
  OwnStream stream;
  const PST_Queue own = stream.queue();
  EXPECT_PST(PST_Stream_free(stream.handle()));
  EXPECT_PST_KIND(PST_Queue_wait(own), PST_ERROR_QUEUE);
}

TEST(StreamQueue, StaysWhileAnotherQueueUsesTheStream) {
  OwnStream stream;
  const PST_Queue own = stream.queue();
  PST_Queue other = PST_QUEUE_NULL;
  EXPECT_PST(PST_Queue_init(&other, PST_QUEUE_HOST, stream.handle()));
  EXPECT_PST_KIND(PST_Stream_free(stream.handle()), PST_ERROR_IN_USE);
  EXPECT_EQ(stream.queue(), own);
  EXPECT_PST(PST_Queue_free(&other));
}

TEST(StreamQueue, IsRefusedForWhatIsNoStream) {
  PST_Queue queue = PST_QUEUE_NULL;
  EXPECT_PST_KIND(PST_Stream_queue(nullptr, &queue), PST_ERROR_STREAM);
  EXPECT_PST_KIND(PST_Stream_queue(&queue, &queue), PST_ERROR_STREAM);
  OwnStream stream;
  EXPECT_PST_KIND(PST_Stream_queue(stream, nullptr), PST_ERROR_ARGUMENT);
  PST_Stream freed = stream;
  EXPECT_PST(PST_Stream_free(stream.handle()));
  EXPECT_PST_KIND(PST_Stream_queue(freed, &queue), PST_ERROR_STREAM);
  EXPECT_EQ(queue, PST_QUEUE_NULL);
}

TEST(StreamQueueWindows, TheRingOfThePaper) {
  if (!windows_served()) GTEST_SKIP() << "no allowed transport serves windows";
  constexpr std::uint64_t epochs = 100;
  Window window(1);
  const OwnStream stream;
  const Group left({previous_rank()}), right({next_rank()});
  std::vector<Number> numbers;
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) numbers.push_back(stamp(rank(), epoch, 0));
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
    EXPECT_PST(MPIX_Win_post_stream(left, window.win(), stream));
    EXPECT_PST(MPI_Win_start(right, MPIX_MODE_STREAM, window.win()));
    window.put(&numbers[epoch], 1, next_rank(), 0);
    EXPECT_PST(MPIX_Win_complete_stream(window.win(), stream));
    EXPECT_PST(MPIX_Win_wait_stream(window.win(), stream));
    EXPECT_PST(PST_Stream_synchronize(stream));
    EXPECT_EQ(window.numbers()[0], stamp(previous_rank(), epoch, 0));
  }
}

TEST(StreamQueueWindows, ACallOnWhatIsNoStreamLeavesTheEpoch) {
  if (!windows_served()) GTEST_SKIP() << "no allowed transport serves windows";
  Window window(1);
  const OwnStream stream;
  const Group self({rank()});
  EXPECT_PST_KIND(MPIX_Win_post_stream(self, window.win(), nullptr), PST_ERROR_STREAM);
  EXPECT_PST(MPIX_Win_post_stream(self, window.win(), stream));
  EXPECT_PST(MPI_Win_start(self, MPI_MODE_STREAM, window.win()));
  EXPECT_PST_KIND(MPIX_Win_complete_stream(window.win(), nullptr), PST_ERROR_STREAM);
  EXPECT_PST(MPIX_Win_complete_stream(window.win(), stream));
  EXPECT_PST_KIND(MPIX_Win_wait_stream(window.win(), nullptr), PST_ERROR_STREAM);
  EXPECT_PST(MPIX_Win_wait_stream(window.win(), stream));
  EXPECT_PST(PST_Stream_synchronize(stream));
}

}  // namespace
}  // namespace penstock::test
