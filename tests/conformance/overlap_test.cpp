// SPDX-License-Identifier: Apache-2.0
// Plain MPI calls whose large messages are the library's (PENSTOCK_OVERLAP=exact), beside small
// ones that are MPI's. The limit is 1000 bytes here.
#include "conformance/overlap.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "support/random_datatype.hpp"

namespace penstock::test {
namespace {

TEST(Overlap, DatatypesWithGaps) {
  const int messages = long_run() ? 300 : 8;
  for (int i = 0; i < messages; ++i) {
    RandomDatatypes random(seed() * 1000 + static_cast<unsigned>(i));
    const Signature signature = random.signature(6);
    MPI_Datatype from = random.datatype(signature), to = random.datatype(signature);
    int size = 0;
    MPI_Type_size(from, &size);
    // From some bytes to some hundreds of kilobytes.
    const int count = size == 0 ? 1 : random.from_to(1, 100'000) / size + 1;
    const auto room = [&](MPI_Datatype datatype, std::byte fill) {
      const Reach reach = reach_of(datatype, count);
      return std::pair(Bytes(static_cast<std::size_t>(reach.end - reach.first), fill),
                       -reach.first);
    };
    auto [out, out_first] = room(from, std::byte{1});
    fill_pattern(out.data(), out.size(), static_cast<unsigned>(i), 1);
    auto [in, in_first] = room(to, std::byte{0xee});
    auto [expected, expected_first] = room(to, std::byte{0xee});
    const long before = sent_by_library();
    MPI_Request requests[2];
    EXPECT_PST(MPI_Irecv(in.data() + in_first, count, to, previous_rank(), i, MPI_COMM_WORLD,
                         &requests[0]));
    EXPECT_PST(MPI_Isend(out.data() + out_first, count, from, next_rank(), i, MPI_COMM_WORLD,
                         &requests[1]));
    EXPECT_PST(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    const bool ours = static_cast<std::size_t>(size) * static_cast<std::size_t>(count) >= limit;
    EXPECT_EQ(sent_by_library() - before, ours ? 1 : 0);
    int packed = 0, position = 0;
    MPI_Pack_size(count, from, MPI_COMM_WORLD, &packed);
    Bytes between(static_cast<std::size_t>(packed) + 1);
    MPI_Pack(out.data() + out_first, count, from, between.data(), packed, &position,
             MPI_COMM_WORLD);
    const int length = position;
    position = 0;
    MPI_Unpack(between.data(), length, &position, expected.data() + expected_first, count, to,
               MPI_COMM_WORLD);
    EXPECT_EQ(in, expected) << "message " << i;
    MPI_Type_free(&from);
    MPI_Type_free(&to);
  }
}

// ---- Programs that end with MPI

TEST(Overlap, ASendEndsWhileItsReceiverIsInACallThatWeDoNotSee) {
  const bool receives = rank() % 2 == 1;
  const int partner = receives ? rank() - 1 : rank() + 1;
  Bytes bytes(large, std::byte{0xee});
  MPI_Request request = MPI_REQUEST_NULL;
  if (partner >= size()) {
    MPI_Barrier(MPI_COMM_WORLD);
    return;
  }
  if (receives) {
    EXPECT_PST(
        MPI_Irecv(bytes.data(), count_of(large), MPI_BYTE, partner, 1, MPI_COMM_WORLD, &request));
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_PST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    expect_content(bytes, 1, 1, "behind the barrier");
  } else {
    bytes = content(1, 1, large);
    EXPECT_PST(MPI_Send(bytes.data(), count_of(large), MPI_BYTE, partner, 1, MPI_COMM_WORLD));
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

// The sender is in MPI_Send until its message has been read, which a waiting probe does like any
// other wait.
TEST(Overlap, AProbeThatWaitsReadsOtherMessages) {
  const bool receives = rank() % 2 == 1;
  const int partner = receives ? rank() - 1 : rank() + 1;
  if (partner >= size()) return;
  for (unsigned number = 0; number < 100; ++number) {
    const bool takes = number % 2 == 1;
    if (!receives) {  // when the receiver is about to probe
      EXPECT_PST(MPI_Recv(nullptr, 0, MPI_BYTE, partner, 32, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      const Bytes out = content(2, number, large), small = content(3, number, 10);
      EXPECT_PST(MPI_Send(out.data(), count_of(large), MPI_BYTE, partner, 30, MPI_COMM_WORLD));
      EXPECT_PST(MPI_Send(small.data(), 10, MPI_BYTE, partner, 31, MPI_COMM_WORLD));
      continue;
    }
    Bytes in(large, std::byte{0xee}), small(10, std::byte{0xee});
    MPI_Request request;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status{};
    EXPECT_PST(
        MPI_Irecv(in.data(), count_of(large), MPI_BYTE, partner, 30, MPI_COMM_WORLD, &request));
    EXPECT_PST(MPI_Send(nullptr, 0, MPI_BYTE, partner, 32, MPI_COMM_WORLD));
    if (takes) {
      EXPECT_PST(MPI_Mprobe(partner, 31, MPI_COMM_WORLD, &message, &status));
      EXPECT_PST(MPI_Mrecv(small.data(), 10, MPI_BYTE, &message, MPI_STATUS_IGNORE));
    } else {
      EXPECT_PST(MPI_Probe(partner, 31, MPI_COMM_WORLD, &status));
      EXPECT_PST(
          MPI_Recv(small.data(), 10, MPI_BYTE, partner, 31, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    expect_status(status, partner, 31, 10);
    EXPECT_PST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    expect_content(in, 2, number, "beside a probe");
    expect_content(small, 3, number, "probed");
  }
}

// As where MPI holds a small message at a sender that computes: the large one was sent later, and
// is announced at once.
TEST(Overlap, ASmallMessageMayComeLongBehindALargeOne) {
  const bool receives = rank() % 2 == 1;
  const int partner = receives ? rank() - 1 : rank() + 1;
  if (partner >= size()) return;
  if (!receives) {
    const Bytes out = content(2, 1, large), small = content(3, 1, 10);
    MPI_Request send;
    EXPECT_PST(
        MPI_Isend(out.data(), count_of(large), MPI_BYTE, partner, 15, MPI_COMM_WORLD, &send));
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    EXPECT_PST(MPI_Send(small.data(), 10, MPI_BYTE, partner, 15, MPI_COMM_WORLD));
    EXPECT_PST(MPI_Wait(&send, MPI_STATUS_IGNORE));
    return;
  }
  Bytes in(large, std::byte{0xee}), small(10, std::byte{0xee});
  MPI_Status status{};
  EXPECT_PST(MPI_Recv(small.data(), 10, MPI_BYTE, partner, 15, MPI_COMM_WORLD, &status));
  expect_status(status, partner, 15, 10);
  EXPECT_PST(MPI_Recv(in.data(), count_of(large), MPI_BYTE, partner, 15, MPI_COMM_WORLD, &status));
  expect_status(status, partner, 15, large);
  expect_content(small, 3, 1, "behind a large one");
  expect_content(in, 2, 1, "behind a small one");
}

TEST(Overlap, MoreMessagesThanARingHolds) {
  constexpr int messages = 100;
  std::vector<Bytes> out, in;
  std::vector<MPI_Request> requests(2 * messages);
  for (int i = 0; i < messages; ++i) {
    out.push_back(content(key_of(rank(), 3, 7), static_cast<unsigned>(i), large));
    in.emplace_back(large, std::byte{0xee});
  }
  for (int i = 0; i < messages; ++i)
    EXPECT_PST(MPI_Isend(out[static_cast<std::size_t>(i)].data(), count_of(large), MPI_BYTE,
                         next_rank(), 3, MPI_COMM_WORLD, &requests[static_cast<std::size_t>(i)]));
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < messages; ++i)
    EXPECT_PST(MPI_Irecv(in[static_cast<std::size_t>(i)].data(), count_of(large), MPI_BYTE,
                         previous_rank(), 3, MPI_COMM_WORLD,
                         &requests[static_cast<std::size_t>(messages + i)]));
  EXPECT_PST(MPI_Waitall(2 * messages, requests.data(), MPI_STATUSES_IGNORE));
  for (int i = 0; i < messages; ++i)
    expect_content(in[static_cast<std::size_t>(i)], key_of(previous_rank(), 3, 7),
                   static_cast<unsigned>(i), "message " + std::to_string(i));
}

// More than a process has words for at first, received from the last one on.
TEST(Overlap, AnyNumberOfSendsIsReceivedInAnyOrder) {
  constexpr int messages = 9000;
  const Bytes out = content(key_of(rank(), 0, 19), 1, limit + messages);
  std::vector<MPI_Request> requests(messages);
  for (int i = 0; i < messages; ++i)
    EXPECT_PST(MPI_Isend(out.data() + i, count_of(limit), MPI_BYTE, next_rank(), i, MPI_COMM_WORLD,
                         &requests[static_cast<std::size_t>(i)]));
  const Bytes expected = content(key_of(previous_rank(), 0, 19), 1, limit + messages);
  Bytes in(limit);
  for (int i = messages - 1; i >= 0; --i) {
    std::ranges::fill(in, std::byte{0xee});
    EXPECT_PST(MPI_Recv(in.data(), count_of(limit), MPI_BYTE, previous_rank(), i, MPI_COMM_WORLD,
                        MPI_STATUS_IGNORE));
    ASSERT_TRUE(std::equal(in.begin(), in.end(), expected.begin() + i)) << "message " << i;
  }
  EXPECT_PST(MPI_Waitall(messages, requests.data(), MPI_STATUSES_IGNORE));
}

TEST(Overlap, BlockingExchanges) {
  for (int round = 0; round < 20; ++round) {
    const auto number = static_cast<unsigned>(round);
    Bytes out = content(key_of(rank(), 0, 9), number, large), in(large, std::byte{0xee});
    MPI_Status status{};
    EXPECT_PST(MPI_Sendrecv(out.data(), count_of(large), MPI_BYTE, next_rank(), 0, in.data(),
                            count_of(large), MPI_BYTE, previous_rank(), 0, MPI_COMM_WORLD,
                            &status));
    expect_status(status, previous_rank(), 0, large);
    expect_content(in, key_of(previous_rank(), 0, 9), number, "MPI_Sendrecv");
    // One half large, the other one small.
    Bytes small(10, std::byte{0xee});
    const std::size_t mine = rank() % 2 == 0 ? large : 10;
    const bool even_before = previous_rank() % 2 == 0;
    Bytes& to = even_before ? in : small;
    EXPECT_PST(MPI_Sendrecv(out.data(), count_of(mine), MPI_BYTE, next_rank(), 1, to.data(),
                            count_of(to.size()), MPI_BYTE, previous_rank(), 1, MPI_COMM_WORLD,
                            &status));
    expect_status(status, previous_rank(), 1, to.size());
    expect_content(to, key_of(previous_rank(), 0, 9), number, "of two kinds");
    EXPECT_PST(MPI_Sendrecv_replace(out.data(), count_of(large), MPI_BYTE, next_rank(), 2,
                                    previous_rank(), 2, MPI_COMM_WORLD, &status));
    expect_status(status, previous_rank(), 2, large);
    expect_content(out, key_of(previous_rank(), 0, 9), number, "MPI_Sendrecv_replace");
    EXPECT_PST(MPI_Sendrecv(out.data(), count_of(large), MPI_BYTE, MPI_PROC_NULL, 1, in.data(),
                            count_of(large), MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status));
    EXPECT_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
  }
}

TEST(Overlap, ABufferedSendReturnsBeforeItsReceive) {
  Bytes out = content(key_of(rank(), 4, 2), 1, large), in(large, std::byte{0xee});
  EXPECT_PST(MPI_Bsend(out.data(), count_of(large), MPI_BYTE, next_rank(), 4, MPI_COMM_WORLD));
  std::ranges::fill(out, std::byte{0x11});
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_PST(MPI_Recv(in.data(), count_of(large), MPI_BYTE, previous_rank(), 4, MPI_COMM_WORLD,
                      MPI_STATUS_IGNORE));
  expect_content(in, key_of(previous_rank(), 4, 2), 1, "MPI_Bsend");
}

TEST(Overlap, ASynchronousSendEndsNoEarlierThanItsReceiveBegins) {
  Bytes out = content(key_of(rank(), 5, 2), 1, large), in(large, std::byte{0xee});
  MPI_Request request;
  EXPECT_PST(
      MPI_Issend(out.data(), count_of(large), MPI_BYTE, next_rank(), 5, MPI_COMM_WORLD, &request));
  for (int i = 0; i < 20; ++i) {
    int done = 0;
    EXPECT_PST(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
    EXPECT_EQ(done, 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_PST(MPI_Recv(in.data(), count_of(large), MPI_BYTE, previous_rank(), 5, MPI_COMM_WORLD,
                      MPI_STATUS_IGNORE));
  EXPECT_PST(MPI_Wait(&request, MPI_STATUS_IGNORE));
  expect_content(in, key_of(previous_rank(), 5, 2), 1, "MPI_Issend");
}

TEST(Overlap, SeveralThreadsAtOnce) {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  if (level != MPI_THREAD_MULTIPLE) GTEST_SKIP() << "needs MPI_THREAD_MULTIPLE";
  std::vector<std::thread> threads;
  for (int tag = 20; tag < 24; ++tag)
    threads.emplace_back([tag] {
      for (unsigned round = 0; round < 50; ++round) {
        const std::size_t bytes = round % 3 == 0 ? 100 : large + round;
        const Bytes out = content(key_of(rank(), tag, 3), round, bytes);
        Bytes in(bytes, std::byte{0xee});
        MPI_Request requests[2];
        EXPECT_PST(MPI_Irecv(in.data(), count_of(bytes), MPI_BYTE, previous_rank(), tag,
                             MPI_COMM_WORLD, &requests[0]));
        EXPECT_PST(MPI_Isend(out.data(), count_of(bytes), MPI_BYTE, next_rank(), tag,
                             MPI_COMM_WORLD, &requests[1]));
        EXPECT_PST(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        expect_content(in, key_of(previous_rank(), tag, 3), round, "thread " + std::to_string(tag));
      }
    });
  for (std::thread& each : threads) each.join();
}

TEST(Overlap, ACancelledReceiveLeavesItsMessageToTheNext) {
  Bytes first(large, std::byte{0xee}), second(large, std::byte{0xee});
  MPI_Request requests[2];
  EXPECT_PST(MPI_Irecv(first.data(), count_of(large), MPI_BYTE, previous_rank(), 6, MPI_COMM_WORLD,
                       &requests[0]));
  EXPECT_PST(MPI_Irecv(second.data(), count_of(large), MPI_BYTE, previous_rank(), 6, MPI_COMM_WORLD,
                       &requests[1]));
  EXPECT_PST(MPI_Cancel(&requests[0]));
  MPI_Status status{};
  EXPECT_PST(MPI_Wait(&requests[0], &status));
  int cancelled = 0;
  MPI_Test_cancelled(&status, &cancelled);
  EXPECT_EQ(cancelled, 1);
  MPI_Barrier(MPI_COMM_WORLD);
  const Bytes out = content(key_of(rank(), 6, 2), 1, large);
  MPI_Request send;
  EXPECT_PST(
      MPI_Isend(out.data(), count_of(large), MPI_BYTE, next_rank(), 6, MPI_COMM_WORLD, &send));
  EXPECT_PST(MPI_Wait(&requests[1], &status));
  EXPECT_PST(MPI_Wait(&send, MPI_STATUS_IGNORE));
  expect_content(second, key_of(previous_rank(), 6, 2), 1, "behind a cancelled one");
  EXPECT_EQ(check_value(first.data(), first.size(), std::byte{0xee}), "");
  EXPECT_PST(
      MPI_Isend(out.data(), count_of(large), MPI_BYTE, next_rank(), 6, MPI_COMM_WORLD, &send));
  EXPECT_PST_KIND(MPI_Cancel(&send), PST_ERROR_UNSUPPORTED);
  EXPECT_PST(MPI_Recv(first.data(), count_of(large), MPI_BYTE, previous_rank(), 6, MPI_COMM_WORLD,
                      MPI_STATUS_IGNORE));
  EXPECT_PST(MPI_Wait(&send, MPI_STATUS_IGNORE));
}

TEST(Overlap, ProbesSeeBothKinds) {
  const Bytes out = content(key_of(rank(), 7, 2), 1, large);
  MPI_Request sends[3];
  EXPECT_PST(
      MPI_Isend(out.data(), count_of(large), MPI_BYTE, next_rank(), 7, MPI_COMM_WORLD, &sends[0]));
  EXPECT_PST(MPI_Isend(out.data(), 12, MPI_BYTE, next_rank(), 8, MPI_COMM_WORLD, &sends[1]));
  EXPECT_PST(
      MPI_Isend(out.data(), count_of(large), MPI_BYTE, next_rank(), 9, MPI_COMM_WORLD, &sends[2]));
  MPI_Status status{};
  EXPECT_PST(MPI_Probe(previous_rank(), 8, MPI_COMM_WORLD, &status));
  expect_status(status, previous_rank(), 8, 12);
  EXPECT_PST(MPI_Probe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &status));
  expect_status(status, previous_rank(), 7, large);
  int found = 0;
  while (found == 0) EXPECT_PST(MPI_Iprobe(previous_rank(), 7, MPI_COMM_WORLD, &found, &status));
  expect_status(status, previous_rank(), 7, large);
  MPI_Message message = MPI_MESSAGE_NULL;
  EXPECT_PST(MPI_Mprobe(previous_rank(), 7, MPI_COMM_WORLD, &message, &status));
  expect_status(status, previous_rank(), 7, large);
  EXPECT_PST(MPI_Iprobe(previous_rank(), 7, MPI_COMM_WORLD, &found, &status));
  EXPECT_EQ(found, 0);
  Bytes in(large, std::byte{0xee});
  EXPECT_PST(MPI_Mrecv(in.data(), count_of(large), MPI_BYTE, &message, &status));
  EXPECT_EQ(message, MPI_MESSAGE_NULL);
  expect_status(status, previous_rank(), 7, large);
  expect_content(in, key_of(previous_rank(), 7, 2), 1, "MPI_Mrecv");
  found = 0;
  while (found == 0)
    EXPECT_PST(MPI_Improbe(previous_rank(), 9, MPI_COMM_WORLD, &found, &message, &status));
  MPI_Request request;
  std::ranges::fill(in, std::byte{0xee});
  EXPECT_PST(MPI_Imrecv(in.data(), count_of(large), MPI_BYTE, &message, &request));
  EXPECT_PST(MPI_Wait(&request, &status));
  expect_status(status, previous_rank(), 9, large);
  expect_content(in, key_of(previous_rank(), 7, 2), 1, "MPI_Imrecv");
  EXPECT_PST(MPI_Improbe(previous_rank(), 8, MPI_COMM_WORLD, &found, &message, &status));
  ASSERT_EQ(found, 1);
  EXPECT_PST(MPI_Mrecv(in.data(), 12, MPI_BYTE, &message, &status));
  expect_status(status, previous_rank(), 8, 12);
  EXPECT_PST(MPI_Waitall(3, sends, MPI_STATUSES_IGNORE));
}

TEST(Overlap, PersistentRequestsMeetOtherCalls) {
  Bytes out(large), in(large), small_out(100), small_in(100);
  std::array<MPI_Request, 4> requests;
  MPI_Send_init(out.data(), count_of(large), MPI_BYTE, next_rank(), 10, MPI_COMM_WORLD,
                &requests[0]);
  MPI_Recv_init(in.data(), count_of(large), MPI_BYTE, previous_rank(), 10, MPI_COMM_WORLD,
                &requests[1]);
  MPI_Send_init(small_out.data(), 100, MPI_BYTE, next_rank(), 10, MPI_COMM_WORLD, &requests[2]);
  MPI_Recv_init(small_in.data(), 100, MPI_BYTE, previous_rank(), 10, MPI_COMM_WORLD, &requests[3]);
  const auto handles = requests;
  const long before = sent_by_library();
  for (unsigned round = 0; round < 12; ++round) {
    fill_pattern(out.data(), large, key_of(rank(), 10, 1), round);
    fill_pattern(small_out.data(), 100, key_of(rank(), 10, 1), 100 + round);
    std::ranges::fill(in, std::byte{0xee});
    EXPECT_PST(MPI_Startall(4, requests.data()));
    std::array<MPI_Status, 4> statuses{};
    int done = 0, index = 0;
    switch (round % 4) {
      case 0:
        EXPECT_PST(MPI_Waitall(4, requests.data(), statuses.data()));
        expect_status(statuses[1], previous_rank(), 10, large);
        break;
      case 1:
        while (done == 0) EXPECT_PST(MPI_Testall(4, requests.data(), &done, statuses.data()));
        expect_status(statuses[1], previous_rank(), 10, large);
        break;
      case 2:
        for (int i = 0; i < 4; ++i)
          EXPECT_PST(MPI_Waitany(4, requests.data(), &index, &statuses[0]));
        EXPECT_PST(MPI_Waitany(4, requests.data(), &index, &statuses[0]));
        EXPECT_EQ(index, MPI_UNDEFINED);
        break;
      default:
        while (done == 0) EXPECT_PST(MPI_Request_get_status(requests[1], &done, &statuses[1]));
        expect_status(statuses[1], previous_rank(), 10, large);
        for (MPI_Request& each : requests) EXPECT_PST(MPI_Wait(&each, MPI_STATUS_IGNORE));
    }
    EXPECT_EQ(requests, handles);
    expect_content(in, key_of(previous_rank(), 10, 1), round, "a persistent receive");
    expect_content(small_in, key_of(previous_rank(), 10, 1), 100 + round, "a small one");
  }
  EXPECT_EQ(sent_by_library() - before, 12);
  // Its other end is another call.
  MPI_Request plain;
  fill_pattern(out.data(), large, key_of(rank(), 10, 1), 50);
  EXPECT_PST(
      MPI_Isend(out.data(), count_of(large), MPI_BYTE, next_rank(), 10, MPI_COMM_WORLD, &plain));
  EXPECT_PST(MPI_Start(&requests[1]));
  EXPECT_PST(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
  EXPECT_PST(MPI_Wait(&plain, MPI_STATUS_IGNORE));
  expect_content(in, key_of(previous_rank(), 10, 1), 50, "a persistent receive of MPI_Isend");
  EXPECT_PST(MPI_Start(&requests[1]));
  EXPECT_PST(MPI_Cancel(&requests[1]));
  MPI_Status status{};
  int cancelled = 0;
  EXPECT_PST(MPI_Wait(&requests[1], &status));
  MPI_Test_cancelled(&status, &cancelled);
  EXPECT_EQ(cancelled, 1);
  // An active one is freed, and its message still comes.
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_PST(MPI_Start(&requests[0]));
  for (MPI_Request& each : requests) EXPECT_PST(MPI_Request_free(&each));
  std::ranges::fill(in, std::byte{0xee});
  EXPECT_PST(MPI_Recv(in.data(), count_of(large), MPI_BYTE, previous_rank(), 10, MPI_COMM_WORLD,
                      MPI_STATUS_IGNORE));
  expect_content(in, key_of(previous_rank(), 10, 1), 50, "of a request that was freed");
  MPI_Barrier(MPI_COMM_WORLD);
}

// ---- What stays MPI's

// With PENSTOCK_CMA=0.
TEST(OverlapApart, WhereMemoryIsOutOfReachAllMessagesAreMpis) {
  const Bytes out = content(key_of(rank(), 1, 1), 1, large);
  Bytes in(large + 100, std::byte{0xee});
  MPI_Request requests[2];
  MPI_Status statuses[2] = {};
  EXPECT_PST(MPI_Irecv(in.data(), count_of(in.size()), MPI_BYTE, previous_rank(), 1, MPI_COMM_WORLD,
                       &requests[0]));
  EXPECT_PST(MPI_Isend(out.data(), count_of(large), MPI_BYTE, next_rank(), 1, MPI_COMM_WORLD,
                       &requests[1]));
  EXPECT_PST(MPI_Waitall(2, requests, statuses));
  expect_status(statuses[0], previous_rank(), 1, large);
  in.resize(large);
  expect_content(in, key_of(previous_rank(), 1, 1), 1, "by MPI, into a longer receive");
  EXPECT_EQ(sent_by_library(), 0);
}

TEST(Overlap, NobodyIsSentNothing) {
  Bytes bytes(large);
  MPI_Request requests[2];
  MPI_Status status{};
  EXPECT_PST(MPI_Isend(bytes.data(), count_of(large), MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD,
                       &requests[0]));
  EXPECT_PST(MPI_Irecv(bytes.data(), count_of(large), MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD,
                       &requests[1]));
  EXPECT_PST(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  EXPECT_PST(
      MPI_Recv(bytes.data(), count_of(large), MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status));
  EXPECT_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
}

}  // namespace
}  // namespace penstock::test
