// SPDX-License-Identifier: Apache-2.0
// Collectives in the order of streams, and what they tell.
#include <algorithm>
#include <cstddef>

#include "conformance/collective_blocks.hpp"
#include "support/rounds.hpp"

namespace penstock::test {
namespace {

struct CountedSums {
  static constexpr std::size_t count = 5;
  GuardedBlock data{count * sizeof(int), false};
  int epoch = 0;
  std::size_t wrong = 0;
};

// A thousand epochs without a synchronisation: the stream fills, reduces and checks.
TEST(Collectives, EpochsFollowEachOtherOnTheStream) {
  const int rounds = fewer_rounds(1000, 10);
  Lane lane;
  CountedSums counted;
  MPI_Request request;
  EXPECT_PST(PST_Allreduce_init(MPI_IN_PLACE, counted.data.address(), CountedSums::count, MPI_INT,
                                MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
  EXPECT_PST(PST_Match(&request, MPI_STATUS_IGNORE));
  for (int round = 0; round < rounds; ++round) {
    lane.launch(
        [](void* argument) {
          auto& own = *static_cast<CountedSums*>(argument);
          std::fill_n(own.data.numbers<int>(), CountedSums::count, ++own.epoch * (rank() + 1));
        },
        &counted);
    counted.data.enqueue_to_device(lane.stream());
    EXPECT_PST(PST_Enqueue_run(lane.queue(), &request));
    counted.data.enqueue_from_device(lane.stream());
    lane.launch(
        [](void* argument) {
          auto& own = *static_cast<CountedSums*>(argument);
          for (std::size_t i = 0; i < CountedSums::count; ++i)
            if (own.data.numbers<int>()[i] != own.epoch * size() * (size() + 1) / 2) ++own.wrong;
        },
        &counted);
  }
  lane.finish();
  EXPECT_EQ(counted.epoch, rounds);
  EXPECT_EQ(counted.wrong, 0u);
  EXPECT_PST(PST_Request_free(&request));
}

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

TEST(Collectives, ABarrierEndsWhenAllHaveCome) {
  MPI_Request request;
  EXPECT_PST(PST_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &request));
  run_epochs(
      request, {}, 50, [](int) {}, [](int) {});
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
