// SPDX-License-Identifier: Apache-2.0
// Bags: what is refused, on which end, and what is left behind a failure.
#include "conformance/bag.hpp"

#include <array>
#include <string>

namespace penstock::test {
namespace {

int bag_init(void* buffer, int slots, MPI_Count elements, const std::vector<int>& sources,
             MPI_Request* bag, int tag = 0, MPI_Datatype type = MPI_UINT64_T) {
  return PST_Bag_recv_init(buffer, slots, elements, type, static_cast<int>(sources.size()),
                           sources.data(), tag, MPI_COMM_WORLD, MPI_INFO_NULL, bag);
}
int source_init(int slots, MPI_Count elements, int receiver, MPI_Request* bag, int tag = 0) {
  return PST_Bag_send_init(slots, elements, MPI_UINT64_T, receiver, tag, MPI_COMM_WORLD,
                           MPI_INFO_NULL, bag);
}

TEST(BagErrors, OfTheInitCalls) {
  std::array<std::uint64_t, 8> slots{};
  MPI_Request bag = MPI_REQUEST_NULL;
  EXPECT_PST_KIND(bag_init(slots.data(), 1, 1, {0}, nullptr), PST_ERROR_ARGUMENT);
  EXPECT_PST_KIND(bag_init(nullptr, 1, 1, {0}, &bag), PST_ERROR_ARGUMENT);
  EXPECT_PST_KIND(bag_init(slots.data(), 0, 1, {0}, &bag), PST_ERROR_ARGUMENT);
  EXPECT_PST_KIND(bag_init(slots.data(), 1, -1, {0}, &bag), PST_ERROR_ARGUMENT);
  EXPECT_PST_KIND(bag_init(slots.data(), 1, 1, {}, &bag), PST_ERROR_ARGUMENT);
  EXPECT_PST_KIND(bag_init(slots.data(), 1, 1, {0, 0}, &bag), PST_ERROR_ARGUMENT);
  EXPECT_PST_KIND(bag_init(slots.data(), 1, 1, {MPI_PROC_NULL}, &bag), PST_ERROR_ARGUMENT);
  EXPECT_PST_KIND(source_init(-1, 1, 0, &bag), PST_ERROR_ARGUMENT);
  EXPECT_PST_KIND(source_init(1, 1, 0, nullptr), PST_ERROR_ARGUMENT);
  MPI_Datatype gaps = MPI_DATATYPE_NULL;
  MPI_Type_vector(2, 1, 2, MPI_INT, &gaps);
  MPI_Type_commit(&gaps);
  EXPECT_PST_KIND(bag_init(slots.data(), 1, 1, {0}, &bag, 0, gaps), PST_ERROR_UNSUPPORTED);
  MPI_Type_free(&gaps);
  EXPECT_EQ(bag, MPI_REQUEST_NULL);
}

TEST(BagErrors, NoBagNoCall) {
  Lane lane;
  MPI_Request message = MPI_REQUEST_NULL, source = MPI_REQUEST_NULL;
  std::uint64_t value = 0;
  PST_Grabbed grabbed{};
  MPI_Send_init(&value, 1, MPI_UINT64_T, rank(), 0, MPI_COMM_WORLD, &message);
  EXPECT_PST_KIND(PST_Bag_put(lane.queue(), message, &value, 1), PST_ERROR_ARGUMENT);
  EXPECT_PST_KIND(PST_Bag_grab(lane.queue(), message, &grabbed), PST_ERROR_ARGUMENT);
  EXPECT_PST_KIND(PST_Bag_grab(lane.queue(), MPI_REQUEST_NULL, &grabbed), PST_ERROR_REQUEST);
  ASSERT_PST(source_init(1, 1, rank(), &source));
  EXPECT_PST_KIND(PST_Bag_put(PST_QUEUE_NULL, source, &value, 1), PST_ERROR_QUEUE);
  EXPECT_PST_KIND(PST_Bag_put(lane.queue(), source, &value, 1), PST_ERROR_NOT_MATCHED);
  EXPECT_PST_KIND(PST_Bag_grab(lane.queue(), source, &grabbed), PST_ERROR_ARGUMENT);
  EXPECT_PST_KIND(PST_Channel_put(lane.queue(), source, 0, 1), PST_ERROR_ARGUMENT);
  EXPECT_PST(PST_Request_free(&source));
  PST_Request_free(&message);
}

TEST(BagErrors, ToNobody) {
  Lane lane;
  MPI_Request source = MPI_REQUEST_NULL;
  std::uint64_t value = 0;
  ASSERT_PST(source_init(1, 1, MPI_PROC_NULL, &source));
  ASSERT_PST(PST_Match(&source, MPI_STATUS_IGNORE));
  for (int n = 0; n < 3; ++n) EXPECT_PST(PST_Bag_put(lane.queue(), source, &value, 1));
  lane.finish();
  EXPECT_PST(PST_Request_free(&source));
}

// Of a rank's own bag both ends are here: what one of them is told, the other is, too.
void expect_no_match(PST_Error kind, MPI_Request bag, MPI_Request source) {
  MPI_Request ends[] = {bag, source};
  EXPECT_PST_KIND(PST_Matchall(2, ends, MPI_STATUSES_IGNORE), kind);
  for (MPI_Request& end : ends) {
    int flag = 1;
    EXPECT_PST(PST_Is_matched(end, &flag));
    EXPECT_EQ(flag, 0);
    EXPECT_PST(PST_Request_free(&end));
  }
}

TEST(BagErrors, EndsThatDiffer) {
  std::array<std::uint64_t, 8> slots{};
  const auto differ = [&](int count, MPI_Count elements) {
    MPI_Request bag = MPI_REQUEST_NULL, source = MPI_REQUEST_NULL;
    ASSERT_PST(bag_init(slots.data(), 2, 3, {rank()}, &bag));
    ASSERT_PST(source_init(count, elements, rank(), &source));
    expect_no_match(PST_ERROR_ARGUMENT, bag, source);
  };
  differ(3, 3);
  differ(2, 2);
  MPI_Request bag = MPI_REQUEST_NULL, channel = MPI_REQUEST_NULL;
  ASSERT_PST(bag_init(slots.data(), 2, 3, {rank()}, &bag));
  ASSERT_PST(PST_Channel_send_init(slots.data(), 6, MPI_UINT64_T, 3, rank(), 0, MPI_COMM_WORLD,
                                   MPI_INFO_NULL, &channel));
  expect_no_match(PST_ERROR_ARGUMENT, bag, channel);
}

TEST(BagErrors, MatchedAgainWithTheRightEnd) {
  if (!has_bags()) GTEST_SKIP() << "bags go by peer alone";
  std::uint64_t slot = 0;
  const std::uint64_t value = 11;
  MPI_Request ends[2];
  ASSERT_PST(bag_init(&slot, 1, 1, {rank()}, &ends[0]));
  ASSERT_PST(source_init(2, 1, rank(), &ends[1]));
  EXPECT_PST_KIND(PST_Matchall(2, ends, MPI_STATUSES_IGNORE), PST_ERROR_ARGUMENT);
  EXPECT_PST(PST_Request_free(&ends[1]));
  ASSERT_PST(source_init(1, 1, rank(), &ends[1]));
  ASSERT_PST(PST_Matchall(2, ends, MPI_STATUSES_IGNORE));
  {
    Lane lane;
    PST_Grabbed grabbed{};
    EXPECT_PST(PST_Bag_put(lane.queue(), ends[1], &value, 1));
    EXPECT_PST(PST_Bag_grab(lane.queue(), ends[0], &grabbed));
    lane.finish();
    EXPECT_EQ(slot, value);
  }
  for (MPI_Request& end : ends) EXPECT_PST(PST_Request_free(&end));
}

TEST(BagErrors, OtherTransports) {
  if (has_bags()) GTEST_SKIP() << "peer is allowed, and serves bags";
  std::array<std::uint64_t, 2> slots{};
  MPI_Request bag = MPI_REQUEST_NULL, source = MPI_REQUEST_NULL;
  ASSERT_PST(bag_init(slots.data(), 2, 1, {rank()}, &bag));
  ASSERT_PST(source_init(2, 1, rank(), &source));
  expect_no_match(PST_ERROR_TRANSPORT, bag, source);
}

// A bag of this rank alone.
class OwnBag {
 public:
  OwnBag() {
    EXPECT_PST(bag_init(slots_.data(), 2, 2, {rank()}, &bag, 5));
    EXPECT_PST(source_init(2, 2, rank(), &source, 5));
    MPI_Request ends[] = {bag, source};
    EXPECT_PST(PST_Matchall(2, ends, MPI_STATUSES_IGNORE));
  }
  ~OwnBag() {
    for (MPI_Request* const end : {&bag, &source})
      if (*end != MPI_REQUEST_NULL) EXPECT_PST(PST_Request_free(end));
  }
  MPI_Request bag = MPI_REQUEST_NULL, source = MPI_REQUEST_NULL;
  const std::uint64_t values[3] = {1, 2, 3};

