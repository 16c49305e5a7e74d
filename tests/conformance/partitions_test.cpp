// SPDX-License-Identifier: Apache-2.0
// Partitions: those of any channel, and of MPI's partitioned requests, put by many threads and
// waited for in any grouping.
#include <algorithm>
#include <memory>
#include <numeric>
#include <thread>

#include "conformance/channel.hpp"

namespace penstock::test {
namespace {

void pready(TestChannel& channel, Lane& lane, int partition, std::size_t length) {
  channel.put_by(
      lane, static_cast<std::size_t>(partition) * length, length,
      [=](PST_Queue queue, MPI_Request request) { return PST_Pready(queue, partition, request); });
}

bool has_arrived(const TestChannel& channel, int partition) {
  int flag = -1;
  EXPECT_PST(PST_Parrived(channel.receiver(), partition, &flag));
  return flag == 1;
}

// The work of each thread, all at once.
template <class Work>
void on_threads(std::size_t number, Work work) {
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < number; ++i) threads.emplace_back([&, i] { work(i); });
  for (std::thread& thread : threads) thread.join();
}

constexpr std::size_t partitions = 16;

// Each partition is put by a thread and a queue of its own, and waited for at the sender by the
// same; the receiver's threads each look for four of them, and take them when they are there.
void put_by_many_and_look(TestChannel& channel, std::size_t length) {
  constexpr std::size_t messages = 12, group = 4;
  std::deque<Lane> putting(channel.sends() ? partitions : 0);
  std::deque<Lane> taking(channel.receives() ? partitions / group : 0);
  std::atomic<bool> taken{false};
  std::thread onlooker([&] {
    while (channel.receives() && !taken) {
      channel.test(0, partitions * length);
      std::this_thread::yield();
    }
  });
  std::thread takers([&] {
    on_threads(taking.size(), [&](std::size_t i) {
      const std::size_t first = i * group;
      for (std::size_t message = 0; message < messages; ++message) {
        for (std::size_t each = first; each < first + group; ++each)
          while (!has_arrived(channel, static_cast<int>(each))) std::this_thread::yield();
        channel.wait(taking[i], first * length, group * length);
        channel.release(taking[i], first * length, group * length);
        taking[i].synchronize();  // or the next look would find this message
      }
    });
    taken = true;
  });
  on_threads(putting.size(), [&](std::size_t i) {
    for (std::size_t message = 0; message < messages; ++message) {
      pready(channel, putting[i], static_cast<int>(i), length);
      channel.put_wait(putting[i], i * length, length);
    }
  });
  takers.join();
  onlooker.join();
  meet();  // a look for what comes no more, as the sender is gone, would be an error
  for (Lane& lane : putting) lane.finish();
  for (Lane& lane : taking) lane.finish();
  channel.expect_good(messages * partitions * length);
}

// Units of 8 bytes share lines of the cache with their neighbours; larger ones do with their words.
TEST(Partitions, ManyPutAndOthersLook) {
  for (const std::size_t length : {std::size_t{1}, std::size_t{9}})
    for (const Memory memory : {Memory::ordinary, Memory::allocated}) {
      TestChannel channel(partitions * length, length, 0, memory);
      put_by_many_and_look(channel, length);
    }
}

// Puts of many queues, one put_wait for all; waits and releases by three queues, of groups that
// change from message to message.
TEST(Partitions, WaitedForInAnyGrouping) {
  constexpr std::size_t length = 3, messages = 6, queues = 3;
  TestChannel channel(partitions * length, length);
  std::deque<Lane> putting(channel.sends() ? partitions : 0);
  std::deque<Lane> taking(channel.receives() ? queues : 0);
  Lane waiting;
  auto random = generator(5);
  for (std::size_t message = 0; message < messages; ++message) {
    on_threads(putting.size(), [&](std::size_t i) {
      pready(channel, putting[i], static_cast<int>(i), length);
      putting[i].synchronize();
    });
    const std::size_t second = 1 + random() % 7, third = 8 + random() % 8;
    const std::array<std::size_t, queues + 1> bounds{0, second, third, partitions};
    for (std::size_t i = 0; i < taking.size(); ++i) {
      const std::size_t first = bounds[i] * length, count = (bounds[i + 1] - bounds[i]) * length;
      channel.wait(taking[i], first, count);
      channel.release(taking[i], first, count);
    }
    for (Lane& lane : taking) lane.synchronize();  // another queue has the unit next
    channel.put_wait(waiting, 0, partitions * length);
    waiting.synchronize();
  }
  for (Lane& lane : putting) lane.finish();
  for (Lane& lane : taking) lane.finish();
  waiting.finish();
  channel.expect_good(messages * partitions * length);
}

TEST(Partitions, RangesAndLists) {
  constexpr std::size_t length = 2, count = 7 * length + 1;  // the last one is short
  TestChannel channel(count, length);
  Lane sends, receives;
  for (int message = 0; message < 3; ++message) {
    channel.put_by(sends, 2 * length, 4 * length, [](PST_Queue queue, MPI_Request request) {
      return PST_Pready_range(queue, 2, 5, request);
    });
    channel.put_by(sends, 0, 2 * length, [](PST_Queue queue, MPI_Request request) {
      constexpr std::array list{1, 0};
      return PST_Pready_list(queue, 2, list.data(), request);
    });
    channel.put_by(sends, 6 * length, length + 1, [](PST_Queue queue, MPI_Request request) {
      constexpr std::array list{7, 6};
      return PST_Pready_list(queue, 2, list.data(), request);
    });
    channel.put_by(sends, 0, 0, [](PST_Queue queue, MPI_Request request) {
      return PST_Pready_list(queue, 0, nullptr, request);
    });
    channel.put_wait(sends, 0, count);
    channel.wait(receives, 0, count);
    channel.release(receives, 0, count);
  }
  sends.finish();
  receives.finish();
  channel.expect_good(3 * count);
}

TEST(Partitions, ThatAreNone) {
  TestChannel channel(10, 2);
  Lane lane;
  int flag = 0;
  if (channel.sends()) {
    const MPI_Request sender = channel.sender();
    constexpr std::array beyond{0, 5};
    constexpr std::array twice{3, 1, 3};
    EXPECT_PST_KIND(PST_Pready(lane.queue(), -1, sender), PST_ERROR_ARGUMENT);
    EXPECT_PST_KIND(PST_Pready(lane.queue(), 5, sender), PST_ERROR_ARGUMENT);
    EXPECT_PST_KIND(PST_Pready_range(lane.queue(), 3, 5, sender), PST_ERROR_ARGUMENT);
    EXPECT_PST_KIND(PST_Pready_range(lane.queue(), 3, 2, sender), PST_ERROR_ARGUMENT);
    EXPECT_PST_KIND(PST_Pready_list(lane.queue(), 2, beyond.data(), sender), PST_ERROR_ARGUMENT);
    EXPECT_PST_KIND(PST_Pready_list(lane.queue(), 3, twice.data(), sender), PST_ERROR_ARGUMENT);
    EXPECT_PST_KIND(PST_Pready_list(lane.queue(), -1, beyond.data(), sender), PST_ERROR_ARGUMENT);
    EXPECT_PST_KIND(PST_Pready_list(lane.queue(), 1, nullptr, sender), PST_ERROR_ARGUMENT);
    EXPECT_PST_KIND(PST_Parrived(sender, 0, &flag), PST_ERROR_ARGUMENT);
    EXPECT_PST_KIND(PST_Pready(PST_QUEUE_NULL, 0, sender), PST_ERROR_QUEUE);
  }
  if (channel.receives()) {
    EXPECT_PST_KIND(PST_Pready(lane.queue(), 0, channel.receiver()), PST_ERROR_ARGUMENT);
    EXPECT_PST_KIND(PST_Parrived(channel.receiver(), 5, &flag), PST_ERROR_ARGUMENT);
    EXPECT_PST_KIND(PST_Parrived(channel.receiver(), 0, nullptr), PST_ERROR_ARGUMENT);
  }
  lane.finish();
  meet();
  // Nothing of a call that was refused has been put.
  for (int partition = 0; channel.receives() && partition < 5; ++partition)
    EXPECT_FALSE(has_arrived(channel, partition));
  meet();
}

#if MPI_VERSION >= 4
MPI_Info unit_info(const char* unit) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "penstock_unit", unit);
  return info;
}

