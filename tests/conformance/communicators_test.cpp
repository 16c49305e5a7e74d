// SPDX-License-Identifier: Apache-2.0
// Communicators never cross-match (ST III-C): their identities agree on all members without
// communication, whatever the order in which requests are made and handed to match, and outlive the
// communicator.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "support/endpoint.hpp"
#include "support/environment.hpp"

namespace penstock::test {
namespace {

// Messages of one int over many communicators, all with the same tag. Requests are made and handed
// to match in an order that differs from rank to rank; what has come tells over which communicator
// and from which rank it was sent.
class Traffic {
 public:
  ~Traffic() {
    for (MPI_Request& request : requests_) EXPECT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
  }

  // Between this rank and the neighbours in the communicator's ring.
  void ring(MPI_Comm comm) {
    int rank = 0, size = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    plan(comm, (rank + 1) % size, (rank + size - 1) % size, rank);
  }
  // With one rank of an intercommunicator's other side, in both directions.
  void across(MPI_Comm comm) {
    int rank = 0, remote = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_remote_size(comm, &remote);
    if (rank < remote)
      plan(comm, rank, rank, rank);
    else
      ++number_;
  }

  // Makes the requests: even ranks forwards, odd ones backwards.
  void make() {
    std::vector<std::size_t> order(planned_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (rank() % 2 == 1) std::reverse(order.begin(), order.end());
    for (const std::size_t i : order) {
      Message& message = planned_[i];
      requests_.emplace_back();
      ASSERT_PST(
          MPI_Send_init(&message.out, 1, MPI_INT, message.to, 5, message.comm, &requests_.back()));
      requests_.emplace_back();
      ASSERT_PST(
          MPI_Recv_init(&message.in, 1, MPI_INT, message.from, 5, message.comm, &requests_.back()));
    }
  }

  void match_and_check() {
    auto random = generator(100 + static_cast<std::uint64_t>(rank()));
    std::shuffle(requests_.begin(), requests_.end(), random);
    const int count = static_cast<int>(requests_.size());
    ASSERT_PST(PST_Matchall(count, requests_.data(), MPI_STATUSES_IGNORE));
    Lane lane;
    EXPECT_PST(PST_Enqueue_startall(lane.queue(), count, requests_.data()));
    EXPECT_PST(PST_Enqueue_waitall(lane.queue(), count, requests_.data()));
    lane.finish();
    for (const Message& message : planned_)
      EXPECT_EQ(message.in, message.number * 1000 + message.from)
          << "communicator " << message.number;
  }

  void run() {
    make();
    match_and_check();
  }

  MPI_Request first() const { return requests_.front(); }

 private:
  struct Message {
    MPI_Comm comm;
    int number, to, from, out, in;
  };

  void plan(MPI_Comm comm, int to, int from, int own) {
    planned_.push_back({comm, number_, to, from, number_ * 1000 + own, -1});
    ++number_;
  }

  int number_ = 0;  // of the communicator, the same on all its members
  std::deque<Message> planned_;
  std::vector<MPI_Request> requests_;
};

// Communicators that are freed at the end.
class Communicators {
 public:
  ~Communicators() {
    for (MPI_Comm& comm : all_)
      if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
  }
  MPI_Comm* add() { return &all_.emplace_back(MPI_COMM_NULL); }
  MPI_Comm dup(MPI_Comm parent) {
    MPI_Comm* comm = add();
    EXPECT_PST(MPI_Comm_dup(parent, comm));
    return *comm;
  }
  MPI_Comm split(MPI_Comm parent, int color, int key) {
    MPI_Comm* comm = add();
    EXPECT_PST(MPI_Comm_split(parent, color, key, comm));
    return *comm;
  }

 private:
  std::deque<MPI_Comm> all_;
};

// One that the recorder does not see.
MPI_Comm hidden_dup(MPI_Comm parent) {
  MPI_Comm comm = MPI_COMM_NULL;
  PMPI_Comm_dup(parent, &comm);
  return comm;
}

class Group {
 public:
  Group(MPI_Comm comm, std::vector<int> ranks) {
    MPI_Group all;
    MPI_Comm_group(comm, &all);
    MPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &group_);
    MPI_Group_free(&all);
  }
  ~Group() { MPI_Group_free(&group_); }
  operator MPI_Group() const { return group_; }

