// SPDX-License-Identifier: Apache-2.0
// Several ranks that work on one buffer: what its allreduce gives, whoever of a team wrote what and
// reads what, and its memory.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "conformance/collective_blocks.hpp"

namespace penstock::test {
namespace {

// The ranks in teams of equal size: neighbours, or as far apart as can be.
class Teams {
 public:
  Teams(int ranks, bool apart)
      : ranks_(ranks), number_(apart ? rank() % count() : rank() / ranks), apart_(apart) {
    MPI_Comm_split(MPI_COMM_WORLD, number_, 0, &comm_);
    MPI_Comm_rank(comm_, &index_);
  }
  ~Teams() { MPI_Comm_free(&comm_); }
  Teams(const Teams&) = delete;
  Teams& operator=(const Teams&) = delete;

  MPI_Comm comm() const { return comm_; }
  int number() const { return number_; }  // of this rank's team
  int count() const { return size() / ranks_; }
  int index() const { return index_; }  // of this rank in it
  int ranks() const { return ranks_; }
  // A rank's streams run on the device of the team's memory.
  bool on_one_device() const {
    for (int each = 1; each < ranks_; ++each)
      if (device_of(member(each)) != device_of(member(0))) return false;
    return true;
  }

 private:
  int member(int index) const {
    return apart_ ? number_ + index * count() : number_ * ranks_ + index;
  }

