// SPDX-License-Identifier: Apache-2.0
// A write that the target refuses, since it names a region that is not there: both queues of the
// pair report it, with the peer and the tag, and are released; other pairs go on.
#include <gtest/gtest.h>

#include <string>

#include "conformance/one_way.hpp"
#include "network/layer.hpp"

namespace penstock::test {
namespace {

using network::faults;

constexpr int tag = 29;

void enqueue_start(Lane& lane, MPI_Request& request) {
  EXPECT_PST(PST_Enqueue_start(lane.queue(), &request));
}

// The stream goes on after the wait that has failed.
void expect_failure(Lane& lane, MPI_Request& request, PST_Error kind, const std::string& part) {
  const int code = PST_Enqueue_wait(lane.queue(), &request);
  EXPECT_EQ(code == MPI_SUCCESS ? kind : kind_of(code), kind) << describe(code);
  Counter passed;
  lane.launch(Counter::raise, &passed);
  EXPECT_PST_KIND(PST_Queue_wait(lane.queue()), kind);
  EXPECT_EQ(passed.count, 1);
  for (const std::string& expected :
       {part, "rank " + std::to_string(partner()), "tag " + std::to_string(tag)})
    EXPECT_NE(last_error().find(expected), std::string::npos) << last_error();
  EXPECT_PST_KIND(PST_Enqueue_start(lane.queue(), &request), kind);
}

void expect_refused(std::size_t bytes, Kind kind) {
  Sender sender(bytes, Memory::ordinary, 1);
  Receiver receiver(bytes, Memory::ordinary, 1);
  if (rank() == 0)
    sender.init(kind, 1, tag);
  else
    receiver.init(0, tag);
  match_all({rank() == 0 ? &sender.request() : &receiver.request()});
  BrokenLane lane;
  // The receive is started before the sender gives the pair up, or its start would be refused.
  if (rank() == 1) enqueue_start(lane, receiver.request());
  meet();
  if (rank() == 0) {
    faults().wrong_keys = true;
    enqueue_start(lane, sender.request());
    expect_failure(lane, sender.request(), PST_ERROR_TRANSPORT, "the network (");
    faults().wrong_keys = false;
  } else {
    expect_failure(lane, receiver.request(), PST_ERROR_PEER_FREED, "given up");
  }
  meet();
}

void run_beside(OneWay& pair, int& epochs) {
  for (int epoch = 0; epoch < 20; ++epoch, ++epochs) {
    pair.start_receive();
    pair.start_send();
    pair.wait_receive();
    pair.wait_send();
  }
  pair.finish_send();
  pair.finish_receive();
  pair.expect_good(static_cast<std::uint64_t>(epochs));
}

class RefusedWrite : public ::testing::TestWithParam<long> {
 protected:
  void TearDown() override {
    faults().wrong_keys = false;
    faults().entries = network::plenty;
  }
};

// The write is the provider's own, deferred, or one that the library issues for want of entries.
std::string name_of(const ::testing::TestParamInfo<long>& tested) {
  return tested.param == 0 ? "Issued" : "Deferred";
}
INSTANTIATE_TEST_SUITE_P(, RefusedWrite, ::testing::Values(network::plenty, 0), name_of);

TEST_P(RefusedWrite, IsReportedWithPeerAndTagAndReleasesBothQueues) {
  ASSERT_EQ(size(), 2);
  faults().entries = GetParam();
  OneWay beside({.bytes = 1000});
  int epochs = 0;
  run_beside(beside, epochs);
  for (const Kind kind : {Kind::standard, Kind::synchronous, Kind::ready})
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{8}, std::size_t{50000}}) {
      SCOPED_TRACE(std::string(name(kind)) + ", " + std::to_string(bytes));
      expect_refused(bytes, kind);
      run_beside(beside, epochs);
    }
}

}  // namespace
}  // namespace penstock::test
