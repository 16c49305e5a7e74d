// SPDX-License-Identifier: Apache-2.0
// What entries of the provider are used for, and that nothing waits for them.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "support/rounds.hpp"
#include "unit/ofi/two.hpp"

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define PENSTOCK_TEST_REFUSES_THREADS 1
namespace {
std::atomic<bool> refuses_threads{false};
}
// In front of the system's.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*run)(void*), void* argument) noexcept {
  static const auto real =
      reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  return refuses_threads ? EAGAIN : real(thread, attributes, run, argument);
}
#endif

namespace penstock::ofi {
namespace {

using OfiPairs = OfiTwo;

TEST_F(OfiPairs, AThousandEpochsRunWithTheProgramAsleep) {
  introduce(only_ofi());
  if (!served()) GTEST_SKIP() << end(0).transport->usable().why;
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{8}, std::size_t{100000}}) {
    SCOPED_TRACE(bytes);
    match(bytes, protocol::Mode::standard);
    run_ahead(bytes < 100000 ? 1000 : test::fewer_rounds(1000, 4));
    free();
  }
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_GT(end(rank).count("starts_posted"), 0u);
    EXPECT_LE(end(rank).count("most_entries_in_use"), 500u);
  }
}

#ifdef PENSTOCK_TEST_REFUSES_THREADS
// Afterwards the sender may have begun, and would write into memory that is no longer the pair's.
TEST_F(OfiPairs, AReceiverThatCannotStartItsThreadSaysSoBeforeItAnswers) {
  introduce(only_ofi());
  if (!served()) GTEST_SKIP() << end(0).transport->usable().why;
  std::vector<std::byte> out(64, std::byte{5}), in(64);
  const transport::Message send =
      message(transport::Direction::send, protocol::Mode::standard, out, out.size());
  const transport::Message receive =
      message(transport::Direction::receive, protocol::Mode::standard, in, in.size());
  const auto offer = end(0).transport->offer(send);
  refuses_threads = true;
  EXPECT_THROW(end(1).transport->accept(receive, send, offer->record()), base::Error);
  refuses_threads = false;
  const auto acceptance = end(1).transport->accept(receive, send, offer->record());
  const auto sending = offer->connect(acceptance->record());
  const auto receiving = acceptance->confirm();
  end(1).enqueue(*receiving, nullptr, nullptr, nullptr);
  end(0).enqueue(*sending, nullptr, nullptr, nullptr);
  for (int rank = 0; rank < 2; ++rank) end(rank).stream->synchronize({});
  EXPECT_EQ(in, out);
  sending->close();
  receiving->close();
}
#endif

TEST_F(OfiPairs, APairLeavesEntriesToOthers) {
  base::Settings settings = only_ofi();
  settings.ofi_entries = 10;
  introduce(settings);
  if (!served()) GTEST_SKIP() << end(0).transport->usable().why;
  match(64, protocol::Mode::standard);
  std::vector<std::byte> out(64, std::byte{5}), in(64);
  const auto [send, receive] =
      connect(message(transport::Direction::send, protocol::Mode::standard, out, out.size()),
              message(transport::Direction::receive, protocol::Mode::standard, in, in.size()));
  run_ahead(1000, [&] {
    const auto posted = [&] { return end(0).count("starts_posted"); };
    while (posted() < 8) std::this_thread::yield();
    // An entry each; those of eight epochs are all that the first pair takes before its stream
    // begins.
    end(0).enqueue(*send, nullptr, nullptr, nullptr);
    end(1).enqueue(*receive, nullptr, nullptr, nullptr);
    while (posted() < 9) std::this_thread::yield();
    EXPECT_EQ(posted(), 9u);
    EXPECT_EQ(end(0).count("entries_in_use"), 9u);
  });
  EXPECT_EQ(in, out);
  send->close();
  receive->close();
}

TEST_F(OfiPairs, NothingWaitsForEntriesUnderAnyPolicy) {
  constexpr std::uint64_t epochs = test::fewer_rounds(100, 4);
  for (const base::Throttle policy :
       {base::Throttle::adaptive, base::Throttle::batches, base::Throttle::application})
    for (const unsigned entries : {0u, 1u, 2u, 4u}) {
      SCOPED_TRACE(static_cast<int>(policy) * 10 + static_cast<int>(entries));
      base::Settings settings = only_ofi();
      settings.ofi_throttle = policy;
      settings.ofi_entries = entries;
      introduce(settings);
      if (!served()) GTEST_SKIP() << end(0).transport->usable().why;
      for (const std::size_t bytes : {std::size_t{64}, std::size_t{50000}}) {
        match(bytes, protocol::Mode::standard);
        run_ahead(epochs);
        free();
      }
      for (int rank = 0; rank < 2; ++rank) {
        EXPECT_LE(end(rank).count("most_entries_in_use"), entries);
        if (entries == 0) {
          // The receive of a message in slots has nothing to be posted.
          EXPECT_EQ(end(rank).count("starts_carried_out"), rank == 0 ? 2 * epochs : epochs);
        } else if (policy == base::Throttle::application) {
          EXPECT_GT(end(rank).count("starts_carried_out"), 0u);
        }
      }
    }
}

TEST_F(OfiPairs, CountersStartAgainFromZero) {
  base::Settings settings = only_ofi();
  settings.ofi_counter_limit = 16;
  introduce(settings);
  if (!served()) GTEST_SKIP() << end(0).transport->usable().why;
  for (const protocol::Mode mode : {protocol::Mode::standard, protocol::Mode::synchronous})
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{100000}}) {
      SCOPED_TRACE(bytes);
      match(bytes, mode);
      run_ahead(test::fewer_rounds(300, 3));
      free();
    }
}

TEST_F(OfiPairs, AMessageLongerThanTheNetworksLongestTravelsInParts) {
  introduce(only_ofi());
  if (!served()) GTEST_SKIP() << end(0).transport->usable().why;
  match((std::size_t{20} << 20) + 5, protocol::Mode::standard);
  run_ahead(3);
}

TEST_F(OfiPairs, ARecordOfAnotherVersionIsRefused) {
  introduce(only_ofi());
  if (!served()) GTEST_SKIP() << end(0).transport->usable().why;
  std::vector<std::byte> buffer(100);
  const transport::Message send =
      message(transport::Direction::send, protocol::Mode::standard, buffer, buffer.size());
  const transport::Message receive =
      message(transport::Direction::receive, protocol::Mode::standard, buffer, buffer.size());
  const auto offer = end(0).transport->offer(send);
  transport::WireRecord record = offer->record();
  record[0] ^= std::byte{1};
  EXPECT_THROW(end(1).transport->accept(receive, send, record), base::Error);
  EXPECT_THROW(end(1).transport->accept(receive, send, {}), base::Error);
  EXPECT_THROW(offer->connect({}), base::Error);
}

}  // namespace
}  // namespace penstock::ofi