int psend_init(Element* buffer, int number, std::size_t length, MPI_Info info, MPI_Request* made,
               int tag = 0) {
  return MPI_Psend_init(buffer, number, static_cast<MPI_Count>(length), MPI_UINT64_T, partner(),
                        tag, MPI_COMM_WORLD, info, made);
}
int precv_init(Element* buffer, int number, std::size_t length, MPI_Info info, MPI_Request* made) {
  return MPI_Precv_init(buffer, number, static_cast<MPI_Count>(length), MPI_UINT64_T, partner(), 0,
                        MPI_COMM_WORLD, info, made);
}

TEST(Partitioned, RequestsOfMpiAreChannels) {
  constexpr std::size_t length = 5;
  TestChannel channel(
      partitions * length, 0, Memory::ordinary,
      [](Element* buffer, MPI_Request* made) {
        return psend_init(buffer, partitions, length, MPI_INFO_NULL, made);
      },
      [](Element* buffer, MPI_Request* made) {
        return precv_init(buffer, partitions, length, MPI_INFO_NULL, made);
      });
  put_by_many_and_look(channel, length);
}

// 4 partitions of 6 elements are put, 3 of 8 are looked for and taken: units of 2.
TEST(Partitioned, EndsWithOtherPartitions) {
  const MPI_Info info = unit_info("2");
  TestChannel channel(
      24, 0, Memory::ordinary,
      [=](Element* buffer, MPI_Request* made) { return psend_init(buffer, 4, 6, info, made); },
      [=](Element* buffer, MPI_Request* made) { return precv_init(buffer, 3, 8, info, made); });
  MPI_Info copy = info;
  MPI_Info_free(&copy);
  Lane sends, receives;
  for (int message = 0; message < 3; ++message) {
    for (int partition = 3; partition-- > 0;) pready(channel, sends, partition, 6);
    if (channel.sends()) sends.synchronize();
    meet();
    if (channel.receives()) {
      while (!has_arrived(channel, 0) || !has_arrived(channel, 1)) std::this_thread::yield();
      EXPECT_FALSE(has_arrived(channel, 2));
      EXPECT_EQ(channel.test(16, 2), 1);
    }
    meet();
    pready(channel, sends, 3, 6);
    channel.put_wait(sends, 0, 24);
    channel.wait(receives, 0, 24);
    channel.release(receives, 0, 24);
    if (channel.receives()) receives.synchronize();
    meet();
  }
  sends.finish();
  receives.finish();
  channel.expect_good(72);
}

