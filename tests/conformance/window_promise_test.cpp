// SPDX-License-Identifier: Apache-2.0
// R16 of docs/rma.md: MPI_MODE_NOCHECK promises that posts run before the completes. The program
// proves it to itself by a message; PENSTOCK_CHECK=1 reports where it is not so.
#include <atomic>

#include "conformance/window.hpp"
#include "support/program.hpp"

namespace penstock::test {
namespace {

bool checking() {
  const char* const value = std::getenv("PENSTOCK_CHECK");
  return value != nullptr && std::string(value) == "1";
}

// A message to the left neighbour on each step, from the right one.
class Message {
 public:
  Message()
      : sender_(8, Memory::ordinary, sequence_key(rank(), previous_rank(), 0)),
        receiver_(8, Memory::ordinary, sequence_key(next_rank(), rank(), 0)) {
    sender_.init(Kind::standard, previous_rank(), 0);
    receiver_.init(next_rank(), 0);
    match_all({&sender_.request(), &receiver_.request()});
  }
  void pass(Lane& lane) {
    receiver_.enqueue_start(lane);
    sender_.enqueue_start(lane);
    receiver_.enqueue_wait(lane);
    sender_.enqueue_wait(lane);
  }
  void expect_good(std::uint64_t epochs) const { receiver_.expect_good(epochs); }

 private:
  Sender sender_;
  Receiver receiver_;
};

// What each side of an epoch says.
struct Says {
  int post = 0, start = 0;
};
constexpr int promise = MPI_MODE_NOCHECK;

// Each rank writes into its right neighbour's window, which the neighbour clears before its post.
void ring_of_promises(std::size_t count, Memory memory, const std::vector<Says>& turns) {
  Window window(count, memory);
  Numbers source(count);
  Message posted;
  Lane lane;
  Script script;
  std::atomic<std::uint64_t> wrong = 0;
  const int left = previous_rank(), right = next_rank(), self = rank();
  constexpr std::uint64_t epochs = 24;
  for (std::uint64_t epoch = 1; epoch <= epochs; ++epoch) {
    const Says says = turns[epoch % turns.size()];
    script.run(lane, [&window] {
      std::fill(window.numbers().begin(), window.numbers().end(), Number{0});
    });
    window.send(lane);
    window.post(lane, {left}, says.post);
    posted.pass(lane);
    script.run(lane, [&source, self, epoch] {
      for (std::size_t i = 0; i < source.size(); ++i) source[i] = stamp(self, epoch, i);
    });
    source.send(lane);
    window.start({right}, says.start);
    window.put(source.data(), count, right, 0);
    window.complete(lane);
    window.wait(lane);
    window.fetch(lane);
    script.run(lane, [&wrong, &window, left, epoch] {
      wrong += count_wrong(window.numbers(), left, epoch);
    });
  }
  lane.finish();
  EXPECT_EQ(wrong, 0U) << count << " numbers, " << name(memory);
  posted.expect_good(epochs);
}

void rings_of_promises(const std::vector<Says>& turns) {
  for (const Memory memory : window_memories())
    for (const std::size_t count : {std::size_t{1}, std::size_t{30}, std::size_t{5000}})
      ring_of_promises(count, memory, turns);
}

TEST(Windows, R16_PromisedByBothSidesAndProvenByAMessage) {
  if (!windows_served()) GTEST_SKIP() << not_served;
  rings_of_promises({{promise, promise}});
}

TEST(Windows, R16_PromisedInSomeEpochs) {
  if (!windows_served()) GTEST_SKIP() << not_served;
  rings_of_promises({{promise, promise}, {}, {}, {promise, promise}, {promise, promise}});
}

TEST(Windows, R16_PromisedByTheOriginAlone) {
  if (!windows_served()) GTEST_SKIP() << not_served;
  rings_of_promises({{0, promise}, {}, {promise, promise}});
}

// The origin looks for a post that comes with the target's wait.
TEST(Windows, R16_PromisedByTheTargetAlone) {
  if (!windows_served()) GTEST_SKIP() << not_served;
  for (const std::size_t count : {std::size_t{4}, std::size_t{20000}}) {
    Window window(count);
    Lane lane, exposing;
    Numbers source(count);
    for (std::uint64_t epoch = 1; epoch <= 6; ++epoch) {
      source.fill(stamp(rank(), epoch, 0));
      source.send();
      window.post(exposing, {previous_rank()}, epoch % 3 == 0 ? 0 : promise);
      window.start({next_rank()});
      window.put(source.data(), count, next_rank(), 0);
      window.complete(lane);
      window.wait(exposing);
      lane.finish();
      exposing.finish();
      EXPECT_EQ(window.fetched()[count - 1], stamp(previous_rank(), epoch, 0));
      meet();
    }
  }
}

// A post that tells nobody is an open epoch all the same.
TEST(Windows, R16_R23_AnExposureOfWhichNothingIsEnqueued) {
  if (!windows_served()) GTEST_SKIP() << not_served;
  Window window(4);
  Lane lane, other;
  const Group left({previous_rank()});
  window.post(lane, {previous_rank()}, promise);
  EXPECT_PST_KIND(PST_Win_post_stream(left, promise, window.win(), lane.queue()), PST_ERROR_EPOCH);
  EXPECT_PST_KIND(PST_Win_wait_stream(window.win(), other.queue()), PST_ERROR_WRONG_QUEUE);
  EXPECT_PST_KIND(MPI_Win_free(&window.handle()), PST_ERROR_EPOCH);
  PST_Queue queue = lane.queue();
  EXPECT_PST_KIND(PST_Queue_free(&queue), PST_ERROR_IN_USE);
  lane.finish();  // which closes no epoch
  meet();
  window.start({next_rank()}, promise);
  window.complete(lane);
  window.wait(lane);
  EXPECT_PST_KIND(PST_Win_wait_stream(window.win(), lane.queue()), PST_ERROR_EPOCH);
  lane.finish();
}

TEST(Windows, R16_ABrokenPromiseIsReportedWhenChecked) {
  if (!windows_served()) GTEST_SKIP() << not_served;
  if (!checking()) GTEST_SKIP() << "runs with PENSTOCK_CHECK=1";
  for (const std::size_t count : {std::size_t{4}, std::size_t{20000}}) {
    Window window(count);
    BrokenLane lane;
    Numbers source(count);
    const bool alone = partner() == rank();  // a complete towards itself is refused at the call
    if (rank() % 2 == 0 && !alone) {
      window.start({partner()}, promise);
      window.put(source.data(), count, partner(), 0);
      window.complete(lane);
      EXPECT_PST_KIND(PST_Queue_wait(lane.queue()), PST_ERROR_READY);
    }
    meet();
    if (rank() % 2 == 0 || alone) continue;
    // The host of a GPU may know before the stream does.
    int code = PST_Win_post_stream(Group({partner()}), promise, window.win(), lane.queue());
    if (code == MPI_SUCCESS) code = PST_Win_wait_stream(window.win(), lane.queue());
    if (code == MPI_SUCCESS) code = PST_Queue_wait(lane.queue());
    EXPECT_EQ(kind_of(code), PST_ERROR_PEER_FREED) << describe(code);
  }
}

}  // namespace
}  // namespace penstock::test