 private:
  MPI_Group group_;
};

TEST(Communicators, SameRanksAndTagsInOppositeOrderOnTheTwoEnds) {
  Communicators made;
  Traffic traffic;
  const MPI_Comm a = made.dup(MPI_COMM_WORLD);
  const MPI_Comm b = made.dup(MPI_COMM_WORLD);
  traffic.ring(a);
  traffic.ring(b);
  traffic.ring(MPI_COMM_WORLD);
  traffic.run();
}

TEST(Communicators, SelfIsEverybodysOwn) {
  Communicators made;
  Traffic traffic;
  traffic.ring(MPI_COMM_SELF);
  traffic.ring(made.dup(MPI_COMM_SELF));
  traffic.ring(MPI_COMM_WORLD);
  traffic.run();
}

TEST(Communicators, DupsOfDups) {
  Communicators made;
  Traffic traffic;
  MPI_Comm comm = MPI_COMM_WORLD;
  for (int i = 0; i < 5; ++i) {
    const MPI_Comm next = made.dup(comm);
    traffic.ring(made.dup(comm));
    traffic.ring(next);
    comm = next;
  }
  MPI_Comm* with_info = made.add();
  MPI_Comm_dup_with_info(comm, MPI_INFO_NULL, with_info);
  traffic.ring(*with_info);
  traffic.run();
}

TEST(Communicators, IdupByEveryCompletingCall) {
  Communicators made;
  Traffic traffic;
  for (int how = 0; how < 9; ++how) {
    MPI_Comm* comm = made.add();
    MPI_Request request;
    ASSERT_PST(MPI_Comm_idup(MPI_COMM_WORLD, comm, &request));
    // Comes second on every rank, although it is there first.
    MPI_Comm meanwhile = made.dup(MPI_COMM_WORLD);
    int flag = 0, index = 0, count = 0;
    if (how == 0) MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (how == 1) MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
    if (how == 2) MPI_Waitany(1, &request, &index, MPI_STATUS_IGNORE);
    if (how == 3) MPI_Waitsome(1, &request, &count, &index, MPI_STATUSES_IGNORE);
    while (how == 4 && !flag) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    while (how == 5 && !flag) MPI_Testall(1, &request, &flag, MPI_STATUSES_IGNORE);
    while (how == 6 && !flag) MPI_Testany(1, &request, &index, &flag, MPI_STATUS_IGNORE);
    while (how == 7 && count == 0) MPI_Testsome(1, &request, &count, &index, MPI_STATUSES_IGNORE);
    while (how == 8 && !flag) MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
    if (how == 8) MPI_Wait(&request, MPI_STATUS_IGNORE);
    ASSERT_EQ(request, MPI_REQUEST_NULL);
    traffic.ring(*comm);
    traffic.ring(meanwhile);
  }
#if MPI_VERSION >= 4
  MPI_Comm* with_info = made.add();
  MPI_Request request;
  MPI_Comm_idup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, with_info, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  traffic.ring(*with_info);
#endif
  traffic.run();
}

TEST(Communicators, SplitsAndThoseLeftOut) {
  Communicators made;
  Traffic traffic;
  traffic.ring(made.split(MPI_COMM_WORLD, rank() % 2, rank()));
  traffic.ring(made.split(MPI_COMM_WORLD, 0, -rank()));  // the ranks turned round
  // Rank 0 gets none, and counts it all the same.
  const MPI_Comm some = made.split(MPI_COMM_WORLD, rank() == 0 ? MPI_UNDEFINED : 1, 0);
  EXPECT_EQ(some == MPI_COMM_NULL, rank() == 0);
  const MPI_Comm after = made.dup(MPI_COMM_WORLD);
  traffic.ring(after);
  MPI_Comm* host = made.add();
  ASSERT_PST(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, host));
  traffic.ring(*host);
  std::vector<int> front(static_cast<std::size_t>((size() + 1) / 2));
  std::iota(front.begin(), front.end(), 0);
  MPI_Comm* half = made.add();
  ASSERT_PST(MPI_Comm_create(MPI_COMM_WORLD, Group(MPI_COMM_WORLD, front), half));
  traffic.ring(made.dup(MPI_COMM_WORLD));
  if (*half != MPI_COMM_NULL) traffic.ring(*half);
  traffic.run();
}

TEST(Communicators, CreateGroupCountsForItsOwnGroupAndTag) {
  Communicators made;
  // Each pair of neighbours makes two with one tag and one with another; nobody else takes part.
  std::vector<MPI_Comm> pairs;
  for (int low = 0; low + 1 < size(); ++low) {
    if (rank() != low && rank() != low + 1) continue;
    const Group pair(MPI_COMM_WORLD, {low, low + 1});
    for (const int tag : {1, 1, 2}) {
      MPI_Comm* comm = made.add();
      ASSERT_PST(MPI_Comm_create_group(MPI_COMM_WORLD, pair, tag, comm));
      Traffic traffic;
      traffic.ring(*comm);
      traffic.run();
    }
  }
  Traffic traffic;
  traffic.ring(made.dup(MPI_COMM_WORLD));  // not disturbed
  traffic.run();
}

TEST(Communicators, Topologies) {
  Communicators made;
  Traffic traffic;
  const int dims[2] = {size(), 1}, periods[2] = {1, 0}, remain[2] = {1, 0};
  MPI_Comm* cart = made.add();
  ASSERT_PST(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, cart));
  MPI_Comm* line = made.add();
  ASSERT_PST(MPI_Cart_sub(*cart, remain, line));
  std::vector<int> index(static_cast<std::size_t>(size())), edges(index.size());
  for (int i = 0; i < size(); ++i) index[i] = i + 1, edges[i] = (i + 1) % size();
  MPI_Comm* graph = made.add();
  ASSERT_PST(MPI_Graph_create(MPI_COMM_WORLD, size(), index.data(), edges.data(), 0, graph));
  const int me = rank(), one = 1, next = (rank() + 1) % size(),
            before = (rank() + size() - 1) % size();
  MPI_Comm* dist = made.add();
  ASSERT_PST(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &me, &one, &next, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, dist));
  MPI_Comm* adjacent = made.add();
  ASSERT_PST(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, MPI_UNWEIGHTED, 1, &next,
                                            MPI_UNWEIGHTED, MPI_INFO_NULL, 0, adjacent));
  for (const MPI_Comm* comm : {cart, line, graph, dist, adjacent}) traffic.ring(*comm);
  traffic.run();
}

