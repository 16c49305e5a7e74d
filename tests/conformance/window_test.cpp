// SPDX-License-Identifier: Apache-2.0
// One-sided epochs on streams: what is moved, when, and who waits for whom. R numbers are those of
// docs/rma.md.
#include "conformance/window.hpp"
#include "support/rounds.hpp"

#include <atomic>
#include <memory>
#include <numeric>
#include <vector>

namespace penstock::test {
namespace {

// Sizes in numbers: nothing, a line, what a slot holds and a little more, a large one.
const std::vector<std::size_t> counts{0, 1, 7, 30, 500, 4000, 4200, 70000};

// Each rank writes into its right neighbour's window, epoch after epoch, without a wait of the
// host. The target checks every number, the origin overwrites its source behind each complete.
void ring_of_puts(std::size_t count, Memory memory, std::uint64_t epochs) {
  Window window(count + 1, memory);
  Lane lane;
  Script script;
  Numbers source(count + 1);
  std::atomic<std::uint64_t> wrong = 0;
  const int left = previous_rank(), right = next_rank(), self = rank();
  for (std::uint64_t epoch = 1; epoch <= epochs; ++epoch) {
    window.post(lane, {left});
    window.start({right});
    if (count > 0) window.put(source.data(), count, right, 0);
    script.run(lane, [&source, count, self, epoch] {
      for (std::size_t i = 0; i < count; ++i) source[i] = stamp(self, epoch, i);
    });
    source.send(lane);
    window.complete(lane);
    script.run(lane, [&source] { source.fill(0xbad); });
    source.send(lane);
    window.wait(lane);
    window.fetch(lane);
    script.run(lane, [&wrong, &window, count, left, epoch] {
      const auto numbers = window.numbers();
      wrong += count_wrong(numbers.first(count), left, epoch);
      wrong += numbers[count] != 0;
      std::fill_n(numbers.begin(), count, Number{0});
    });
    window.send(lane);
  }
  lane.finish();
  EXPECT_EQ(wrong, 0U) << count << " numbers, " << name(memory);
}

TEST(Windows, R1_R3_EveryNumberOfEveryEpoch) {
  if (!windows_served()) GTEST_SKIP() << not_served;
  for (const Memory memory : window_memories())
    for (const std::size_t count : counts)
      ring_of_puts(count, memory, count > 10000 ? 10 : fewer_rounds(60, 3));
}

TEST(Windows, R1_AThousandEpochsWithoutAWaitOfTheHost) {
  if (!windows_served()) GTEST_SKIP() << not_served;
  const std::uint64_t epochs = fewer_rounds(1000, 4);
  ring_of_puts(5, window_memories().front(), epochs);
  ring_of_puts(600, window_memories().front(), epochs);
}

// The target reads its window for long between its wait and its next post.
TEST(Windows, R2_ASlowReaderSeesNothingOfTheNextEpoch) {
  const int self = rank();
  const int left = previous_rank();  // functions on the stream call no MPI
  if (!windows_served()) GTEST_SKIP() << not_served;
  for (const std::size_t count : {std::size_t{8}, std::size_t{5000}}) {
    Window window(count);
    Lane lane;
    Script script;
    Numbers source(count);
    std::atomic<std::uint64_t> wrong = 0;
    for (std::uint64_t epoch = 1; epoch <= 20; ++epoch) {
      window.post(lane, {previous_rank()});
      window.start({next_rank()});
      window.put(source.data(), count, next_rank(), 0);
      script.run(lane, [&source, self, epoch] {
        for (std::size_t i = 0; i < source.size(); ++i) source[i] = stamp(self, epoch, i);
      });
      source.send(lane);
      window.complete(lane);
      window.wait(lane);
      for (int look = 0; look < 3; ++look) {
        if (rank() % 2 == 0) enqueue_delay(lane, 300);
        window.fetch(lane);
        script.run(lane, [&, epoch] { wrong += count_wrong(window.numbers(), left, epoch); });
      }
    }
    lane.finish();
    EXPECT_EQ(wrong, 0U);
  }
}

// A complete that moves from memory to memory stands long before its post: no early byte.
TEST(Windows, R4_NothingMovesBeforeThePost) {
  if (!windows_served()) GTEST_SKIP() << not_served;
  constexpr std::size_t count = 20000;
  Window window(count);
  Lane lane, other;
  Numbers source(count);
  source.fill(7);
  source.send();
  if (partner() == rank()) {  // it would wait for itself
    meet();
  } else if (rank() % 2 == 0) {
    window.start({partner()});
    window.put(source.data(), count, partner(), 0);
    window.complete(lane);
    meet();
    lane.finish();
  } else {
    meet();
    enqueue_delay(lane, 2000);
    Script script;
    std::atomic<std::uint64_t> early = 0, late = 0;
    window.fetch(lane);
    script.run(lane, [&] {
      for (const Number number : window.numbers()) early += number != 0;
    });
    window.post(lane, {partner()});
    window.wait(lane);
    window.fetch(lane);
    script.run(lane, [&] {
      for (const Number number : window.numbers()) late += number != 7;
    });
    lane.finish();
    EXPECT_EQ(early, 0U);
    EXPECT_EQ(late, 0U);
  }
  meet();
}

// Small epochs need no post: as many as there are slots go ahead of the target.
TEST(Windows, R5_SmallEpochsRunAhead) {
  if (!windows_served()) GTEST_SKIP() << not_served;
  if (!goes_ahead()) GTEST_SKIP() << "all epochs go directly";
  constexpr int ahead = 4;
  Window window(ahead);
  Lane lane, receiving;
  Numbers source(ahead);
  for (std::size_t i = 0; i < ahead; ++i) source[i] = stamp(rank(), i, i);
  source.send();
  for (std::size_t i = 0; i < ahead; ++i) {
    window.start({next_rank()});
    // Towards oneself a complete stands behind its post.
    if (size() == 1) window.post(receiving, {0});
    window.put(source.data() + i, 1, next_rank(), i);
    window.complete(lane);
    if (size() == 1) window.wait(receiving);
  }
  lane.finish();  // although no target has posted
  meet();
  for (std::size_t i = 0; size() > 1 && i < ahead; ++i) {
    window.post(receiving, {previous_rank()});
    window.wait(receiving);
  }
  receiving.finish();
  for (std::size_t i = 0; i < ahead; ++i)
    EXPECT_EQ(window.fetched()[i], stamp(previous_rank(), i, i));
}

TEST(Windows, R6_PostCompleteWaitAgainstCompletePostWait) {
  if (!windows_served()) GTEST_SKIP() << not_served;
  for (const std::size_t count : {std::size_t{4}, std::size_t{6000}}) {
    Window window(count);
    Lane lane;
    if (partner() == rank()) continue;
    Numbers source(count);
    source.fill(stamp(rank(), 0, 0));
    source.send();
    for (int epoch = 0; epoch < 50; ++epoch) {
      if (rank() % 2 == 0) window.post(lane, {partner()});
      window.start({partner()});
      window.put(source.data(), count, partner(), 0);
      window.complete(lane);
      if (rank() % 2 == 1) window.post(lane, {partner()});
      window.wait(lane);
    }
    lane.finish();
    EXPECT_EQ(window.fetched()[count - 1], stamp(partner(), 0, 0));
  }
}

// Towards oneself a complete stands behind a post of its own, on whichever queue.
TEST(Windows, R6_TowardsOneself) {
  if (!windows_served()) GTEST_SKIP() << not_served;
  Window window(20000);
  Lane lane, other;
  Numbers source(20000);
  source.fill(3);
  source.send();
  window.post(lane, {rank()});
  window.start({rank()});
  window.put(source.data(), source.size(), rank(), 0);
  window.complete(lane);
  window.start({rank()});
  EXPECT_PST_KIND(PST_Win_complete_stream(window.win(), lane.queue()), PST_ERROR_EPOCH);
  window.wait(lane);
  lane.finish();  // a GPU's stream that is left for the first time holds up the next one
  window.post(lane, {rank()});
  window.wait(lane);
  window.complete(other);  // its post is enqueued, and waited for
  lane.finish();
  other.finish();
  EXPECT_EQ(window.fetched().back(), 3U);
}

// The group of an epoch names another target each time, the posts another origin.
TEST(Windows, R8_GroupsChangeFromEpochToEpoch) {
  const int self = rank();  // functions on the stream call no MPI
  if (!windows_served()) GTEST_SKIP() << not_served;
  constexpr std::size_t count = 3000;
  Window window(count);
  Lane lane;
  Script script;
  Numbers source(count);
  std::atomic<std::uint64_t> wrong = 0;
  for (std::uint64_t epoch = 1; epoch <= 40; ++epoch) {
    const int step = static_cast<int>(epoch % static_cast<std::uint64_t>(size()));
    const int to = (rank() + step) % size(), from = (rank() + size() - step) % size();
    window.post(lane, {from});
    window.start({to});
    window.put(source.data(), count, to, 0);
    script.run(lane, [&, epoch] {
      for (std::size_t i = 0; i < count; ++i) source[i] = stamp(self, epoch, i);
    });
    source.send(lane);
    window.complete(lane);
    window.wait(lane);
    window.fetch(lane);
    script.run(lane, [&, epoch, from] { wrong += count_wrong(window.numbers(), from, epoch); });
  }
  lane.finish();
  EXPECT_EQ(wrong, 0U);
}

// Two windows on two streams, in opposite orders on neighbours.
TEST(Windows, R9_TwoWindowsInOppositeOrders) {
  const int left = previous_rank();  // functions on the stream call no MPI
  const int self = rank();
  if (!windows_served()) GTEST_SKIP() << not_served;
  Window first(600), second(600);
  Lane lanes[2];
  Numbers first_source(600), second_source(600);
  Script script;
  std::atomic<std::uint64_t> wrong = 0;
  for (std::uint64_t epoch = 1; epoch <= 100; ++epoch) {
    for (int turn = 0; turn < 2; ++turn) {
      const int which = (turn + rank()) % 2;
      Window& window = which == 0 ? first : second;
      Numbers& source = which == 0 ? first_source : second_source;
      Lane& lane = lanes[which];
      const std::size_t count = epoch % 3 == 0 ? 600 : 3;
      window.post(lane, {previous_rank()});
      window.start({next_rank()});
      window.put(source.data(), count, next_rank(), 0);
      script.run(lane, [&source, self, epoch, which] {
        for (std::size_t i = 0; i < source.size(); ++i)
          source[i] = stamp(self, 2 * epoch + static_cast<unsigned>(which), i);
      });
      source.send(lane);
      window.complete(lane);
      window.wait(lane);
      window.fetch(lane);
      script.run(lane, [&wrong, &window, left, count, epoch, which] {
        for (std::size_t i = 0; i < count; ++i)
          wrong += window.numbers()[i] != stamp(left, 2 * epoch + static_cast<unsigned>(which), i);
      });
    }
  }
  for (Lane& lane : lanes) lane.finish();
  EXPECT_EQ(wrong, 0U);
}

// One of several origins is slow: the target's wait waits for all of them.
TEST(Windows, R10_OneOriginIsAheadOfAnother) {
  if (!windows_served()) GTEST_SKIP() << not_served;
  Window window(static_cast<std::size_t>(size()));
  Lane lane;
  Script script;
  Numbers source(1);
  Ranks all;
  for (int i = 0; i < size(); ++i) all.push_back(i);
  std::atomic<std::uint64_t> wrong = 0;
  for (std::uint64_t epoch = 1; epoch <= 60; ++epoch) {
    if (rank() == 0) window.post(lane, all);
    window.start({0});
    window.put(source.data(), 1, 0, static_cast<std::size_t>(rank()));
    if (rank() == size() - 1 && epoch % 7 == 0) enqueue_delay(lane, 500);
    script.run(lane, [&source, epoch] { source[0] = epoch; });
    source.send(lane);
    window.complete(lane);
    if (rank() != 0) continue;
    window.wait(lane);
    window.fetch(lane);
    script.run(lane, [&, epoch] {
      for (const Number number : window.numbers()) wrong += number != epoch;
    });
  }
  lane.finish();
  EXPECT_EQ(wrong, 0U);
}

// Nothing is put, or to one of two targets alone: each wait ends all the same. Empty groups.
TEST(Windows, R11_EmptyEpochsAreSignalled) {
  if (!windows_served()) GTEST_SKIP() << not_served;
  Window window(4);
  Lane lane;
  Numbers seven(1);
  seven.fill(7);
  seven.send();
  Ranks neighbours{next_rank()}, origins{previous_rank()};
  if (size() > 2) {
    neighbours.push_back(previous_rank());
    origins.push_back(next_rank());
  }
  for (int epoch = 0; epoch < 20; ++epoch) {
    window.post(lane, origins);
    window.start(neighbours);
    if (epoch == 10) window.put(seven.data(), 1, next_rank(), 2);
    if (epoch == 11)
      window.put(seven.data(), 0, next_rank(), 4);  // behind the last number: 0 bytes
    window.complete(lane);
    window.wait(lane);
    window.post(lane, {});
    window.start({});
    window.put(seven.data(), 1, MPI_PROC_NULL, 0);
    window.complete(lane);
    window.wait(lane);
  }
  lane.finish();
  EXPECT_EQ(window.fetched()[2], 7U);
}

// Both roles go to another stream after each epoch. Each epoch has a place of its own, and all of
// them write the last number.
TEST(Windows, R12_RolesChangeStreams) {
  if (!windows_served()) GTEST_SKIP() << not_served;
  constexpr std::uint64_t epochs = 60;
  for (const std::size_t count : {std::size_t{3}, std::size_t{1500}}) {
    Window window(epochs * count + 1);
    Lane lanes[3];
    Numbers source(epochs * count);
    for (std::size_t i = 0; i < source.size(); ++i) source[i] = stamp(rank(), i / count, i);
    source.send();
    for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
      Lane& lane = lanes[epoch % 3];
      window.post(lane, {previous_rank()});
      window.start({next_rank()});
      const Number* const from = source.data() + epoch * count;
      window.put(from, count, next_rank(), epoch * count);
      window.put(from, 1, next_rank(), epochs * count);
      window.complete(lane);
      window.wait(lane);
      if (epoch % 5 == 0) enqueue_delay(lane, 100);
    }
    for (Lane& lane : lanes) lane.finish();
    const auto numbers = window.fetched();
    for (std::size_t i = 0; i < epochs * count; ++i)
      ASSERT_EQ(numbers[i], stamp(previous_rank(), i / count, i));
    const std::size_t last = (epochs - 1) * count;
    EXPECT_EQ(numbers.back(), stamp(previous_rank(), last / count, last));
  }
}

// A get has come when the complete has ended; the target overwrites its window behind its wait.
TEST(Windows, R13_GetsSeeNoLaterValue) {
  const int right = next_rank();  // functions on the stream call no MPI
  const int self = rank();
  if (!windows_served()) GTEST_SKIP() << not_served;
  for (const Memory memory : window_memories()) {
    constexpr std::size_t count = 2000;
    Window window(count, memory);
    Lane lane;
    Script script;
    Numbers taken(count);
    if (size() > 1 && !reaches(memory)) {
      window.start({next_rank()});
      EXPECT_PST_KIND(
          MPI_Get(taken.data(), 1, MPI_UINT64_T, next_rank(), 0, 1, MPI_UINT64_T, window.win()),
          PST_ERROR_UNSUPPORTED);
      window.complete(lane);  // without it
      window.post(lane, {previous_rank()});
      window.wait(lane);
      lane.finish();
      continue;
    }
    std::atomic<std::uint64_t> wrong = 0;
    for (std::uint64_t epoch = 1; epoch <= 40; ++epoch) {
      script.run(lane, [&window, self, epoch] {
        for (std::size_t i = 0; i < count; ++i) window.numbers()[i] = stamp(self, epoch, i);
      });
      window.send(lane);
      window.post(lane, {previous_rank()});
      window.start({next_rank()});
      window.get(taken.data(), count, next_rank(), 0);
      window.complete(lane);
      taken.fetch(lane);
      script.run(lane, [&, epoch] {
        for (std::size_t i = 0; i < count; ++i) wrong += taken[i] != stamp(right, epoch, i);
      });
      window.wait(lane);
    }
    lane.finish();
    EXPECT_EQ(wrong, 0U) << name(memory);
  }
}

// Every rank adds to the same numbers of rank 0, and overwrites its own behind the complete: no
// update is lost, and none is another one.
TEST(Windows, R14_AccumulatesLoseNothing) {
  if (!windows_served()) GTEST_SKIP() << not_served;
  for (const std::size_t count : {std::size_t{3}, std::size_t{2000}, std::size_t{20000}}) {
    Window window(count);
    Lane lane;
    Script script;
    Numbers ones(count);
    Ranks all;
    for (int i = 0; i < size(); ++i) all.push_back(i);
    constexpr std::uint64_t epochs = 30;
    for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
      if (rank() == 0) window.post(lane, all);
      window.start({0});
      window.add(ones.data(), count, 0, 0);
      window.add(ones.data(), count, 0, 0);
      script.run(lane, [&ones] { ones.fill(1); });
      ones.send(lane);
      window.complete(lane);
      script.run(lane, [&ones] { ones.fill(0xbad); });
      ones.send(lane);
      if (rank() == 0) window.wait(lane);
    }
    lane.finish();
    for (const Number number : window.fetched())
      ASSERT_EQ(number, rank() == 0 ? 2 * epochs * static_cast<std::uint64_t>(size()) : 0);
    meet();
  }
}