// With an end that is Penstock's own. MPI has the other one waiting for an end of its own.
TEST(Partitioned, OneEndIsOfMpi) {
  TestChannel channel(
      12, 1, Memory::ordinary,
      [](Element* buffer, MPI_Request* made) {
        return psend_init(buffer, 4, 3, MPI_INFO_NULL, made, 1);
      },
      [](Element* buffer, MPI_Request* made) {
        return PST_Channel_recv_init(buffer, 12, MPI_UINT64_T, 3, partner(), 1, MPI_COMM_WORLD,
                                     MPI_INFO_NULL, made);
      });
  Lane sends, receives;
  channel.put_by(sends, 0, 12, [](PST_Queue queue, MPI_Request request) {
    return PST_Pready_range(queue, 0, 3, request);
  });
  channel.put_wait(sends, 0, 12);
  channel.wait(receives, 0, 12);
  sends.finish();
  receives.finish();
  channel.expect_good(12);
}

// Both ends are refused alike.
template <class MakeSend, class MakeReceive>
void expect_refused(PST_Error kind, MakeSend make_send, MakeReceive make_receive) {
  std::array<Element, 48> out{}, in{};
  std::vector<MPI_Request> ends;
  if (rank() % 2 == 0) make_send(out.data(), &ends.emplace_back(MPI_REQUEST_NULL));
  if (rank() % 2 == 1 || partner() == rank())
    make_receive(in.data(), &ends.emplace_back(MPI_REQUEST_NULL));
  EXPECT_PST_KIND(PST_Matchall(static_cast<int>(ends.size()), ends.data(), MPI_STATUSES_IGNORE),
                  kind);
  for (MPI_Request& end : ends) MPI_Request_free(&end);
}