TEST(Communicators, IntercommunicatorsAndTheirMerges) {
  if (size() < 2) GTEST_SKIP() << "an intercommunicator needs two ranks";
  Communicators made;
  Traffic traffic;
  const int side = rank() % 2;
  const MPI_Comm local = made.split(MPI_COMM_WORLD, side, rank());
  for (const int tag : {4, 4, 9}) {  // two with the same groups and tag
    MPI_Comm* inter = made.add();
    ASSERT_PST(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, 1 - side, tag, inter));
    traffic.across(*inter);
    traffic.across(made.dup(*inter));
    MPI_Comm* merged = made.add();
    ASSERT_PST(MPI_Intercomm_merge(*inter, side, merged));
    traffic.ring(*merged);
  }
  traffic.run();
}

TEST(Communicators, FreedBeforeTheMatch) {
  MPI_Comm first = MPI_COMM_NULL, second = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &first);
  Traffic early, late;
  early.ring(first);
  early.make();
  ASSERT_PST(MPI_Comm_free(&first));
  MPI_Comm_dup(MPI_COMM_WORLD, &second);  // may get the handle of the first
  late.ring(second);
  late.make();
  ASSERT_PST(MPI_Comm_free(&second));
  late.match_and_check();
  early.match_and_check();
}

TEST(Communicators, AnErrorOnAFreedCommunicatorGoesToTheHandlerOfWorld) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
  int value = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Send_init(&value, 1, MPI_INT, rank(), 0, comm, &request);
  MPI_Comm_free(&comm);
  Lane lane;
  EXPECT_PST_KIND(PST_Enqueue_start(lane.queue(), &request), PST_ERROR_NOT_MATCHED);
  MPI_Request_free(&request);
}

TEST(Communicators, AnUnknownOneIsAnErrorThatAttachCures) {
  MPI_Comm comm = hidden_dup(MPI_COMM_WORLD);
  Communicators made;
  {
    Traffic traffic;
    traffic.ring(comm);
    traffic.make();
    MPI_Request request = traffic.first();
    EXPECT_PST_KIND(PST_Match(&request, MPI_STATUS_IGNORE), PST_ERROR_COMMUNICATOR);
    EXPECT_NE(last_error().find("PST_Comm_attach"), std::string::npos) << last_error();
    meet();
    EXPECT_PST(PST_Comm_attach(comm));
    EXPECT_PST(PST_Comm_attach(comm));  // does nothing the second time
    traffic.match_and_check();          // also for requests made before
  }
  Traffic traffic;
  traffic.ring(comm);
  traffic.ring(made.dup(comm));  // children of an attached one are known
  traffic.ring(MPI_COMM_WORLD);
  traffic.run();
  MPI_Comm_free(&comm);
}

