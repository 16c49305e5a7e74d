// SPDX-License-Identifier: Apache-2.0
// No host in the way of a message: a thousand epochs are enqueued, then the program's thread sleeps
// in one wait of its own until the stream's last function wakes it. From the first epoch to the
// last it calls neither the library nor MPI nor the network; every message is checked on the
// stream.
#include <gtest/gtest.h>
#include <semaphore.h>
#include <sys/syscall.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "conformance/boundary_calls.hpp"
#include "conformance/enqueued.hpp"
#include "conformance/one_way.hpp"
#include "conformance/system_calls.hpp"
#include "conformance/window.hpp"
#include "support/rounds.hpp"
#if PENSTOCK_OFI
#include "network/layer.hpp"
#endif

namespace penstock::test {
namespace {

struct Calls {
  BoundaryCalls boundary;
  std::uint64_t network = 0;

  Calls operator-(const Calls& other) const {
    return {boundary - other.boundary, network - other.network};
  }
};

#if PENSTOCK_OFI
Calls calls_of_this_thread() {
  return {boundary_calls_of_this_thread(), network::calls_of_this_thread()};
}
Calls calls_of_all_threads() {
  return {boundary_calls_of_all_threads(), network::calls_of_all_threads()};
}
#else
Calls calls_of_this_thread() {
  return {boundary_calls_of_this_thread()};
}
Calls calls_of_all_threads() {
  return {boundary_calls_of_all_threads()};
}
#endif

struct Semaphore {
  sem_t semaphore;
  Semaphore() { sem_init(&semaphore, 0, 0); }
  ~Semaphore() { sem_destroy(&semaphore); }
  static void post(void* self) { sem_post(&static_cast<Semaphore*>(self)->semaphore); }
  static void wait(void* self) {
    while (sem_wait(&static_cast<Semaphore*>(self)->semaphore) != 0 && errno == EINTR) {
    }
  }
};

// The streams are held until everything is enqueued.
struct Held {
  Semaphore go, ended;
  Lane& lane;
  explicit Held(Lane& held) : lane(held) { lane.launch(Semaphore::wait, &go); }
};

void enqueue(OneWay& pair, int epochs) {
  for (int epoch = 0; epoch < epochs; ++epoch) {
    pair.start_receive();
    pair.start_send();
    pair.wait_receive();
    pair.wait_send();
  }
}

TEST(Asleep, WhatTheThreadDoesIsCounted) {
  if (!can_count())
    GTEST_SKIP()
        << "not under a sanitizer: only calls of the library, MPI and libfabric are counted";
  if (!can_count_system_calls())
    GTEST_SKIP() << "no syscall user dispatch here: only locks and allocations are counted";
}

// Checks what is counted here.
void expect_asleep(const Activity& activity) {
  if (!can_count()) return;
  EXPECT_EQ(activity.allocations, 0u) << activity.text();
  EXPECT_EQ(activity.locks, 0u) << activity.text();
  EXPECT_EQ(activity.system_calls_beyond_waiting(), activity.system_calls[SYS_futex])
      << activity.text();
}

// Somebody else has done it, and these counts would have seen the program's thread do it.
void expect_others_at_work(const Calls& all, std::uint64_t epochs) {
  EXPECT_EQ(all.boundary.library, 0u);
  const std::string transport = only_transport();
  if (transport == "proxy") {
    EXPECT_GT(all.boundary.mpi, epochs);
  } else {
    EXPECT_EQ(all.boundary.mpi, 0u);
  }
  if (transport == "ofi") {
    EXPECT_GT(all.network, epochs);
  }
}

using HeldStreams = std::vector<std::unique_ptr<Held>>;

// Everything is enqueued, with these calls: lets the streams go, sleeps until they have ended, and
// looks who has done what meanwhile.
void sleep_through(HeldStreams& streams, const Calls& enqueuing, std::uint64_t epochs) {
  EXPECT_GT(enqueuing.boundary.library, 2u * epochs);
  EXPECT_GT(enqueuing.boundary.mpi, 0u);
  for (const auto& stream : streams) stream->lane.launch(Semaphore::post, &stream->ended);
  meet();

  const Calls before = calls_of_this_thread(), all_before = calls_of_all_threads();
  Activity activity;
  for (const auto& stream : streams) Semaphore::post(&stream->go);
  begin_counting(activity);
  for (const auto& stream : streams) Semaphore::wait(&stream->ended);
  end_counting();
  const Calls ours = calls_of_this_thread() - before, all = calls_of_all_threads() - all_before;

  EXPECT_EQ(ours.boundary.library, 0u);
  EXPECT_EQ(ours.boundary.mpi, 0u);
  EXPECT_EQ(ours.network, 0u);
  expect_asleep(activity);
  expect_others_at_work(all, epochs);
}

TEST(Asleep, NoHostInTheWayOfAThousandEpochs) {
  if (!can_count_boundary_calls()) GTEST_SKIP() << "calls are counted on x86-64 alone";
  for_each_pair({8, eager_max(), eager_max() + 1}, {Kind::standard, Kind::synchronous},
                [](const auto& options) {
                  constexpr int epochs = fewer_rounds(1000, 4);
                  const Calls at_first = calls_of_this_thread();
                  OneWay pair(options);
                  HeldStreams streams;
                  if (pair.sends()) streams.push_back(std::make_unique<Held>(pair.send_lane()));
                  if (pair.receives())
                    streams.push_back(std::make_unique<Held>(pair.receive_lane()));
                  enqueue(pair, epochs);
                  sleep_through(streams, calls_of_this_thread() - at_first, epochs);
                  pair.expect_good(epochs);
                });
}

// The same of one-sided epochs.
TEST(Asleep, NoHostInTheWayOfAThousandEpochsOfAWindow) {
  if (!can_count_boundary_calls()) GTEST_SKIP() << "calls are counted on x86-64 alone";
  if (!windows_served()) GTEST_SKIP() << "no allowed transport serves windows";
  constexpr std::uint64_t epochs = fewer_rounds(1000, 4);
  for (const Memory memory : {Memory::allocated, Memory::ordinary}) {
    for (const std::size_t count : {std::size_t{1}, std::size_t{5000}}) {
      const Calls at_first = calls_of_this_thread();
      Window window(count, memory);
      Lane lane;
      Script script;
      std::vector<Number> source(count);
      std::atomic<std::uint64_t> wrong = 0;
      const int self = rank(), left = previous_rank();  // functions on the stream call no MPI
      HeldStreams streams;
      streams.push_back(std::make_unique<Held>(lane));
      for (std::uint64_t epoch = 1; epoch <= epochs; ++epoch) {
        window.post(lane, {previous_rank()});
        window.start({next_rank()});
        window.put(source.data(), count, next_rank(), 0);
        script.run(lane, [&, epoch] {
          for (std::size_t i = 0; i < count; ++i) source[i] = stamp(self, epoch, i);
        });
        window.complete(lane);
        window.wait(lane);
        script.run(lane, [&, epoch] { wrong += count_wrong(window.numbers(), left, epoch); });
      }
      sleep_through(streams, calls_of_this_thread() - at_first, epochs);
      lane.finish();
      EXPECT_EQ(wrong, 0U);
    }
  }
}

// The same of messages that are enqueued at both ends: MPI is not called for what a slot holds.
TEST(AsleepEnqueued, NoHostAndNoMpiInTheWayOfAThousandMessages) {
  if (!can_count_boundary_calls()) GTEST_SKIP() << "calls are counted on x86-64 alone";
  constexpr std::uint64_t rounds = fewer_rounds(1000, 4);
  for (const std::size_t bytes : {std::size_t{8}, eager_max()}) {
    const Calls at_first = calls_of_this_thread();
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    EXPECT_PST(PST_Comm_enqueue_only(comm));
    {
      Lane lane;
      Script script;
      Bytes out(bytes), in(bytes);
      std::uint64_t wrong = 0;
      const int peer = partner();
      const auto size = static_cast<int>(bytes);
      HeldStreams streams;
      streams.push_back(std::make_unique<Held>(lane));
      for (std::uint64_t round = 1; round <= rounds; ++round) {
        EXPECT_PST(
            PST_Enqueue_recv(in.data(), size, MPI_BYTE, peer, 1, comm, lane.queue(), nullptr));
        EXPECT_PST(
            PST_Enqueue_send(out.data(), size, MPI_BYTE, peer, 1, comm, lane.queue(), nullptr));
        script.run(lane, [&, round] { std::memset(out.data(), static_cast<int>(round), bytes); });
        EXPECT_PST(PST_Enqueue_trigger(lane.queue()));
        EXPECT_PST(PST_Enqueue_wait_outstanding(lane.queue()));
        script.run(lane, [&, round] {
          for (const std::byte each : in) wrong += each != static_cast<std::byte>(round);
        });
      }
      sleep_through(streams, calls_of_this_thread() - at_first, rounds);
      lane.finish();
      EXPECT_EQ(wrong, 0U);
    }
    EXPECT_EQ(MPI_Comm_free(&comm), MPI_SUCCESS);
  }
}

}  // namespace
}  // namespace penstock::test