// As a halo has: more pairs than a card has room for operations of, all epochs ahead of the first.
TEST(Windows, R18_TwentySixNeighbours) {
  if (!windows_served()) GTEST_SKIP() << not_served;
  constexpr std::size_t count = 20;
  constexpr std::uint64_t epochs = 30;
  const int ranks = size(), self = rank();
  const auto many = static_cast<std::size_t>((26 + ranks - 1) / ranks);
  const std::size_t numbers = count * static_cast<std::size_t>(ranks);
  Ranks all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  std::vector<std::unique_ptr<Window>> windows;
  while (windows.size() < many) windows.push_back(std::make_unique<Window>(numbers));
  Lane lane;
  Script script;
  Numbers source(count);
  std::atomic<std::uint64_t> wrong = 0;
  for (std::uint64_t epoch = 1; epoch <= epochs; ++epoch) {
    script.run(lane, [&source, self, epoch] {
      for (std::size_t i = 0; i < count; ++i) source[i] = stamp(self, epoch, i);
    });
    source.send(lane);
    for (auto& window : windows) window->post(lane, all);
    for (auto& window : windows) {
      window->start(all);
      for (const int target : all)
        window->put(source.data(), count, target, count * static_cast<std::size_t>(self));
      window->complete(lane);
    }
    for (auto& window : windows) {
      window->wait(lane);
      window->fetch(lane);
      script.run(lane, [&wrong, part = window->numbers(), epoch] {
        for (std::size_t i = 0; i < part.size(); ++i)
          wrong += part[i] != stamp(static_cast<int>(i / count), epoch, i % count);
      });
    }
  }
  lane.finish();
  EXPECT_EQ(wrong, 0U);
}

