// SPDX-License-Identifier: Apache-2.0
// Host streams: order, many producers, sleep and wake, markers between streams.
#include "device/host/stream.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace penstock::device::host {
namespace {

using std::chrono::microseconds;

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t many = 100'000;
#else
constexpr std::uint64_t many = 1'000'000;
#endif

// Spin times: none (the worker sleeps as often as it can), and the default.
class HostStream : public ::testing::TestWithParam<int> {
 protected:
  microseconds spin() const { return microseconds{GetParam()}; }
};
INSTANTIATE_TEST_SUITE_P(Spin, HostStream, ::testing::Values(0, 20));

struct Log {
  static constexpr std::size_t producers = 4;
  std::array<std::uint64_t, producers> last{};  // the worker's own
  std::uint64_t out_of_order = 0;
  std::uint64_t total = 0;
};

bool note(Command& command) noexcept {
  auto& log = *static_cast<Log*>(command.object);
  const auto producer = reinterpret_cast<std::uintptr_t>(command.context);
  if (command.value != log.last[producer] + 1) ++log.out_of_order;
  log.last[producer] = command.value;
  ++log.total;
  return true;
}

Command entry(Log& log, std::size_t producer, std::uint64_t value) {
  return {&note, &log, reinterpret_cast<void*>(static_cast<std::uintptr_t>(producer)), value};
}

TEST_P(HostStream, KeepsTheOrderOfEachProducerAndLosesNothing) {
  Log log;
  Stream stream(spin());
  std::vector<std::thread> producers;
  for (std::size_t p = 0; p < Log::producers; ++p) {
    producers.emplace_back([&, p] {
      for (std::uint64_t i = 1; i <= many / Log::producers; ++i) stream.push(entry(log, p, i));
    });
  }
  for (auto& producer : producers) producer.join();
  stream.synchronize({});
  EXPECT_EQ(log.out_of_order, 0u);
  EXPECT_EQ(log.total, many / Log::producers * Log::producers);
  EXPECT_TRUE(stream.idle());
}

// Bursts of random length with pauses between them, so that the worker is met awake, running dry
// and asleep; chunks of the command store are used again all the time.
TEST_P(HostStream, KeepsUpWithBurstsAndPauses) {
  Log log;
  Stream stream(spin());
  const std::uint64_t seed = std::random_device{}();
  RecordProperty("seed", std::to_string(seed));
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::vector<std::thread> producers;
  for (std::size_t p = 0; p < Log::producers; ++p) {
    producers.emplace_back([&, p] {
      std::mt19937_64 random(seed + p);
      for (std::uint64_t i = 1, round = 0; round < 300; ++round) {
        for (std::uint64_t burst = random() % 700; burst > 0; --burst)
          stream.push(entry(log, p, i++));
        if (random() % 4 == 0) {
          stream.synchronize({});
        } else {
          std::this_thread::sleep_for(microseconds{random() % 60});
        }
      }
    });
  }
  for (auto& producer : producers) producer.join();
  stream.synchronize({});
  EXPECT_EQ(log.out_of_order, 0u);
  EXPECT_TRUE(stream.idle());
}

TEST_P(HostStream, WakesForEveryCommand) {
  std::atomic<std::uint64_t> count{0};
  Stream stream(spin());
  const auto raise = [](Command& command) noexcept {
    static_cast<std::atomic<std::uint64_t>*>(command.object)
        ->fetch_add(1, std::memory_order_release);
    return true;
  };
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (std::uint64_t i = 1; i <= 20'000; ++i) {
    stream.push({raise, &count, nullptr, 0});
    while (count.load(std::memory_order_acquire) < i) std::this_thread::yield();
    // Meets the worker at every point of its way to sleep.
    for (std::uint64_t turns = random() % 3000; turns > 0; --turns)
      std::atomic_signal_fence(std::memory_order_seq_cst);
  }
}

struct Chain {
  Stream* stream;
  std::uint64_t left;
  static void go(void* argument) {
    auto& chain = *static_cast<Chain*>(argument);
    if (--chain.left > 0) chain.stream->launch(&go, argument);
  }
};

TEST_P(HostStream, ItsOwnWorkerMayEnqueue) {
  Stream stream(spin());
  Chain chain{&stream, 100'000};
  stream.launch(&Chain::go, &chain);
  while (!stream.idle()) std::this_thread::yield();
  EXPECT_EQ(chain.left, 0u);
}

bool fill_own_stream(Command& command) noexcept {
  auto& stream = *static_cast<Stream*>(command.object);
  auto& log = *static_cast<Log*>(command.context);
  for (std::uint64_t i = 1; i <= 5000; ++i)
    stream.push(entry(log, 0, i));  // several chunks, none of which can be taken yet
  return true;
}

TEST_P(HostStream, ItsOwnWorkerMayEnqueueMoreThanTheStoreHolds) {
  Log log;
  Stream stream(spin());
  stream.push({&fill_own_stream, &stream, &log, 0});
  while (!stream.idle()) std::this_thread::yield();
  EXPECT_EQ(log.total, 5000u);
  EXPECT_EQ(log.out_of_order, 0u);
}

bool gate(Command& command) noexcept {
  return static_cast<std::atomic<bool>*>(command.object)->load(std::memory_order_acquire);
}

TEST_P(HostStream, AStepThatHasNotEndedHoldsTheStreamAndIsAskedAgain) {
  std::atomic<bool> open{false};
  Log log;
  Stream stream(spin());
  EXPECT_TRUE(stream.idle());
  stream.push({&gate, &open, nullptr, 0});
  for (std::uint64_t i = 1; i <= 2000; ++i) stream.push(entry(log, 0, i));
  EXPECT_FALSE(stream.idle());
  open.store(true, std::memory_order_release);
  stream.synchronize({});
  EXPECT_EQ(log.total, 2000u);
  EXPECT_TRUE(stream.idle());
}

// Each stream waits for the one before it and then lets the next one go, round after round.
TEST_P(HostStream, WordsOrderStreams) {
  constexpr std::size_t count = 3;
  constexpr std::uint64_t rounds = 2000;
  std::array<std::atomic<std::uint64_t>, count> words{};
  std::uint64_t token = 0;  // not atomic: the words order its uses
  std::vector<std::unique_ptr<Stream>> streams;
  for (std::size_t s = 0; s < count; ++s) streams.push_back(std::make_unique<Stream>(spin()));
  const auto add = [](void* argument) { ++*static_cast<std::uint64_t*>(argument); };
  const auto raise = [](void* word) {
    static_cast<std::atomic<std::uint64_t>*>(word)->fetch_add(1, std::memory_order_release);
  };
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    for (std::size_t s = 0; s < count; ++s) {
      streams[s]->await(words[(s + count - 1) % count], s == 0 ? round - 1 : round);
      streams[s]->launch(add, &token);
      streams[s]->launch(raise, &words[s]);
    }
  }
  for (auto& stream : streams) stream->synchronize({});
  EXPECT_EQ(token, rounds * count);
}

TEST(HostStreamSynchronize, CallsMeanwhileFromTheCallersThread) {
  std::atomic<bool> open{false};
  Stream stream(microseconds{20});
  stream.push({&gate, &open, nullptr, 0});
  int calls = 0;
  const auto caller = std::this_thread::get_id();
  stream.synchronize([&] {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    if (++calls == 20) open.store(true, std::memory_order_release);
    return calls < 10;
  });
  EXPECT_GE(calls, 20);
}

TEST(HostStreamSynchronize, SeveralCallersAtOnce) {
  Log log;
  Stream stream(microseconds{0});
  std::vector<std::thread> callers;
  for (std::size_t p = 0; p < Log::producers; ++p) {
    callers.emplace_back([&, p] {
      for (std::uint64_t i = 1; i <= 2000; ++i) {
        stream.push(entry(log, p, i));
        stream.synchronize({});
        EXPECT_EQ(log.last[p], i);
      }
    });
  }
  for (auto& caller : callers) caller.join();
}

TEST(HostStreamWorker, KnowsItself) {
  Stream stream(microseconds{20});
  bool inside = false;
  stream.launch([](void* answer) { *static_cast<bool*>(answer) = Stream::on_a_worker(); }, &inside);
  stream.synchronize({});
  EXPECT_TRUE(inside);
  EXPECT_FALSE(Stream::on_a_worker());
}

TEST(HostStreamWorker, ManyStreamsComeAndGo) {
  std::atomic<int> runs{0};
  const auto run = [](void* argument) { static_cast<std::atomic<int>*>(argument)->fetch_add(1); };
  for (int round = 0; round < 20; ++round) {
    std::vector<std::unique_ptr<Stream>> streams;
    for (int s = 0; s < 20; ++s) streams.push_back(std::make_unique<Stream>(microseconds{0}));
    for (auto& stream : streams) stream->launch(run, &runs);
    for (auto& stream : streams) stream->synchronize({});
  }
  EXPECT_EQ(runs.load(), 400);
}

}  // namespace
}  // namespace penstock::device::host