  const int ranks_, number_;
  const bool apart_;
  int index_ = 0;
  MPI_Comm comm_ = MPI_COMM_NULL;
};

template <class Test>
void for_each_teams(Test&& test) {
  for (int ranks = 1; ranks <= size(); ++ranks)
    for (const bool apart : {false, true}) {
      if (size() % ranks != 0 || (apart && (ranks == 1 || ranks == size()))) continue;
      const Teams teams(ranks, apart);
      int served = teams.on_one_device() ? 1 : 0;
      MPI_Allreduce(MPI_IN_PLACE, &served, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
      if (served != 0) test(teams);
    }
}

// Memory of the team's last rank, between borders that nobody may touch. No number is aligned.
class TeamBlock {
 public:
  TeamBlock(const Teams& teams, std::size_t bytes) : bytes_(bytes) {
    const int owner = teams.ranks() - 1;
    if (teams.index() == owner) owned_ = allocate(shareable, all_bytes(), border);
    void* mine = nullptr;
    EXPECT_PST(
        PST_Team_memory(owned_, static_cast<MPI_Aint>(all_bytes()), owner, teams.comm(), &mine));
    if (owned_ != nullptr) {
      EXPECT_EQ(mine, owned_);
    }
    mine_ = static_cast<std::byte*>(mine);
  }
  ~TeamBlock() {
    EXPECT_PST(PST_Team_memory_free(mine_));
    if (owned_ != nullptr) free(shareable, owned_);
  }
  TeamBlock(const TeamBlock&) = delete;
  TeamBlock& operator=(const TeamBlock&) = delete;

  std::byte* address() const { return mine_ + before; }
  std::byte* begin() const { return mine_; }
  std::size_t all_bytes() const { return before + bytes_ + 16; }
  static const std::byte* data(const std::vector<std::byte>& all) { return all.data() + before; }
  bool borders_hold(const std::vector<std::byte>& all) const {
    const auto untouched = [](std::byte each) { return each == border; };
    return std::all_of(all.begin(), all.begin() + before, untouched) &&
           std::all_of(all.begin() + static_cast<std::ptrdiff_t>(before + bytes_), all.end(),
                       untouched);
  }

 private:
  static constexpr std::size_t before = 17;
  static constexpr std::byte border{0xa5};
  const std::size_t bytes_;
  std::byte* owned_ = nullptr;
  std::byte* mine_ = nullptr;
};

float team_number(int team, std::size_t index, int epoch) {
  const auto mixed = static_cast<unsigned>(team) * 7919u + static_cast<unsigned>(index) * 31u +
                     static_cast<unsigned>(epoch) * 17u;
  return 1.0f / static_cast<float>(1 + mixed % 1000);
}

float sum_of_teams(int teams, std::size_t index, int epoch) {
  float sum = team_number(0, index, epoch);
  for (int team = 1; team < teams; ++team) sum += team_number(team, index, epoch);
  return sum;
}

template <class Number>
Number load_at(const std::byte* data, std::size_t index) {
  Number number;
  std::copy_n(data + index * sizeof number, sizeof number, reinterpret_cast<std::byte*>(&number));
  return number;
}

// What this rank's stream writes and finds in one epoch.
struct TeamRound {
  std::vector<float> written;
  std::vector<std::byte> found;
  Transfer write, find;
};

// An allreduce of floats of which each rank of a team writes a slice and sees all, epoch after
// epoch, with nothing but the stream's order between.
class TeamSum {
 public:
  TeamSum(const Teams& teams, std::size_t count, bool in_place, const char* algorithm)
      : teams_(teams),
        count_(count),
        in_place_(in_place),
        in_order_(std::string(algorithm) == "two-shot" || teams.count() <= 2),
        in_(teams, count * sizeof(float)),
        out_(teams, count * sizeof(float)) {
    const AlgorithmInfo info(algorithm);
    EXPECT_PST(PST_Team_allreduce_init(in_place ? MPI_IN_PLACE : in_.address(), out_.address(),
                                       static_cast<MPI_Count>(count), MPI_FLOAT, MPI_SUM,
                                       teams.comm(), MPI_COMM_WORLD, info.get(), &sum_));
    EXPECT_PST(PST_Barrier_init(teams.comm(), MPI_INFO_NULL, &seen_));
    EXPECT_PST(PST_Match(&sum_, MPI_STATUS_IGNORE));
    EXPECT_PST(PST_Match(&seen_, MPI_STATUS_IGNORE));
    if (*algorithm != '\0') {
      EXPECT_EQ(this->algorithm(), algorithm);
    }
  }
  ~TeamSum() {
    EXPECT_PST(PST_Request_free(&sum_));
    EXPECT_PST(PST_Request_free(&seen_));
  }
  TeamSum(const TeamSum&) = delete;
  TeamSum& operator=(const TeamSum&) = delete;

  std::string algorithm() const {
    char name[32];
    EXPECT_PST(PST_Request_algorithm(sum_, name, sizeof name));
    return name;
  }
  void run(int epochs) {
    std::vector<TeamRound> rounds(static_cast<std::size_t>(epochs));
    {
      Lane lane;
      for (int epoch = 0; epoch < epochs; ++epoch)
        enqueue(lane, epoch, rounds[static_cast<std::size_t>(epoch)]);
      lane.finish();
    }
    for (int epoch = 0; epoch < epochs; ++epoch)
      check(epoch, rounds[static_cast<std::size_t>(epoch)].found);
    meet();  // in place the last result is the next one's input
  }

 private:
  void enqueue(Lane& lane, int epoch, TeamRound& round) {
    const auto index = static_cast<std::size_t>(teams_.index());
    const auto ranks = static_cast<std::size_t>(teams_.ranks());
    const std::size_t first = count_ * index / ranks, end = count_ * (index + 1) / ranks;
    for (std::size_t i = first; i < end; ++i)
      round.written.push_back(team_number(teams_.number(), i, epoch));
    TeamBlock& source = in_place_ ? out_ : in_;
    round.write = {source.address() + first * sizeof(float),
                   reinterpret_cast<const std::byte*>(round.written.data()),
                   (end - first) * sizeof(float)};
    round.found.resize(out_.all_bytes());
    round.find = {round.found.data(), out_.begin(), out_.all_bytes()};
    if (epoch % 3 == teams_.index() % 3) enqueue_delay(lane, 50);
    enqueue_transfer(lane.stream(), round.write);
    if (epoch % 2 == 0) {
      EXPECT_PST(PST_Enqueue_run(lane.queue(), &sum_));
    } else {
      lane.start(sum_);
      lane.wait(sum_);
    }
    enqueue_transfer(lane.stream(), round.find);
    // What one writes next the others must have seen.
    if (in_place_) EXPECT_PST(PST_Enqueue_run(lane.queue(), &seen_));
  }

  // Bit for bit the serial sum over the teams, or at least the same everywhere.
  void check(int epoch, const std::vector<std::byte>& found) {
    const std::byte* const data = TeamBlock::data(found);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      const float sum = load_at<float>(data, i), serial = sum_of_teams(teams_.count(), i, epoch);
      if (in_order_ ? sum != serial : std::abs(sum - serial) > serial * 1e-5f) ++wrong;
    }
    EXPECT_EQ(wrong, 0u) << teams_.count() << " teams, " << count_ << " numbers, epoch " << epoch;
    EXPECT_TRUE(out_.borders_hold(found));
    std::vector<std::byte> first = found;
    MPI_Bcast(first.data(), static_cast<int>(first.size()), MPI_BYTE, 0, MPI_COMM_WORLD);
    EXPECT_EQ(first, found);
  }

  const Teams& teams_;
  const std::size_t count_;
  const bool in_place_, in_order_;
  TeamBlock in_, out_;
  MPI_Request sum_ = MPI_REQUEST_NULL, seen_ = MPI_REQUEST_NULL;
};

class TeamAllreduce : public ::testing::TestWithParam<const char*> {};

TEST_P(TeamAllreduce, CountsEachTeamOnce) {
  for_each_teams([](const Teams& teams) {
    for (const std::size_t count : block_counts)
      for (const bool in_place : {false, true})
        TeamSum(teams, count, in_place, GetParam()).run(rounds_each);
  });
}

TEST_P(TeamAllreduce, EpochsComeBehindEachOther) {
  for_each_teams([](const Teams& teams) {
    for (const bool in_place : {false, true}) TeamSum(teams, 67, in_place, GetParam()).run(40);
  });
}
INSTANTIATE_TEST_SUITE_P(Teams, TeamAllreduce, ::testing::Values("two-shot", "doubling"));

TEST(TeamAlgorithms, AreChosenByTheBytesOfAChunk) {
  for_each_teams([](const Teams& teams) {
    const auto chunk = static_cast<std::size_t>(teams.ranks());
    EXPECT_EQ(TeamSum(teams, 4096 * chunk, true, "").algorithm(), "doubling");
    const std::size_t more = queue_type == PST_QUEUE_HOST ? 4097 : (std::size_t{4} << 20) + 1;
    EXPECT_EQ(TeamSum(teams, more * chunk, true, "").algorithm(), "two-shot");
  });
}

// Each operation, of integers, whose results have no rounding.
int combine(MPI_Op op, int a, int b) {
  if (op == MPI_SUM) return a + b;
  if (op == MPI_PROD) return a * b;
  if (op == MPI_MIN) return std::min(a, b);
  if (op == MPI_MAX) return std::max(a, b);
  if (op == MPI_LAND) return a != 0 && b != 0 ? 1 : 0;
  if (op == MPI_LOR) return a != 0 || b != 0 ? 1 : 0;
  if (op == MPI_LXOR) return (a != 0) != (b != 0) ? 1 : 0;
  if (op == MPI_BAND) return a & b;
  return op == MPI_BOR ? a | b : a ^ b;
}

TEST(TeamOperations, AreThoseOfAnAllreduce) {
  constexpr int count = 23;
  const auto value = [](int team, int i) { return (team + 1) * (i % 5) - i % 3; };
  for_each_teams([&](const Teams& teams) {
    const TeamBlock in(teams, count * sizeof(int)), out(teams, count * sizeof(int));
    std::vector<int> values(count);
    for (int i = 0; i < count; ++i) values[static_cast<std::size_t>(i)] = value(teams.number(), i);
    if (teams.index() == 0)
      copy_bytes(in.address(), reinterpret_cast<const std::byte*>(values.data()),
                 count * sizeof(int));
    for (const MPI_Op op : {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX, MPI_LAND, MPI_LOR, MPI_LXOR,
                            MPI_BAND, MPI_BOR, MPI_BXOR}) {
      MPI_Request request;
      EXPECT_PST(PST_Team_allreduce_init(in.address(), out.address(), count, MPI_INT, op,
                                         teams.comm(), MPI_COMM_WORLD, MPI_INFO_NULL, &request));
      EXPECT_PST(PST_Match(&request, MPI_STATUS_IGNORE));
      Lane lane;
      EXPECT_PST(PST_Enqueue_run(lane.queue(), &request));
      lane.finish();
      std::vector<std::byte> found(out.all_bytes());
      copy_bytes(found.data(), out.begin(), found.size());
      for (int i = 0; i < count; ++i) {
        int wanted = value(0, i);
        for (int team = 1; team < teams.count(); ++team)
          wanted = combine(op, wanted, value(team, i));
        EXPECT_EQ(load_at<int>(TeamBlock::data(found), static_cast<std::size_t>(i)), wanted) << i;
      }
      EXPECT_TRUE(out.borders_hold(found));
      EXPECT_PST(PST_Request_free(&request));
    }
  });
}

// ---- What is refused, alike on all

class TeamErrors : public ::testing::Test {
 protected:
  void SetUp() override {
    if (size() < 2) GTEST_SKIP() << "needs two ranks";
    MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    memory_ = allocate(shareable, bytes, std::byte{});
  }
  void TearDown() override {
    if (comm_ == MPI_COMM_NULL) return;
    expect_match(MPI_COMM_SELF, comm_, PST_ERROR_NONE, "");
    MPI_Comm_free(&comm_);
    free(shareable, memory_);
  }

