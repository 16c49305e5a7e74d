// SPDX-License-Identifier: Apache-2.0
// Q15 at length: two groups of processes with an intercommunicator between them, halves of
// MPI_COMM_WORLD or a program and those that it has spawned. The program starts two of itself, and
// both sides run the same cases.
#include <filesystem>
#include <string>

#include "conformance/enqueued.hpp"

namespace penstock::test {
namespace {

constexpr int children = 2;

bool is_child() {
  static const bool value = [] {
    MPI_Comm parent;
    MPI_Comm_get_parent(&parent);
    return parent != MPI_COMM_NULL;
  }();
  return value;
}

MPI_Comm spawn() {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  char quiet[] = "--gtest_brief=1";
  char* arguments[] = {quiet, nullptr};
  MPI_Comm result = MPI_COMM_NULL;
  const int code = MPI_Comm_spawn(program.c_str(), arguments, children, MPI_INFO_NULL, 0,
                                  MPI_COMM_WORLD, &result, MPI_ERRCODES_IGNORE);
  return code == MPI_SUCCESS ? result : MPI_COMM_NULL;
}

// Between parents and children; MPI_COMM_NULL where this MPI starts no processes, as MPICH 4.0 over
// UCX does not.
MPI_Comm family() {
  static const MPI_Comm value = [] {
    MPI_Comm parent = MPI_COMM_NULL;
    if (is_child()) MPI_Comm_get_parent(&parent);
    return is_child() ? parent : spawn();
  }();
  return value;
}

// Between odd and even ranks of MPI_COMM_WORLD; MPI_COMM_NULL where there are none of a kind.
MPI_Comm halves() {
  static const MPI_Comm value = [] {
    if (size() < 2) return MPI_COMM_NULL;
    MPI_Comm half, result;
    MPI_Comm_split(MPI_COMM_WORLD, rank() % 2, rank(), &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank() % 2, 12, &result);
    MPI_Comm_free(&half);
    return result;
  }();
  return value;
}

// This process and those of the other side.
struct Sides {
  MPI_Comm comm;
  bool second;
  int mine = 0, others = 0;

  Sides(MPI_Comm inter, bool is_second) : comm(inter), second(is_second) {
    MPI_Comm_rank(comm, &mine);
    MPI_Comm_remote_size(comm, &others);
  }
};

// Spawned processes draw another seed, so it is no part of this.
std::uint64_t key(bool second, int from, int to) {
  return (second ? 1000000u : 0u) + static_cast<std::uint64_t>(1000 * from + to);
}

struct Message {
  const Sides& sides;
  int other;
  std::uint64_t number;
  Bytes out, in;
  std::string wrong = "not looked at";