TEST(Communicators, AChildOfAnUnknownOneIsUnknown) {
  MPI_Comm parent = hidden_dup(MPI_COMM_WORLD);
  Communicators made;
  const MPI_Comm child = made.dup(parent);
  Traffic traffic;
  traffic.ring(child);
  traffic.make();
  MPI_Request request = traffic.first();
  EXPECT_PST_KIND(PST_Match(&request, MPI_STATUS_IGNORE), PST_ERROR_COMMUNICATOR);
  meet();
  EXPECT_PST(PST_Comm_attach(child));
  traffic.match_and_check();
  MPI_Comm_free(&parent);
}

// Two at once, which nothing but their attachments tells apart.
TEST(Communicators, AttachCuresCollectivesThatWereMadeBefore) {
  MPI_Comm comms[2];
  MPI_Request requests[2];
  int sums[2];
  for (int i = 0; i < 2; ++i) {
    comms[i] = hidden_dup(MPI_COMM_WORLD);
    sums[i] = rank() + 100 * i;
    EXPECT_PST(PST_Allreduce_init(MPI_IN_PLACE, &sums[i], 1, MPI_INT, MPI_SUM, comms[i],
                                  MPI_INFO_NULL, &requests[i]));
  }
  for (const MPI_Comm comm : comms) EXPECT_PST(PST_Comm_attach(comm));
  if (rank() % 2 == 1) std::swap(requests[0], requests[1]);
  ASSERT_PST(PST_Matchall(2, requests, MPI_STATUSES_IGNORE));
  Lane lane;
  EXPECT_PST(PST_Enqueue_runall(lane.queue(), 2, requests));
  lane.finish();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(sums[i], size() * (size() - 1) / 2 + 100 * i * size());
    EXPECT_PST(PST_Request_free(&requests[i]));
    MPI_Comm_free(&comms[i]);
  }
}

TEST(Communicators, AttachOfAnIntercommunicator) {
  if (size() < 2) GTEST_SKIP() << "an intercommunicator needs two ranks";
  Communicators made;
  const MPI_Comm local = made.split(MPI_COMM_WORLD, rank() % 2, rank());
  MPI_Comm inter = MPI_COMM_NULL;
  PMPI_Intercomm_create(local, 0, MPI_COMM_WORLD, 1 - rank() % 2, 3, &inter);
  EXPECT_PST(PST_Comm_attach(inter));
  Traffic traffic;
  traffic.across(inter);
  traffic.across(made.dup(inter));
  traffic.run();
  MPI_Comm_free(&inter);
}

TEST(Communicators, AttachWhereThereIsNothingToDo) {
  EXPECT_PST(PST_Comm_attach(MPI_COMM_WORLD));
  EXPECT_PST(PST_Comm_attach(MPI_COMM_SELF));
  Communicators made;
  const MPI_Comm comm = made.dup(MPI_COMM_WORLD);
  EXPECT_PST(PST_Comm_attach(comm));
  EXPECT_PST_KIND(PST_Comm_attach(MPI_COMM_NULL), PST_ERROR_COMMUNICATOR);
}

#if MPI_VERSION >= 4
TEST(Communicators, CreateFromGroupIsUnknownAndSaysSo) {
  MPI_Group group;
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  MPI_Comm comm = MPI_COMM_NULL;
  ASSERT_PST(
      MPI_Comm_create_from_group(group, "penstock", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
  MPI_Group_free(&group);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  Traffic traffic;
  traffic.ring(comm);
  traffic.make();
  MPI_Request request = traffic.first();
  EXPECT_PST_KIND(PST_Match(&request, MPI_STATUS_IGNORE), PST_ERROR_COMMUNICATOR);
  EXPECT_NE(last_error().find("MPI_Comm_create_from_group"), std::string::npos) << last_error();
  meet();
  EXPECT_PST(PST_Comm_attach(comm));
  traffic.match_and_check();
  MPI_Comm_free(&comm);
}
#endif

TEST(Communicators, ManyInRandomOrder) {
  Communicators made;
  Traffic traffic;
  auto random = generator(7);  // the same tree on every rank
  std::vector<MPI_Comm> all{MPI_COMM_WORLD};
  for (int i = 0; i < 60; ++i) {
    const MPI_Comm parent = all[random() % all.size()];
    const bool turned = random() % 2 == 0;
    const MPI_Comm child = turned ? made.split(parent, 0, -rank()) : made.dup(parent);
    all.push_back(child);
    traffic.ring(child);
  }
  traffic.run();
}

}  // namespace
}  // namespace penstock::test