 private:
  std::array<std::uint64_t, 4> slots_{};
};

TEST(BagErrors, MoreThanASlotHolds) {
  if (!has_bags()) GTEST_SKIP() << "bags go by peer alone";
  OwnBag own;
  Lane lane;
  EXPECT_PST_KIND(PST_Bag_put(lane.queue(), own.source, own.values, 3), PST_ERROR_ARGUMENT);
  EXPECT_PST_KIND(PST_Bag_put(lane.queue(), own.source, own.values, -1), PST_ERROR_ARGUMENT);
  EXPECT_PST_KIND(PST_Bag_put(lane.queue(), own.source, nullptr, 1), PST_ERROR_ARGUMENT);
  EXPECT_PST_KIND(PST_Bag_grab(lane.queue(), own.bag, nullptr), PST_ERROR_ARGUMENT);
  EXPECT_PST(PST_Bag_put(lane.queue(), own.source, nullptr, 0));
  PST_Grabbed grabbed{};
  EXPECT_PST(PST_Bag_grab(lane.queue(), own.bag, &grabbed));
  lane.finish();
  EXPECT_EQ(grabbed.count, 0);
  EXPECT_EQ(grabbed.rank, rank());
  EXPECT_EQ(grabbed.slot, 0);
}

TEST(BagErrors, CallsOfMessages) {
  if (!has_bags()) GTEST_SKIP() << "bags go by peer alone";
  OwnBag own;
  Lane lane;
  for (MPI_Request* const end : {&own.bag, &own.source})
    EXPECT_PST_KIND(PST_Enqueue_start(lane.queue(), end), PST_ERROR_UNSUPPORTED);
}

void expect_release_fails(PST_Grabbed wrong) {
  OwnBag own;
  BrokenLane grabbing, putting;
  EXPECT_PST(PST_Bag_release(grabbing.queue(), own.bag, &wrong));
  EXPECT_PST_KIND(PST_Queue_wait(grabbing.queue()), PST_ERROR_NOT_STARTED);
  // The source has the bag's end, and later calls say why.
  PST_Grabbed grabbed{};
  EXPECT_PST_KIND(PST_Bag_grab(putting.queue(), own.bag, &grabbed), PST_ERROR_NOT_STARTED);
  EXPECT_PST(PST_Bag_put(putting.queue(), own.source, own.values, 1));
  EXPECT_PST_KIND(PST_Queue_wait(putting.queue()), PST_ERROR_PEER_FREED);
}

TEST(BagErrors, ReleaseOfWhatWasNotGrabbed) {
  if (!has_bags()) GTEST_SKIP() << "bags go by peer alone";
  for (const int slot : {0, -1, 2}) expect_release_fails({slot, rank(), 1});
}

TEST(BagErrors, FreedSource) {
  if (!has_bags()) GTEST_SKIP() << "bags go by peer alone";
  OwnBag own;
  BrokenLane lane;
  EXPECT_PST(PST_Bag_put(lane.queue(), own.source, own.values, 2));
  lane.finish();
  EXPECT_PST(PST_Request_free(&own.source));
  PST_Grabbed there{}, missing{};
  EXPECT_PST(PST_Bag_grab(lane.queue(), own.bag, &there));
  lane.finish();
  EXPECT_EQ(there.count, 2);
  EXPECT_PST(PST_Bag_grab(lane.queue(), own.bag, &missing));
  EXPECT_PST_KIND(PST_Queue_wait(lane.queue()), PST_ERROR_PEER_FREED);
  EXPECT_EQ(missing.slot, -1);
  EXPECT_NE(last_error().find("rank " + std::to_string(rank())), std::string::npos) << last_error();
}

// What each has put is grabbed, and the others go on; behind the last one nothing can come.
TEST(BagErrors, SourcesThatEndOneByOne) {
  if (!has_bags()) GTEST_SKIP() << "bags go by peer alone";
  TestBag bag(2, true);
  BrokenLane grabbing;
  Grabs grabs;
  PST_Grabbed missing{};
  std::size_t all = 0;
  for (int source = 0; rank() == 0 && source < size(); ++source)
    for (int message = 0; message <= source; ++message, ++all) bag.grab(grabbing, grabs);
  if (rank() == 0) EXPECT_PST(PST_Bag_grab(grabbing.queue(), bag.bag(), &missing));
  Lane lane;
  for (int message = 0; message <= rank(); ++message)
    bag.put(lane, static_cast<std::uint64_t>(message));
  lane.finish();
  bag.free_source();
  if (rank() == 0) {
    EXPECT_PST_KIND(PST_Queue_wait(grabbing.queue()), PST_ERROR_PEER_FREED);
    EXPECT_EQ(grabs.messages.size(), all);
    EXPECT_EQ(grabs.wrong, 0u);
    EXPECT_EQ(missing.slot, -1);
  }
  meet();
}

TEST(BagErrors, FreedBag) {
  if (!has_bags()) GTEST_SKIP() << "bags go by peer alone";
  OwnBag own;
  BrokenLane lane;
  EXPECT_PST(PST_Request_free(&own.bag));
  EXPECT_PST(PST_Bag_put(lane.queue(), own.source, own.values, 2));
  EXPECT_PST_KIND(PST_Queue_wait(lane.queue()), PST_ERROR_PEER_FREED);
}

// Freed at any moment of a put: what is under way is waited for, and none is begun.
TEST(BagErrors, NothingComesIntoTheSlotsOfABagThatIsFreed) {
  if (!has_bags()) GTEST_SKIP() << "bags go by peer alone";
  if (size() != 2) GTEST_SKIP() << "needs two ranks";
  constexpr int slots = 2, source = 1;
  constexpr std::size_t count = 500000;
  auto random = generator(31);
  for (int round = 0; round < 10; ++round) {
    const std::size_t bytes = slots * count * sizeof(std::uint64_t);
    std::byte* const memory = allocate(Memory::allocated, bytes, std::byte{0});
    const std::span elements(reinterpret_cast<std::uint64_t*>(memory), slots * count);
    MPI_Request end = MPI_REQUEST_NULL;
    if (rank() == 0)
      EXPECT_PST(PST_Bag_recv_init(memory, slots, count, MPI_UINT64_T, 1, &source, 0,
                                   MPI_COMM_WORLD, MPI_INFO_NULL, &end));
    else
      EXPECT_PST(
          PST_Bag_send_init(slots, count, MPI_UINT64_T, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &end));
    EXPECT_PST(PST_Match(&end, MPI_STATUS_IGNORE));
    if (rank() == 1) {
      const std::vector<std::uint64_t> message(count, static_cast<std::uint64_t>(round) + 1);
      BrokenLane lane;
      int code = MPI_SUCCESS;
      for (int put = 0; put < 8 && code == MPI_SUCCESS; ++put)
        code = PST_Bag_put(lane.queue(), end, message.data(), count);
      PST_Queue_wait(lane.queue());  // has failed where the bag was freed before
      EXPECT_PST(PST_Request_free(&end));
      meet();
    } else {
      std::deque<PST_Grabbed> grabbed(random() % 4);
      Lane lane;
      for (PST_Grabbed& each : grabbed) {
        EXPECT_PST(PST_Bag_grab(lane.queue(), end, &each));
        EXPECT_PST(PST_Bag_release(lane.queue(), end, &each));
      }
      EXPECT_PST(PST_Request_free(&end));
      lane.synchronize();
      // From the end, which a copy that is under way has not come to.
      std::fill(elements.rbegin(), elements.rend(), TestBag::poison);
      meet();
      EXPECT_TRUE(std::ranges::all_of(elements, [](auto each) { return each == TestBag::poison; }))
          << "round " << round;
      lane.finish();
    }
    free(Memory::allocated, memory);
  }
}

}  // namespace
}  // namespace penstock::test