  Message(const Sides& both, int with, std::size_t bytes, std::uint64_t its_number)
      : sides(both), other(with), number(its_number), out(bytes), in(bytes) {
    fill_pattern(out.data(), bytes, key(sides.second, sides.mine, other), number);
  }
  static void look(void* message) {
    auto& self = *static_cast<Message*>(message);
    self.wrong = check_pattern(self.in.data(), self.in.size(),
                               key(!self.sides.second, self.other, self.sides.mine), self.number);
  }
};

// `each` messages of every size to and from each of the others.
std::vector<Message> messages_with_all(const Sides& sides, int each) {
  std::vector<Message> result;
  std::uint64_t number = 0;
  for (const std::size_t bytes : enqueued_sizes())
    for (int i = 0; i < each; ++i, ++number)
      for (int other = 0; other < sides.others; ++other)
        result.emplace_back(sides, other, bytes, number);
  return result;
}

void expect_good(const std::vector<Message>& messages) {
  for (const Message& each : messages)
    EXPECT_EQ(each.wrong, "") << each.in.size() << " bytes from " << each.other;
}

void every_size_both_ways(const Sides& sides) {
  EnqueueLane lane(sides.comm);
  std::vector<Message> messages = messages_with_all(sides, 1);
  for (Message& each : messages) {
    lane.receive(each.in, each.other, 1);
    lane.send(each.out, each.other, 1);
    lane.trigger();
    lane.wait();
    lane.launch(Message::look, &each);
  }
  lane.finish();
  expect_good(messages);
}

void bundles_before_one_wait(const Sides& sides) {
  EnqueueLane lane(sides.comm);
  std::vector<Message> messages = messages_with_all(sides, 4);
  std::vector<MPI_Request> requests(messages.size());
  for (std::size_t i = 0; i < messages.size(); ++i) {
    lane.send(messages[i].out, messages[i].other, 2);
    lane.receive(messages[i].in, messages[i].other, 2, &requests[i]);
    if (i % 5 == 4) lane.trigger();
  }
  lane.trigger();
  lane.wait();
  for (Message& each : messages) lane.launch(Message::look, &each);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    MPI_Status status;
    EXPECT_PST(MPI_Wait(&requests[i], &status));
    expect_status(status, messages[i].other, 2, messages[i].in.size());
  }
  lane.finish();
  expect_good(messages);
}

void exchange_plainly(std::vector<Message>& messages) {
  const auto bytes = [](const Bytes& all) { return static_cast<int>(all.size()); };
  for (Message& each : messages)
    MPI_Recv(each.in.data(), bytes(each.in), MPI_BYTE, each.other, 3, each.sides.comm,
             MPI_STATUS_IGNORE);
  for (Message& each : messages)
    MPI_Send(each.out.data(), bytes(each.out), MPI_BYTE, each.other, 4, each.sides.comm);
}

// Each side has its turn with MPI's own calls.
void plain_calls_at_the_other_end(const Sides& sides) {
  for (const bool second_enqueues : {false, true}) {
    std::vector<Message> messages = messages_with_all(sides, 1);
    if (sides.second == second_enqueues) {
      EnqueueLane lane(sides.comm);
      for (Message& each : messages) lane.send(each.out, each.other, 3);
      for (Message& each : messages) lane.receive(each.in, each.other, 4);
      lane.trigger();
      lane.finish();
    } else {
      exchange_plainly(messages);
    }
    for (Message& each : messages) Message::look(&each);
    expect_good(messages);
  }
}

void every_program(const Sides& sides) {
  every_size_both_ways(sides);
  bundles_before_one_wait(sides);
  plain_calls_at_the_other_end(sides);
}

TEST(Intercommunicator, Q15_HalvesOfTheWorld) {
  if (halves() == MPI_COMM_NULL) return;
  every_program({halves(), rank() % 2 == 1});
}

class Spawned : public ::testing::Test {
  void SetUp() override {
#ifdef OPEN_MPI
    ASSERT_NE(family(), MPI_COMM_NULL);
#endif
    if (family() == MPI_COMM_NULL) GTEST_SKIP() << "this MPI starts no processes";
  }
};

TEST_F(Spawned, Q15_ParentsAndChildren) {
  every_program({family(), is_child()});
}

// A promise is for processes of one MPI_COMM_WORLD: all members are told, and MPI goes on matching.
TEST_F(Spawned, Q16_APromiseIsRefusedAndMessagesStay) {
  EXPECT_PST_KIND(PST_Comm_enqueue_only(family()), PST_ERROR_COMMUNICATOR);
  MPI_Comm both;
  MPI_Intercomm_merge(family(), is_child(), &both);
  MPI_Comm_set_errhandler(both, MPI_ERRORS_RETURN);
  EXPECT_PST_KIND(PST_Comm_enqueue_only(both), PST_ERROR_COMMUNICATOR);
  EXPECT_NE(last_error().find("PST_Comm_enqueue_only"), std::string::npos) << last_error();
  int members = 0, mine = 0;
  MPI_Comm_size(both, &members);
  MPI_Comm_rank(both, &mine);
  const int next = (mine + 1) % members, previous = (mine + members - 1) % members;
  {
    EnqueueLane lane(both);
    int in = -1;
    EXPECT_PST(PST_Enqueue_send(&mine, 1, MPI_INT, next, 5, MPI_COMM_NULL, lane.queue(), nullptr));
    EXPECT_PST(
        PST_Enqueue_recv(&in, 1, MPI_INT, previous, 5, MPI_COMM_NULL, lane.queue(), nullptr));
    lane.trigger();
    lane.finish();
    EXPECT_EQ(in, previous);
  }
  MPI_Comm_free(&both);
}

// Both sides have a rank 0 on this host: their shared memory is each side's own.
TEST_F(Spawned, Q16_EachSideMayPromiseWithinItsWorld) {
  MPI_Comm promised;
  MPI_Comm_dup(MPI_COMM_WORLD, &promised);
  ASSERT_PST(PST_Comm_enqueue_only(promised));
  for (const std::size_t bytes : enqueued_sizes()) {
    EnqueueLane lane(promised);
    const Bytes out = message(bytes, rank(), bytes);
    Bytes in(bytes);
    lane.receive(in, previous_rank(), 6);
    lane.send(out, next_rank(), 6);
    lane.trigger();
    lane.finish();
    expect_message(in, previous_rank(), bytes);
  }
  MPI_Comm_free(&promised);
}

class Apart : public ::testing::Environment {
  void TearDown() override {
    for (MPI_Comm comm : {halves(), family()})
      if (comm != MPI_COMM_NULL) MPI_Comm_disconnect(&comm);
  }
};
[[maybe_unused]] const auto* const apart = ::testing::AddGlobalTestEnvironment(new Apart);

}  // namespace
}  // namespace penstock::test