// Eight windows at once, each with an epoch that waits.
TEST(Windows, R21_ManyWindowsWaitAtOnce) {
  if (!windows_served()) GTEST_SKIP() << not_served;
  constexpr std::size_t many = 8;
  std::vector<std::unique_ptr<Window>> windows;
  std::vector<std::unique_ptr<Lane>> lanes;
  Numbers sources(many);
  for (std::size_t i = 0; i < many; ++i) {
    windows.push_back(std::make_unique<Window>(1));
    lanes.push_back(std::make_unique<Lane>());
    sources[i] = stamp(rank(), i, 0);
  }
  sources.send();
  for (std::size_t i = 0; i < many; ++i) {
    windows[i]->post(*lanes[i], {previous_rank()});
    windows[i]->start({next_rank()});
    windows[i]->put(sources.data() + i, 1, next_rank(), 0);
  }
  meet();
  for (std::size_t i = many; i-- > 0;) {
    windows[i]->complete(*lanes[i]);
    windows[i]->wait(*lanes[i]);
  }
  for (std::size_t i = 0; i < many; ++i) {
    lanes[i]->finish();
    EXPECT_EQ(windows[i]->fetched()[0], stamp(previous_rank(), i, 0));
  }
}

}  // namespace
}  // namespace penstock::test
