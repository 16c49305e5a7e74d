// SPDX-License-Identifier: Apache-2.0
// Collectives in the order of streams, and what they tell.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "conformance/collective_blocks.hpp"
#include "support/rounds.hpp"

namespace penstock::test {
namespace {

struct CountedSums {
  GuardedBlock data;
  std::size_t count;
  int epoch = 0;
  std::size_t wrong = 0;
};

// Without a synchronisation but now and then: the stream fills, reduces and checks. `linger` comes
// before each epoch.
void expect_sums_of_epochs(
    std::size_t count, int rounds, const char* algorithm = "",
    const std::function<void(Lane&)>& linger = [](Lane&) {}) {
  Lane lane;
  CountedSums counted{GuardedBlock(count * sizeof(int), false), count};
  const AlgorithmInfo info(algorithm);
  MPI_Request request;
  EXPECT_PST(PST_Allreduce_init(MPI_IN_PLACE, counted.data.address(), static_cast<MPI_Count>(count),
                                MPI_INT, MPI_SUM, MPI_COMM_WORLD, info.get(), &request));
  const int code = PST_Match(&request, MPI_STATUS_IGNORE);
  if (kind_of(code) == PST_ERROR_UNSUPPORTED) {
    EXPECT_PST(PST_Request_free(&request));
    GTEST_SKIP() << describe(code);
  }
  EXPECT_PST(code);
  for (int round = 0; round < rounds; ++round) {
    linger(lane);
    lane.launch(
        [](void* argument) {
          auto& own = *static_cast<CountedSums*>(argument);
          std::fill_n(own.data.numbers<int>(), own.count, ++own.epoch * (rank() + 1));
        },
        &counted);
    counted.data.enqueue_to_device(lane.stream());
    EXPECT_PST(PST_Enqueue_run(lane.queue(), &request));
    counted.data.enqueue_from_device(lane.stream());
    lane.launch(
        [](void* argument) {
          auto& own = *static_cast<CountedSums*>(argument);
          for (std::size_t i = 0; i < own.count; ++i)
            if (own.data.numbers<int>()[i] != own.epoch * size() * (size() + 1) / 2) ++own.wrong;
        },
        &counted);
    if (round % 1000 == 999) lane.finish();
  }
  lane.finish();
  EXPECT_EQ(counted.epoch, rounds);
  EXPECT_EQ(counted.wrong, 0u);
  EXPECT_PST(PST_Request_free(&request));
}

TEST(Collectives, EpochsFollowEachOtherOnTheStream) {
  expect_sums_of_epochs(5, fewer_rounds(1000, 10));
  expect_sums_of_epochs(3000, fewer_rounds(200, 10));
}

// A GPU's stream takes its time with functions of the host.
TEST(Collectives, SlotsAreUsedAgainForManyEpochs) {
  const bool many = size() <= 2 && queue_type == PST_QUEUE_HOST;
  expect_sums_of_epochs(2, fewer_rounds(many ? 100000 : 5000, 100));
}

// Each rank lingers at random, so that it is now ahead of the others and now behind.
// PENSTOCK_TEST_LONG=1: a million epochs.
class CollectiveDelays : public ::testing::TestWithParam<const char*> {};

TEST_P(CollectiveDelays, G10_EpochsOfRanksThatLinger) {
  const int rounds = long_run() ? 1000000 : fewer_rounds(2000, 10);
  std::minstd_rand random(static_cast<unsigned>(seed()) + static_cast<unsigned>(rank()));
  const auto linger = [&](Lane& lane) {
    if (random() % 16 == 0) enqueue_delay(lane, random() % 20);
  };
  expect_sums_of_epochs(301, rounds, GetParam(), linger);
}
INSTANTIATE_TEST_SUITE_P(Allreduce, CollectiveDelays,
                         ::testing::Values("one-shot", "two-shot", "doubling"));

// Two requests of one communicator on two queues, whose ranks enqueue them in opposite orders, and
// then on each other's.
TEST(Collectives, TwoRequestsOnTwoQueuesInAnyOrder) {
  constexpr std::size_t count = 300;
  Lane lanes[2];
  GuardedBlock data[2] = {GuardedBlock(count * sizeof(int), false),
                          GuardedBlock(count * sizeof(int), false)};
  MPI_Request requests[2];
  for (int i = 0; i < 2; ++i)
    EXPECT_PST(PST_Allreduce_init(MPI_IN_PLACE, data[i].address(), count, MPI_INT, MPI_SUM,
                                  MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]));
  if (rank() % 2 == 1) {  // the order of matches is free
    EXPECT_PST(PST_Matchall(2, requests, MPI_STATUSES_IGNORE));
  } else {
    MPI_Request turned[2] = {requests[1], requests[0]};
    EXPECT_PST(PST_Matchall(2, turned, MPI_STATUSES_IGNORE));
  }
  for (int round = 0; round < 20; ++round) {
    for (GuardedBlock& each : data) {
      std::fill_n(each.numbers<int>(), count, rank() + round);
      each.to_device();
    }
    for (int i = 0; i < 2; ++i) {
      const int which = (i + rank()) % 2;
      EXPECT_PST(PST_Enqueue_run(lanes[(which + round) % 2].queue(), &requests[which]));
    }
    for (Lane& lane : lanes) lane.finish();
    const int sum = size() * (size() - 1) / 2 + size() * round;
    for (GuardedBlock& each : data) {
      each.from_device();
      EXPECT_EQ(std::count(each.numbers<int>(), each.numbers<int>() + count, sum),
                static_cast<std::ptrdiff_t>(count));
    }
  }
  for (MPI_Request& request : requests) EXPECT_PST(PST_Request_free(&request));
}

// Enqueued in opposite orders, on queues in which each has its place; several are under way at
// once.
TEST(Collectives, ManyRequestsOnSeveralQueues) {
  constexpr std::size_t requests_each = 16, all = 4 * requests_each;
  Lane lanes[4];
  std::vector<MPI_Request> requests[4];
  GuardedBlock data(all * sizeof(std::int64_t), false);
  auto* const numbers = data.numbers<std::int64_t>();
  for (std::size_t i = 0; i < all; ++i)
    EXPECT_PST(PST_Allreduce_init(MPI_IN_PLACE, data.address() + i * sizeof(std::int64_t), 1,
                                  MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                                  &requests[i % 4].emplace_back()));
  for (auto& each : requests)
    EXPECT_PST(PST_Matchall(static_cast<int>(each.size()), each.data(), MPI_STATUSES_IGNORE));
  for (int round = 0; round < 50; ++round) {
    for (std::size_t i = 0; i < all; ++i)
      numbers[i] = static_cast<std::int64_t>(i) * 100 + rank() + round;
    data.to_device();
    for (auto& each : requests) std::reverse(each.begin(), each.end() - (rank() + round) % 3);
    for (int i = 0; i < 4; ++i) {
      const int which = rank() % 2 == 0 ? i : 3 - i;
      EXPECT_PST(PST_Enqueue_startall(lanes[which].queue(), requests_each, requests[which].data()));
    }
    for (int i = 0; i < 4; ++i)
      EXPECT_PST(PST_Enqueue_waitall(lanes[i].queue(), requests_each, requests[i].data()));
    for (Lane& lane : lanes) lane.finish();
    data.from_device();
    for (std::size_t i = 0; i < all; ++i)
      EXPECT_EQ(numbers[i],
                size() * (static_cast<std::int64_t>(i) * 100 + round) + size() * (size() - 1) / 2);
  }
  for (auto& each : requests)
    for (MPI_Request& request : each) EXPECT_PST(PST_Request_free(&request));
}

// A rank frees its request as soon as its own wait has ended; what that one has held serves the
// next ones while others still use theirs.
TEST(Collectives, AreFreedWhileOthersStillUseThem) {
  Lane lane;
  std::vector<MPI_Request> old;
  for (int round = 0; round < 100; ++round) {
    const std::size_t count = static_cast<std::size_t>(round) * 7 % 200 + 1;
    GuardedBlock data(count * sizeof(int), false);
    std::fill_n(data.numbers<int>(), count, rank() + round);
    data.to_device();
    MPI_Request request;
    EXPECT_PST(PST_Allreduce_init(MPI_IN_PLACE, data.address(), static_cast<MPI_Count>(count),
                                  MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    EXPECT_PST(PST_Match(&request, MPI_STATUS_IGNORE));
    EXPECT_PST(PST_Enqueue_run(lane.queue(), &request));
    lane.finish();
    data.from_device();
    const int sum = size() * (size() - 1) / 2 + size() * round;
    EXPECT_EQ(std::count(data.numbers<int>(), data.numbers<int>() + count, sum),
              static_cast<std::ptrdiff_t>(count));
    old.push_back(request);
    if (old.size() > static_cast<std::size_t>(rank()) * 5) {
      EXPECT_PST(PST_Request_free(&old.front()));
      old.erase(old.begin());
    }
  }
  for (MPI_Request& request : old) EXPECT_PST(PST_Request_free(&request));
}

// A ring of messages whose result all sum up, on one stream.
TEST(Collectives, TakeTurnsWithMessages) {
  Lane lane;
  GuardedBlock sent(sizeof(int), false), received(sizeof(int), false), sum(sizeof(int), false);
  MPI_Request requests[3];
  MPI_Send_init(sent.address(), 1, MPI_INT, (rank() + 1) % size(), 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Recv_init(received.address(), 1, MPI_INT, (rank() + size() - 1) % size(), 0, MPI_COMM_WORLD,
                &requests[1]);
  EXPECT_PST(PST_Allreduce_init(received.address(), sum.address(), 1, MPI_INT, MPI_SUM,
                                MPI_COMM_WORLD, MPI_INFO_NULL, &requests[2]));
  EXPECT_PST(PST_Matchall(3, requests, MPI_STATUSES_IGNORE));
  for (int round = 0; round < 200; ++round) {
    *sent.numbers<int>() = rank() * 10 + round;
    sent.to_device();
    EXPECT_PST(PST_Enqueue_runall(lane.queue(), 2, requests));
    EXPECT_PST(PST_Enqueue_run(lane.queue(), &requests[2]));
    lane.finish();
    sum.from_device();
    EXPECT_EQ(*sum.numbers<int>(), size() * (size() - 1) * 5 + size() * round);
  }
  for (MPI_Request& request : requests) EXPECT_PST(PST_Request_free(&request));
}

class CollectiveBarrier : public ::testing::TestWithParam<const char*> {};

TEST_P(CollectiveBarrier, ABarrierEndsWhenAllHaveCome) {
  const AlgorithmInfo info(GetParam());
  MPI_Comm host;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  int members = 0;
  MPI_Comm_size(host, &members);
  MPI_Win window;
  int* come = nullptr;
  MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, host, &come, &window);
  *come = -1;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Request request;
  EXPECT_PST(PST_Barrier_init(MPI_COMM_WORLD, info.get(), &request));
  run_epochs(
      request, {}, 50, [&](int epoch) { std::atomic_ref(*come).store(epoch); },
      [&](int epoch) {
        for (int member = 0; member < members; ++member) {
          MPI_Aint bytes = 0;
          int unit = 0;
          int* theirs = nullptr;
          MPI_Win_shared_query(window, member, &bytes, &unit, &theirs);
          EXPECT_GE(std::atomic_ref(*theirs).load(), epoch);
        }
      });
  MPI_Win_free(&window);
  MPI_Comm_free(&host);
}
INSTANTIATE_TEST_SUITE_P(Barrier, CollectiveBarrier,
                         ::testing::Values("", "dissemination", "direct"));

// What is small goes directly, where all share memory and nothing else is asked for. Ranks may have
// to take turns on a GPU.
TEST(Collectives, SmallOnesGoDirectlyOverPeer) {
  GuardedBlock value(sizeof(int), false);
  const auto names = [&](const char* wish) {
    const AlgorithmInfo info(wish);
    MPI_Request request;
    EXPECT_PST(PST_Allreduce_init(MPI_IN_PLACE, value.address(), 1, MPI_INT, MPI_SUM,
                                  MPI_COMM_WORLD, info.get(), &request));
    char algorithm[32] = "", transport[32] = "";
    if (PST_Match(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS) {
      EXPECT_PST(PST_Request_algorithm(request, algorithm, sizeof algorithm));
      EXPECT_PST(PST_Request_transport(request, transport, sizeof transport));
    }
    EXPECT_PST(PST_Request_free(&request));
    return std::pair<std::string, std::string>(algorithm, transport);
  };
  const auto asked = names("two-shot");
  EXPECT_EQ(asked.first, "two-shot");
  if (asked.second.substr(0, 4) != "peer") return;
  const auto direct = names("one-shot");
  if (queue_type != PST_QUEUE_HOST && direct.first.empty()) GTEST_SKIP() << last_error();
  EXPECT_EQ(direct, std::make_pair(std::string("one-shot"), asked.second));
  EXPECT_EQ(names(""), direct);
}

// All phases of a collective but the first are part of its wait: those of one call come in the same
// order on all ranks, in whatever order they are named, and before other waits.
TEST(Collectives, WaitsOfOneCallComeInAnyOrder) {
  constexpr std::size_t each = 6;
  constexpr std::size_t count = 5000;
  const AlgorithmInfo info("two-shot");
  Lane lane;
  GuardedBlock data(each * count * sizeof(int), false), message(sizeof(int), false);
  std::vector<MPI_Request> requests(each + 1);
  for (std::size_t i = 0; i < each; ++i)
    EXPECT_PST(PST_Allreduce_init(MPI_IN_PLACE, data.address() + i * count * sizeof(int), count,
                                  MPI_INT, MPI_SUM, MPI_COMM_WORLD, info.get(), &requests[i]));
  // A ring whose sends some ranks wait for last, and others first.
  MPI_Request received;
  GuardedBlock other(sizeof(int), false);
  MPI_Send_init(message.address(), 1, MPI_INT, (rank() + 1) % size(), 0, MPI_COMM_WORLD,
                &requests[each]);
  MPI_Recv_init(other.address(), 1, MPI_INT, (rank() + size() - 1) % size(), 0, MPI_COMM_WORLD,
                &received);
  requests.push_back(received);
  const int all = static_cast<int>(requests.size());
  EXPECT_PST(PST_Matchall(all, requests.data(), MPI_STATUSES_IGNORE));
  for (int round = 0; round < 12; ++round) {
    std::fill_n(data.numbers<int>(), each * count, rank() + round);
    data.to_device();
    std::vector<MPI_Request> order = requests;
    std::rotate(order.begin(), order.begin() + (rank() * 3 + round) % all, order.end());
    if (rank() % 2 == 1) std::reverse(order.begin(), order.end());
    if (round % 3 == 0) {
      EXPECT_PST(PST_Enqueue_runall(lane.queue(), all, order.data()));
    } else {
      EXPECT_PST(PST_Enqueue_startall(lane.queue(), all, order.data()));
      std::reverse(order.begin(), order.begin() + rank() % all);
      if (round % 3 == 1) {
        EXPECT_PST(PST_Enqueue_waitall(lane.queue(), all, order.data()));
      }
    }
    lane.finish();  // the third time it is what waits for them
    data.from_device();
    const int sum = size() * (size() - 1) / 2 + size() * round;
    EXPECT_EQ(std::count(data.numbers<int>(), data.numbers<int>() + each * count, sum),
              static_cast<std::ptrdiff_t>(each * count));
  }
  for (MPI_Request& request : requests) EXPECT_PST(PST_Request_free(&request));
}

// Some ranks wait for all at once, the others for one after the other as they have been made.
TEST(Collectives, WaitsOfOneCallComeAsCollectivesHaveBeenMade) {
  constexpr std::size_t each = 6;
  constexpr std::size_t count = 1000;
  const AlgorithmInfo info("two-shot");
  Lane lane;
  GuardedBlock data(each * count * sizeof(int), false);
  std::vector<MPI_Request> requests(each);
  for (std::size_t i = 0; i < each; ++i)
    EXPECT_PST(PST_Allreduce_init(MPI_IN_PLACE, data.address() + i * count * sizeof(int), count,
                                  MPI_INT, MPI_SUM, MPI_COMM_WORLD, info.get(), &requests[i]));
  EXPECT_PST(PST_Matchall(each, requests.data(), MPI_STATUSES_IGNORE));
  std::vector<MPI_Request> turned(requests.rbegin(), requests.rend());
  for (int round = 0; round < 6; ++round) {
    std::fill_n(data.numbers<int>(), each * count, rank() + round);
    data.to_device();
    EXPECT_PST(PST_Enqueue_startall(lane.queue(), each, turned.data()));
    if ((rank() + round) % 2 == 0)
      for (MPI_Request& request : requests) EXPECT_PST(PST_Enqueue_wait(lane.queue(), &request));
    else if (round % 3 == 0)
      EXPECT_PST(PST_Enqueue_waitall(lane.queue(), each, turned.data()));
    lane.finish();
    data.from_device();
    const int sum = size() * (size() - 1) / 2 + size() * round;
    EXPECT_EQ(std::count(data.numbers<int>(), data.numbers<int>() + each * count, sum),
              static_cast<std::ptrdiff_t>(each * count));
  }
  for (MPI_Request& request : requests) EXPECT_PST(PST_Request_free(&request));
}

TEST(Collectives, TellTheirAlgorithm) {
  GuardedBlock value(sizeof(int), false);
  MPI_Request request;
  const AlgorithmInfo info("two-shot");
  EXPECT_PST(PST_Allreduce_init(MPI_IN_PLACE, value.address(), 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                                info.get(), &request));
  char name[32] = "";
  EXPECT_PST_KIND(PST_Request_algorithm(request, name, sizeof name), PST_ERROR_NOT_MATCHED);
  EXPECT_PST(PST_Match(&request, MPI_STATUS_IGNORE));
  EXPECT_PST(PST_Request_algorithm(request, name, sizeof name));
  EXPECT_STREQ(name, "two-shot");
  EXPECT_PST(PST_Request_free(&request));
}

}  // namespace
}  // namespace penstock::test
