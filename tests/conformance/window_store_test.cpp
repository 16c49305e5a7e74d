// SPDX-License-Identifier: Apache-2.0
// Access epochs that the stream opens, in which it stores into the targets' memory itself.
#include <atomic>

#include "conformance/window.hpp"

namespace penstock::test {
namespace {

constexpr auto stores_not_served = "over MPI alone the memory of others has no address";
bool stores_served() {
  return transport_allowed("peer");
}

Number* part_of(const Window& window, int rank) {
  Number* numbers = nullptr;
  EXPECT_PST(PST_Win_pointer(window.win(), rank, &numbers));
  return numbers;
}

void start_on(Lane& lane, const Window& window, const Ranks& targets, int assertion = 0) {
  EXPECT_PST(PST_Win_start_stream(Group(targets), assertion, window.win(), lane.queue()));
}

// As the stream would by a function or a kernel of the program.
void enqueue_store(Lane& lane, Script& script, Number* to, const Number* from, std::size_t count) {
  if (queue_type == PST_QUEUE_HOST)
    script.run(lane, [=] { std::copy_n(from, count, to); });
  else
    enqueue_copy(lane.stream(), reinterpret_cast<std::byte*>(to),
                 reinterpret_cast<const std::byte*>(from), count * sizeof(Number));
}

void fill(Lane& lane, Script& script, const Numbers& source, std::uint64_t epoch) {
  const int self = rank();
  script.run(lane, [&source, self, epoch] {
    for (std::size_t i = 0; i < source.size(); ++i) source[i] = stamp(self, epoch, i);
  });
  source.send(lane);
}

// What has come from the left.
void check(Lane& lane, Script& script, const Window& window, std::uint64_t epoch,
           std::atomic<std::uint64_t>& wrong) {
  const int left = previous_rank();
  window.fetch(lane);
  script.run(lane, [&wrong, &window, left, epoch] {
    wrong += count_wrong(window.numbers(), left, epoch);
  });
}

// Each rank stores into its right neighbour's part; of `puts` numbers at the end by a put.
void ring_of_stores(std::size_t count, std::size_t puts, std::uint64_t epochs) {
  Window window(count);
  Numbers source(count);
  Lane lane;
  Script script;
  std::atomic<std::uint64_t> wrong = 0;
  Number* const there = part_of(window, next_rank());
  const std::size_t stores = count - puts;
  for (std::uint64_t epoch = 1; epoch <= epochs; ++epoch) {
    window.post(lane, {previous_rank()});
    fill(lane, script, source, epoch);
    start_on(lane, window, {next_rank()});
    enqueue_store(lane, script, there, source.data(), stores);
    if (puts > 0) window.put(source.data() + stores, puts, next_rank(), stores);
    window.complete(lane);
    window.wait(lane);
    check(lane, script, window, epoch, wrong);
    if (rank() == 0 && epoch % 7 == 0) enqueue_delay(lane, 200);
    check(lane, script, window, epoch, wrong);
  }
  lane.finish();
  EXPECT_EQ(wrong, 0U) << count << " numbers, " << puts << " by a put";
}

TEST(Windows, R1_R2_StoresOfTheStream) {
  if (!stores_served()) GTEST_SKIP() << stores_not_served;
  ring_of_stores(1, 0, 60);
  ring_of_stores(3000, 0, 60);
}

TEST(Windows, R1_R2_StoresBesidePuts) {
  if (!stores_served()) GTEST_SKIP() << stores_not_served;
  ring_of_stores(4, 1, 40);
  ring_of_stores(9000, 4000, 20);
}

// With epochs that the host opens, and with promises that a barrier proves.
TEST(Windows, R12_R16_StoresInSomeEpochs) {
  if (!stores_served()) GTEST_SKIP() << stores_not_served;
  Window window(50);
  Numbers source(50);
  Lane lane, other;
  Script script;
  std::atomic<std::uint64_t> wrong = 0;
  Number* const there = part_of(window, next_rank());
  for (std::uint64_t epoch = 1; epoch <= 30; ++epoch) {
    const int assertion = epoch % 5 == 0 ? MPI_MODE_NOCHECK : 0;
    Lane& accessing = epoch % 4 < 2 ? lane : other;
    window.post(lane, {previous_rank()}, assertion);
    if (assertion != 0) {
      lane.synchronize();
      meet();
    }
    fill(accessing, script, source, epoch);
    if (epoch % 3 == 0) {
      window.start({next_rank()}, assertion);
      window.put(source.data(), source.size(), next_rank(), 0);
    } else {
      start_on(accessing, window, {next_rank()}, assertion);
      enqueue_store(accessing, script, there, source.data(), source.size());
    }
    window.complete(accessing);
    window.wait(lane);
    check(lane, script, window, epoch, wrong);
    lane.finish();
    accessing.finish();
  }
  EXPECT_EQ(wrong, 0U);
}

// The stream stands at the start until the target's has posted.
TEST(Windows, R4_NothingIsStoredBeforeThePost) {
  if (!stores_served()) GTEST_SKIP() << stores_not_served;
  Window window(1);
  Numbers number(1);
  Lane lane;
  Script script;
  number.fill(7);
  number.send();
  std::atomic<std::uint64_t> early = 0;
  if (partner() == rank()) {  // a start towards oneself is refused at the call
    meet();
  } else if (rank() % 2 == 0) {
    start_on(lane, window, {partner()});
    enqueue_store(lane, script, part_of(window, partner()), number.data(), 1);
    window.complete(lane);
    meet();
  } else {
    meet();
    enqueue_delay(lane, 2000);
    window.fetch(lane);
    script.run(lane, [&] { early += window.numbers()[0] != 0; });
    window.post(lane, {partner()});
    window.wait(lane);
  }
  lane.finish();
  EXPECT_EQ(early, 0U);
  if (rank() % 2 == 1) {
    EXPECT_EQ(window.fetched()[0], 7U);
  }
  meet();
}

TEST(Windows, R11_StartsOfTheStreamThatStoreNothing) {
  if (!stores_served()) GTEST_SKIP() << stores_not_served;
  Window window(4);
  Lane lane;
  for (int epoch = 0; epoch < 10; ++epoch) {
    window.post(lane, {previous_rank()});
    start_on(lane, window, {next_rank()});
    window.complete(lane);
    window.wait(lane);
    start_on(lane, window, {});
    window.complete(lane);
  }
  lane.finish();
  EXPECT_EQ(part_of(window, rank()), window.base());
}

TEST(Windows, R22_StartsOfTheStreamInBatches) {
  if (!stores_served()) GTEST_SKIP() << stores_not_served;
  Window window(20);
  Numbers source(20);
  Lane lane;
  Script script;
  std::atomic<std::uint64_t> wrong = 0;
  for (std::uint64_t epoch = 1; epoch <= 10; ++epoch) {
    fill(lane, script, source, epoch);
    EXPECT_PST(PST_Queue_batch_begin(lane.queue()));
    window.post(lane, {previous_rank()});
    start_on(lane, window, {next_rank()});
    enqueue_store(lane, script, part_of(window, next_rank()), source.data(), source.size());
    window.complete(lane);
    window.wait(lane);
    EXPECT_PST(PST_Queue_batch_end(lane.queue()));
    check(lane, script, window, epoch, wrong);
  }
  lane.finish();
  EXPECT_EQ(wrong, 0U);
}

TEST(Windows, R23_MisuseOfStartsOfTheStream) {
  if (!stores_served()) GTEST_SKIP() << stores_not_served;
  Window window(4);
  Lane lane, other;
  const Group self({rank()}), next({next_rank()});
  EXPECT_PST_KIND(PST_Win_start_stream(self, 0, window.win(), lane.queue()), PST_ERROR_EPOCH);
  EXPECT_PST_KIND(PST_Win_start_stream(next, 0, MPI_WIN_NULL, lane.queue()), PST_ERROR_WINDOW);
  EXPECT_PST_KIND(PST_Win_start_stream(next, 0, window.win(), PST_QUEUE_NULL), PST_ERROR_QUEUE);
  window.post(other, {previous_rank()});
  start_on(lane, window, {next_rank()});
  EXPECT_PST_KIND(PST_Win_start_stream(next, 0, window.win(), lane.queue()), PST_ERROR_EPOCH);
  EXPECT_PST_KIND(PST_Win_start(next, 0, window.win()), PST_ERROR_EPOCH);
  EXPECT_PST_KIND(PST_Win_complete_stream(window.win(), other.queue()), PST_ERROR_WRONG_QUEUE);
  EXPECT_PST_KIND(MPI_Win_free(&window.handle()), PST_ERROR_EPOCH);
  PST_Queue queue = lane.queue();
  EXPECT_PST_KIND(PST_Queue_free(&queue), PST_ERROR_IN_USE);
  lane.finish();  // which closes no epoch
  int idle = 0;
  EXPECT_PST(PST_Queue_test(lane.queue(), &idle));
  EXPECT_EQ(idle, 1);
  window.complete(lane);
  EXPECT_PST_KIND(PST_Win_complete_stream(window.win(), lane.queue()), PST_ERROR_EPOCH);
  window.wait(other);
  lane.finish();
  other.finish();
}

TEST(Windows, R23_PointersThatThereAreNone) {
  if (!stores_served()) GTEST_SKIP() << stores_not_served;
  Window window(4);
  Number* numbers = nullptr;
  EXPECT_PST_KIND(PST_Win_pointer(window.win(), size(), &numbers), PST_ERROR_ARGUMENT);
  EXPECT_PST_KIND(PST_Win_pointer(window.win(), -1, &numbers), PST_ERROR_ARGUMENT);
  EXPECT_PST_KIND(PST_Win_pointer(window.win(), 0, nullptr), PST_ERROR_ARGUMENT);
  EXPECT_PST_KIND(PST_Win_pointer(MPI_WIN_NULL, 0, &numbers), PST_ERROR_WINDOW);
  const Window empty(0);
  EXPECT_EQ(part_of(empty, next_rank()), nullptr);
  if (queue_type != PST_QUEUE_HOST || size() == 1) return;
  const Window ordinary(4, Memory::ordinary);
  EXPECT_PST_KIND(PST_Win_pointer(ordinary.win(), next_rank(), &numbers), PST_ERROR_UNSUPPORTED);
}

TEST(Windows, R23_StoresAreRefusedWhereMpiMoves) {
  if (stores_served() || !windows_served()) GTEST_SKIP() << "memory is addressed, or not served";
  Window window(8);
  Lane lane;
  EXPECT_PST_KIND(PST_Win_start_stream(Group({next_rank()}), 0, window.win(), lane.queue()),
                  PST_ERROR_UNSUPPORTED);
  Number* numbers = nullptr;
  EXPECT_PST_KIND(PST_Win_pointer(window.win(), next_rank(), &numbers), PST_ERROR_UNSUPPORTED);
  lane.finish();
}

}  // namespace
}  // namespace penstock::test