  static bool last() { return rank() == size() - 1; }
  void expect_match(MPI_Comm team, MPI_Comm comm, PST_Error kind, const std::string& words) {
    MPI_Request request;
    EXPECT_PST(PST_Team_allreduce_init(MPI_IN_PLACE, memory_, 4, MPI_INT, MPI_SUM, team, comm,
                                       MPI_INFO_NULL, &request));
    const int code = PST_Match(&request, MPI_STATUS_IGNORE);
    EXPECT_EQ(code == MPI_SUCCESS ? PST_ERROR_NONE : kind_of(code), kind) << describe(code);
    if (kind != PST_ERROR_NONE) {
      EXPECT_NE(last_error().find(words), std::string::npos) << last_error();
    }
    EXPECT_PST(PST_Request_free(&request));
  }
  void expect_no_memory(void* base, MPI_Aint size, int owner, void* mine, PST_Error kind,
                        const std::string& words) {
    EXPECT_PST_KIND(PST_Team_memory(base, size, owner, comm_, mine), kind);
    EXPECT_NE(last_error().find(words), std::string::npos) << last_error();
  }

  static constexpr std::size_t bytes = 64;
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::byte* memory_ = nullptr;
};

TEST_F(TeamErrors, TeamsOfDifferentSizes) {
  MPI_Comm team;
  MPI_Comm_split(comm_, rank() == 0 ? 0 : 1, 0, &team);
  if (size() > 2) expect_match(team, comm_, PST_ERROR_ARGUMENT, "all teams are of equal size");
  MPI_Comm_free(&team);
  expect_match(rank() == 0 ? MPI_COMM_SELF : comm_, comm_, PST_ERROR_ARGUMENT,
               "rank 0's team has 1 ranks and that of rank 1 has " + std::to_string(size()));
}

TEST_F(TeamErrors, ATeamThatIsNoPartOfTheCommunicator) {
  MPI_Comm half;
  MPI_Comm_split(comm_, rank() == 0 ? 0 : 1, 0, &half);
  MPI_Comm_set_errhandler(half, MPI_ERRORS_RETURN);
  expect_match(comm_, half, PST_ERROR_ARGUMENT, "its team is no part of the communicator");
  MPI_Comm_free(&half);
}

TEST_F(TeamErrors, NoTeam) {
  expect_match(last() ? MPI_COMM_NULL : MPI_COMM_SELF, comm_, PST_ERROR_ARGUMENT,
               "rank " + std::to_string(size() - 1) + ": its team is MPI_COMM_NULL");
}

// Rank 0 names rank 1, which names rank 2.
TEST_F(TeamErrors, TeamsThatOverlap) {
  if (size() < 4) GTEST_SKIP() << "needs four ranks";
  MPI_Comm pair, next = MPI_COMM_NULL;
  MPI_Comm_split(comm_, rank() / 2, 0, &pair);
  MPI_Comm_split(comm_, (rank() + 1) % 4 / 2, 0, &next);
  expect_match(rank() == 0 ? pair : next, comm_, PST_ERROR_ARGUMENT,
               "rank 0 has rank 1 in its team, which names another team");
  MPI_Comm_free(&pair);
  MPI_Comm_free(&next);
}

TEST_F(TeamErrors, InPlaceOnSomeRanksAlone) {
  MPI_Request request;
  EXPECT_PST(PST_Team_allreduce_init(last() ? MPI_IN_PLACE : memory_ + 32, memory_, 4, MPI_INT,
                                     MPI_SUM, MPI_COMM_SELF, comm_, MPI_INFO_NULL, &request));
  EXPECT_PST_KIND(PST_Match(&request, MPI_STATUS_IGNORE), PST_ERROR_ARGUMENT);
  EXPECT_NE(last_error().find("MPI_IN_PLACE"), std::string::npos) << last_error();
  EXPECT_PST(PST_Request_free(&request));
}

TEST_F(TeamErrors, AnAlgorithmThatNobodyKnows) {
  const AlgorithmInfo info("one-shot");
  MPI_Request request;
  EXPECT_PST(PST_Team_allreduce_init(MPI_IN_PLACE, memory_, 4, MPI_INT, MPI_SUM, MPI_COMM_SELF,
                                     comm_, info.get(), &request));
  EXPECT_PST_KIND(PST_Match(&request, MPI_STATUS_IGNORE), PST_ERROR_UNSUPPORTED);
  EXPECT_NE(last_error().find("there is two-shot, doubling"), std::string::npos) << last_error();
  EXPECT_PST(PST_Request_free(&request));
}

// A mate whose part is gone would be waited for at the team's meeting.
TEST_F(TeamErrors, ARankThatHasFreedItsRequest) {
  if (device_of(1) != device_of(0)) GTEST_SKIP() << "needs all ranks on one device";
  void* mine = nullptr;
  EXPECT_PST(PST_Team_memory(memory_, bytes, 0, comm_, &mine));
  MPI_Request request;
  EXPECT_PST(PST_Team_allreduce_init(MPI_IN_PLACE, mine, 4, MPI_INT, MPI_SUM, comm_, comm_,
                                     MPI_INFO_NULL, &request));
  EXPECT_PST(PST_Match(&request, MPI_STATUS_IGNORE));
  if (last()) EXPECT_PST(PST_Request_free(&request));
  MPI_Barrier(comm_);
  if (!last()) {
    BrokenLane lane;
    int code = PST_Enqueue_run(lane.queue(), &request);
    if (code == MPI_SUCCESS) code = PST_Queue_wait(lane.queue());
    EXPECT_EQ(kind_of(code), PST_ERROR_PEER_FREED) << describe(code);
  }
  MPI_Barrier(comm_);
  if (!last()) EXPECT_PST(PST_Request_free(&request));
  EXPECT_PST(PST_Team_memory_free(mine));
}

TEST_F(TeamErrors, MemoryThatNobodyElseReaches) {
  std::byte* const other = allocate(unshareable, bytes, std::byte{});
  void* mine = this;
  expect_no_memory(other, bytes, 0, &mine, PST_ERROR_UNSUPPORTED, "allocate it with");
  expect_no_memory(memory_, MPI_Aint{1} << 40, 0, &mine, PST_ERROR_UNSUPPORTED, "rank 0: ");
  EXPECT_EQ(mine, this);
  free(unshareable, other);
}

TEST_F(TeamErrors, WhatTheTeamSaysDifferentlyOfItsMemory) {
  void* mine = this;
  expect_no_memory(memory_, last() ? 32 : 64, 0, &mine, PST_ERROR_ARGUMENT,
                   "rank 0 of the team has 64 bytes");
  expect_no_memory(memory_, 64, last() ? 1 : 0, &mine, PST_ERROR_ARGUMENT, "names 0 as the owner");
  expect_no_memory(memory_, 64, last() ? size() : 0, &mine, PST_ERROR_ARGUMENT,
                   "is no rank of the team");
  expect_no_memory(memory_, last() ? -1 : 64, 0, &mine, PST_ERROR_ARGUMENT, "is negative: -1");
  expect_no_memory(nullptr, 64, 0, &mine, PST_ERROR_ARGUMENT, "null pointer");
  expect_no_memory(memory_, 64, 0, last() ? nullptr : &mine, PST_ERROR_ARGUMENT,
                   "mineptr is a null pointer");
  EXPECT_EQ(mine, this);
}

TEST_F(TeamErrors, MemoryThatIsATeamsAlready) {
  void *mine = nullptr, *again = nullptr;
  EXPECT_PST(PST_Team_memory(memory_, bytes, 0, comm_, &mine));
  expect_no_memory(memory_, bytes, 0, &again, PST_ERROR_ARGUMENT, "is a team's already");
  EXPECT_PST(PST_Team_memory_free(mine));
  EXPECT_PST_KIND(PST_Team_memory_free(mine), PST_ERROR_ARGUMENT);
  EXPECT_PST(PST_Team_memory_free(nullptr));
  EXPECT_PST(PST_Team_memory(memory_, bytes, size() - 1, comm_, &again));
  EXPECT_PST(PST_Team_memory_free(again));
}

}  // namespace
}  // namespace penstock::test
