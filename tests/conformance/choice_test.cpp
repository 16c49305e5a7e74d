// SPDX-License-Identifier: Apache-2.0
// Each pair takes the best transport that both its ends can use, and the log says why not a better
// one. Runs with all transports allowed, at MPI_THREAD_MULTIPLE, with PENSTOCK_LOG=info in a file
// of each process.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "support/endpoint.hpp"
#include "support/environment.hpp"

namespace penstock::test {
namespace {

constexpr int rows = 50, columns = 7;

class Choice : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(std::getenv("PENSTOCK_LOG_FILE"), nullptr) << "run it by ctest";
    int level = MPI_THREAD_SINGLE;
    MPI_Query_thread(&level);
    if (level != MPI_THREAD_MULTIPLE) GTEST_SKIP() << "this MPI gives no MPI_THREAD_MULTIPLE";
    MPI_Type_vector(rows, 1, columns, MPI_INT, &column_);
    MPI_Type_commit(&column_);
    for (int i = 0; i < rows * columns; ++i) out_[i] = 1000 * rank() + i;
    in_.fill(-1);
  }
  void TearDown() override {
    if (column_ != MPI_DATATYPE_NULL) MPI_Type_free(&column_);
    for (MPI_Request& request : requests_)
      if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  }

  void send(int count, MPI_Datatype type, int tag) {
    MPI_Send_init(out_.data(), count, type, next_rank(), tag, MPI_COMM_WORLD,
                  &requests_.emplace_back());
  }
  void receive(int count, MPI_Datatype type, int tag) {
    MPI_Recv_init(in_.data(), count, type, previous_rank(), tag, MPI_COMM_WORLD,
                  &requests_.emplace_back());
  }
  void match_and_run() {
    const int count = static_cast<int>(requests_.size());
    ASSERT_PST(PST_Matchall(count, requests_.data(), MPI_STATUSES_IGNORE));
    Lane lane;
    EXPECT_PST(PST_Enqueue_startall(lane.queue(), count, requests_.data()));
    EXPECT_PST(PST_Enqueue_waitall(lane.queue(), count, requests_.data()));
    lane.finish();
  }
  // Both halves agree.
  void expect_transport(const std::string& name) {
    for (const MPI_Request& request : requests_) EXPECT_EQ(transport_of(request), name);
  }

  static void TearDownTestSuite() { std::remove(log_file().c_str()); }
  static std::string log_file() {
    std::string path = std::getenv("PENSTOCK_LOG_FILE");
    return path.replace(path.find("%p"), 2, std::to_string(getpid()));
  }
  // This process's line for the pair with this tag.
  static std::string line_of(const std::string& verb, int tag) {
    std::ifstream file(log_file());
    std::string found;
    for (std::string line; std::getline(file, line);)
      if (line.find(verb) != std::string::npos &&
          line.find("tag " + std::to_string(tag) + ",") != std::string::npos)
        found = line;
    return found;
  }

  MPI_Datatype column_ = MPI_DATATYPE_NULL;
  std::array<int, rows * columns> out_{}, in_{};
  std::vector<MPI_Request> requests_;
};

TEST_F(Choice, ContiguousMessagesWithinAHostTakePeer) {
  send(rows, MPI_INT, 31);
  receive(rows, MPI_INT, 31);
  match_and_run();
  expect_transport("peer");
  for (int i = 0; i < rows; ++i) EXPECT_EQ(in_[i], 1000 * previous_rank() + i);
  for (const char* verb : {"send to", "receive from"}) {
    const std::string line = line_of(verb, 31);
    EXPECT_NE(line.find(": peer ("), std::string::npos) << line;
    EXPECT_EQ(line.find("; not "), std::string::npos) << line;
  }
}

TEST_F(Choice, AScatteredReceiveTakesPeerToo) {
  send(rows, MPI_INT, 32);
  receive(1, column_, 32);
  match_and_run();
  expect_transport("peer");
  for (int i = 0; i < rows * columns; ++i)
    EXPECT_EQ(in_[i], i % columns == 0 ? 1000 * previous_rank() + i / columns : -1)
        << "element " << i;
}

// Ranks with an odd number may use proxy alone: a run of its own.
using UnevenChoice = Choice;

TEST_F(UnevenChoice, WhereOneEndHasNoPeerBothTakeProxyAndSayWhy) {
  send(1, column_, 33);
  receive(rows, MPI_INT, 33);
  match_and_run();
  expect_transport("proxy");
  for (int i = 0; i < rows; ++i) EXPECT_EQ(in_[i], 1000 * previous_rank() + i * columns);
  for (const char* verb : {"send to", "receive from"}) {
    const std::string why = rank() % 2 == 1 ? "; not peer (here: " : "; not peer (";
    EXPECT_NE(line_of(verb, 33).find(why), std::string::npos) << line_of(verb, 33);
  }
}

TEST_F(UnevenChoice, PairsOfOneCallChooseEachForThemselves) {
  int own = -1;
  MPI_Send_init(out_.data(), 1, MPI_INT, rank(), 34, MPI_COMM_WORLD, &requests_.emplace_back());
  MPI_Recv_init(&own, 1, MPI_INT, rank(), 34, MPI_COMM_WORLD, &requests_.emplace_back());
  send(1, column_, 35);
  receive(1, column_, 35);
  match_and_run();
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(transport_of(requests_[i]), rank() % 2 == 1 ? "proxy" : "peer");
  for (int i = 2; i < 4; ++i) EXPECT_EQ(transport_of(requests_[i]), "proxy");
  EXPECT_EQ(own, 1000 * rank());
  for (int i = 0; i < rows; ++i) EXPECT_EQ(in_[i * columns], 1000 * previous_rank() + i * columns);
}

}  // namespace
}  // namespace penstock::test