TEST(Partitioned, ThatCannotBeChannels) {
  const auto sends = [](int number, std::size_t length, MPI_Info info) {
    return [=](Element* buffer, MPI_Request* made) {
      return psend_init(buffer, number, length, info, made);
    };
  };
  const auto receives = [](int number, std::size_t length, MPI_Info info) {
    return [=](Element* buffer, MPI_Request* made) {
      return precv_init(buffer, number, length, info, made);
    };
  };
  expect_refused(PST_ERROR_ARGUMENT, sends(4, 6, MPI_INFO_NULL), receives(3, 8, MPI_INFO_NULL));
  std::array<char, 1024> text{};
  PST_Last_error(text.data(), text.size());
  EXPECT_NE(std::string(text.data()).find("penstock_unit"), std::string::npos) << text.data();
  expect_refused(PST_ERROR_TRUNCATE, sends(4, 6, MPI_INFO_NULL), receives(3, 6, MPI_INFO_NULL));
  for (const char* const unit : {"5", "0", "-2", "2 and more", ""}) {
    MPI_Info wrong = unit_info(unit[0] != 0 ? unit : "x"), right = unit_info("2");
    expect_refused(PST_ERROR_ARGUMENT, sends(4, 6, wrong), receives(4, 6, right));
    expect_refused(PST_ERROR_ARGUMENT, sends(4, 6, right), receives(4, 6, wrong));
    MPI_Info_free(&wrong);
    MPI_Info_free(&right);
  }
  MPI_Datatype gaps = MPI_DATATYPE_NULL;
  MPI_Type_vector(2, 1, 2, MPI_UINT64_T, &gaps);
  MPI_Type_commit(&gaps);
  expect_refused(
      PST_ERROR_ARGUMENT,
      [&](Element* buffer, MPI_Request* made) {
        return MPI_Psend_init(buffer, 2, 1, gaps, partner(), 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                              made);
      },
      receives(2, 2, MPI_INFO_NULL));
  MPI_Type_free(&gaps);
}

void expect_active(const std::array<MPI_Request, 2>& ends) {
  Lane lane;
  int flag = 0;
  EXPECT_PST_KIND(PST_Pready(lane.queue(), 0, ends[0]), PST_ERROR_ALREADY_STARTED);
  EXPECT_PST_KIND(PST_Channel_wait(lane.queue(), ends[1], 0, 1), PST_ERROR_ALREADY_STARTED);
  EXPECT_PST_KIND(PST_Parrived(ends[1], 0, &flag), PST_ERROR_ALREADY_STARTED);
  lane.finish();
}

// What is not matched is MPI's, whether it is recorded or not; and what is matched may be, too, but
// not while a queue is to have it.
TEST(Partitioned, MpiHasItsOwn) {
  Element out = 1, in = 0;
  std::array<MPI_Request, 2> ends{};
  MPI_Psend_init(&out, 1, 1, MPI_UINT64_T, rank(), 0, MPI_COMM_WORLD, MPI_INFO_NULL, &ends[0]);
  MPI_Precv_init(&in, 1, 1, MPI_UINT64_T, rank(), 0, MPI_COMM_WORLD, MPI_INFO_NULL, &ends[1]);
  for (int round = 0; round < 2; ++round) {
    MPI_Start(&ends[1]);
    MPI_Start(&ends[0]);
    if (round == 1) expect_active(ends);
    MPI_Pready(0, ends[0]);
    MPI_Waitall(2, ends.data(), MPI_STATUSES_IGNORE);
    EXPECT_EQ(in, out);
    out += 1;
    if (round == 0) EXPECT_PST(PST_Matchall(2, ends.data(), MPI_STATUSES_IGNORE));
  }
  Lane lane;
  EXPECT_PST(PST_Pready(lane.queue(), 0, ends[0]));
  EXPECT_PST(PST_Channel_put_wait(lane.queue(), ends[0], 0, 1));
  EXPECT_PST(PST_Channel_wait(lane.queue(), ends[1], 0, 1));
  lane.finish();
  EXPECT_EQ(in, out);
  for (MPI_Request& end : ends) MPI_Request_free(&end);
}
#endif

}  // namespace
}  // namespace penstock::test
