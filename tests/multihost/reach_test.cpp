// SPDX-License-Identifier: Apache-2.0
// Ranks that share memory take `peer`, all others what PENSTOCK_TEST_ACROSS names: found out by the
// library, whatever the hosts are called and however they count their processes. Which ranks share
// memory tells PENSTOCK_TEST_MEMORY.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "support/endpoint.hpp"
#include "support/environment.hpp"
#include "support/program.hpp"

namespace penstock::test {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// What every rank's PENSTOCK_TEST_MEMORY says.
std::vector<std::string> memories() {
  using Name = std::array<char, 64>;
  Name own{};
  std::snprintf(own.data(), own.size(), "%s", variable("PENSTOCK_TEST_MEMORY").c_str());
  std::vector<Name> all(static_cast<std::size_t>(size()));
  MPI_Allgather(own.data(), static_cast<int>(own.size()), MPI_CHAR, all.data(),
                static_cast<int>(own.size()), MPI_CHAR, MPI_COMM_WORLD);
  std::vector<std::string> names;
  for (const Name& name : all) names.emplace_back(name.data());
  return names;
}

// Both ends of this rank's messages with another.
struct Exchange {
  Sender sender;
  Receiver receiver;
  Exchange(int other, std::size_t bytes, Memory memory, int tag)
      : sender(bytes, memory, sequence_key(rank(), other, tag)),
        receiver(bytes, memory, sequence_key(other, rank(), tag)) {
    sender.init(Kind::standard, other, tag);
    receiver.init(other, tag);
  }
};

class Reach : public ::testing::TestWithParam<Memory> {
 protected:
  void SetUp() override {
    ASSERT_NE(variable("PENSTOCK_TEST_MEMORY"), "") << "run it by ctest";
    ASSERT_NE(variable("PENSTOCK_TEST_ACROSS"), "") << "run it by ctest";
    ASSERT_EQ(variable("PENSTOCK_TRANSPORT"), "") << "the library is to choose";
  }
};

// Every rank with every rank, itself among them.
TEST_P(Reach, EveryPairTakesTheBestTransportItHas) {
  const std::vector<std::string> memory = memories();
  const std::string& mine = memory[static_cast<std::size_t>(rank())];
  constexpr std::uint64_t epochs = 20;
  for (const std::size_t bytes : protocol_sizes()) {
    std::vector<std::unique_ptr<Exchange>> exchanges;
    std::vector<MPI_Request*> requests;
    for (int other = 0; other < size(); ++other) {
      auto& exchange =
          *exchanges.emplace_back(std::make_unique<Exchange>(other, bytes, GetParam(), 7));
      requests.insert(requests.end(), {&exchange.sender.request(), &exchange.receiver.request()});
    }
    match_all(requests);
    for (std::size_t other = 0; other < exchanges.size(); ++other) {
      const std::string expected =
          memory[other] == mine ? "peer" : variable("PENSTOCK_TEST_ACROSS");
      EXPECT_EQ(transport_of(exchanges[other]->sender.request()), expected)
          << bytes << " bytes to rank " << other;
      EXPECT_EQ(transport_of(exchanges[other]->receiver.request()), expected)
          << bytes << " bytes from rank " << other;
      if (rank() == 0 && bytes == 8)
        std::printf("rank 0 on %s, rank %zu on %s: %s\n", mine.c_str(), other,
                    memory[other].c_str(), expected.c_str());
    }
    Lane lane;
    for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
      for (const auto& exchange : exchanges) {
        exchange->receiver.enqueue_start(lane);
        exchange->sender.enqueue_start(lane);
      }
      for (const auto& exchange : exchanges) {
        exchange->sender.enqueue_wait(lane);
        exchange->receiver.enqueue_wait(lane);
      }
    }
    lane.finish();
    for (const auto& exchange : exchanges) {
      exchange->receiver.expect_good(epochs);
      exchange->sender.free();
      exchange->receiver.free();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Memory, Reach, ::testing::Values(Memory::ordinary, Memory::allocated),
                         [](const auto& param) { return std::string(name(param.param)); });

}  // namespace
}  // namespace penstock::test
