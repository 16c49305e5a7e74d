// SPDX-License-Identifier: Apache-2.0
// R22 of docs/rma.md: batches of calls of windows, which on a GPU share launches.
#include "conformance/window.hpp"

#include <atomic>

namespace penstock::test {
namespace {

// Calls of a batch, in orders that are one launch on a GPU and in others: more windows than a
// launch serves, and a put from a window that a later post exposes.
TEST(Windows, R22_Batches) {
  if (!windows_served()) GTEST_SKIP() << not_served;
  constexpr std::size_t many = 40, count = 100;
  const int left = previous_rank(), self = rank(), ranks = size();
  std::vector<std::unique_ptr<Window>> windows;
  for (std::size_t i = 0; i < many; ++i) windows.push_back(std::make_unique<Window>(count));
  Window copies(count);
  Lane lane;
  Script script;
  Numbers source(count);
  std::atomic<std::uint64_t> wrong = 0;
  for (std::uint64_t epoch = 1; epoch <= 20; ++epoch) {
    script.run(lane, [&source, self, epoch] {
      for (std::size_t i = 0; i < count; ++i) source[i] = stamp(self, epoch, i);
    });
    source.send(lane);
    EXPECT_PST(PST_Queue_batch_begin(lane.queue()));
    for (auto& window : windows) window->post(lane, {previous_rank()});
    for (auto& window : windows) {
      window->start({next_rank()});
      window->put(source.data(), count, next_rank(), 0);
      window->complete(lane);
    }
    for (auto& window : windows) window->wait(lane);
    // What has come to the first window goes on to the next rank, before the next post of it.
    copies.post(lane, {previous_rank()});
    copies.start({next_rank()});
    copies.put(windows[0]->base(), count, next_rank(), 0);
    copies.complete(lane);
    windows[0]->post(lane, {previous_rank()});
    windows[0]->start({next_rank()});
    windows[0]->complete(lane);
    windows[0]->wait(lane);
    copies.wait(lane);
    EXPECT_PST(PST_Queue_batch_end(lane.queue()));
    for (auto& window : windows) window->fetch(lane);
    copies.fetch(lane);
    script.run(lane, [&, epoch] {
      for (auto& window : windows) wrong += count_wrong(window->numbers(), left, epoch);
      wrong += count_wrong(copies.numbers(), (left + ranks - 1) % ranks, epoch);
    });
  }
  lane.finish();
  EXPECT_EQ(wrong, 0U);
  EXPECT_PST_KIND(PST_Queue_batch_end(lane.queue()), PST_ERROR_ARGUMENT);
  EXPECT_PST(PST_Queue_batch_begin(lane.queue()));
  EXPECT_PST_KIND(PST_Queue_batch_begin(lane.queue()), PST_ERROR_ARGUMENT);
  EXPECT_PST(PST_Queue_batch_end(lane.queue()));
}

// Of one batch: a complete sends on what the one before it has got, and the first call names
// nobody.
TEST(Windows, R22_ABatchSendsOnWhatItHasGot) {
  if (!windows_served()) GTEST_SKIP() << not_served;
  constexpr std::size_t count = 3000;
  const int self = rank();
  Window from(count), to(count);
  Lane lane;
  Script script;
  Numbers taken(count);
  std::atomic<std::uint64_t> wrong = 0;
  for (std::uint64_t epoch = 1; epoch <= 20; ++epoch) {
    script.run(lane, [&from, self, epoch] {
      for (std::size_t i = 0; i < count; ++i) from.numbers()[i] = stamp(self, epoch, i);
    });
    from.send(lane);
    EXPECT_PST(PST_Queue_batch_begin(lane.queue()));
    from.post(lane, {});
    from.wait(lane);
    from.post(lane, {previous_rank()});
    to.post(lane, {previous_rank()});
    from.start({next_rank()});
    from.get(taken.data(), count, next_rank(), 0);
    from.complete(lane);
    to.start({next_rank()});
    to.put(taken.data(), count, next_rank(), 0);
    to.complete(lane);
    from.wait(lane);
    to.wait(lane);
    EXPECT_PST(PST_Queue_batch_end(lane.queue()));
    to.fetch(lane);
    script.run(lane,
               [&to, &wrong, self, epoch] { wrong += count_wrong(to.numbers(), self, epoch); });
  }
  lane.finish();
  EXPECT_EQ(wrong, 0U);
}

// The peer waits for what the batch holds before it frees the window.
TEST(Windows, R22_AWindowIsFreedInABatch) {
  if (!windows_served()) GTEST_SKIP() << not_served;
  Numbers seven(1);
  seven.fill(7);
  seven.send();
  for (int round = 0; round < 5; ++round) {
    Window window(2);
    Lane lane;
    EXPECT_PST(PST_Queue_batch_begin(lane.queue()));
    window.post(lane, {previous_rank()});
    window.start({next_rank()});
    window.put(seven.data(), 1, next_rank(), 1);
    window.complete(lane);
    window.wait(lane);
    if (rank() % 2 == 0) {
      lane.finish();
      EXPECT_EQ(window.fetched()[1], 7U);
    }
    EXPECT_EQ(MPI_Win_free(&window.handle()), MPI_SUCCESS);
    EXPECT_PST(PST_Queue_batch_end(lane.queue()));
    lane.finish();
  }
}

}  // namespace
}  // namespace penstock::test
