// SPDX-License-Identifier: Apache-2.0
// Channels: which unit is whose, whatever the ranges of both ends.
#include <algorithm>
#include <memory>
#include <random>
#include <thread>

#include "conformance/channel.hpp"

namespace penstock::test {
namespace {

// Lanes end before the channel does, and their work with them.
struct Lanes {
  Lane sends, receives;
  void finish() {
    sends.finish();
    receives.finish();
  }
};

// ---- Litmus

TEST(Channels, PutBeforeReleaseAndBehind) {
  TestChannel channel(8, 8);
  Lanes lanes;
  for (int message = 0; message < 20; ++message) {
    channel.put(lanes.sends, 0, 8);
    channel.put_wait(lanes.sends, 0, 8);
    channel.wait(lanes.receives, 0, 8);
    channel.release(lanes.receives, 0, 8);
    if (message % 2 == 0) meet();
  }
  lanes.finish();
  channel.expect_good(160);
}

TEST(Channels, GridsThatDiffer) {
  for (const std::size_t unit : {std::size_t{1}, std::size_t{100}, std::size_t{20000}}) {
    TestChannel channel(12 * unit, unit);
    Lanes lanes;
    constexpr std::size_t messages = 4;
    for (std::size_t message = 0; message < messages; ++message) {
      for (std::size_t part = 0; part < 3; ++part)
        channel.put(lanes.sends, part * 4 * unit, 4 * unit);
      for (std::size_t part = 0; part < 6; ++part)
        channel.put_wait(lanes.sends, part * 2 * unit, 2 * unit);
      for (std::size_t part = 4; part-- > 0;)
        channel.wait(lanes.receives, part * 3 * unit, 3 * unit);
      for (std::size_t part = 0; part < 12; ++part)
        channel.release(lanes.receives, part * unit, unit);
    }
    lanes.finish();
    channel.expect_good(messages * 12 * unit);
  }
}

// put(1) finds its unit with the receiver, put(2) does not; the receiver waits for 2, and only then
// releases 1.
TEST(Channels, APutThatCannotGoHoldsUpNoOther) {
  for (const std::size_t unit : {std::size_t{4}, std::size_t{40000}}) {
    TestChannel channel(3 * unit, unit);
    Lanes lanes;
    channel.put(lanes.sends, unit, unit);
    channel.put_wait(lanes.sends, unit, unit);
    channel.wait(lanes.receives, unit, unit);
    lanes.finish();
    meet();
    channel.put(lanes.sends, unit, unit);
    channel.put(lanes.sends, 2 * unit, unit);
    channel.put_wait(lanes.sends, unit, 2 * unit);
    channel.wait(lanes.receives, 2 * unit, unit);
    channel.release(lanes.receives, unit, unit);
    channel.wait(lanes.receives, unit, unit);
    lanes.finish();
    channel.expect_good(3 * unit);
  }
}

TEST(Channels, HalfAPutIsWaitedFor) {
  TestChannel channel(20, 5);
  Lanes lanes;
  for (int message = 0; message < 3; ++message) {
    channel.put(lanes.sends, 0, 20);
    channel.put_wait(lanes.sends, 0, 20);
    channel.wait(lanes.receives, 10, 10);
    channel.release(lanes.receives, 15, 5);
    channel.wait(lanes.receives, 0, 10);
    channel.release(lanes.receives, 0, 15);
  }
  lanes.finish();
  channel.expect_good(60);
}

TEST(Channels, WaitBeforePut) {
  TestChannel channel(4096, 1024);
  Lanes lanes;
  for (int message = 0; message < 3; ++message) {
    channel.wait(lanes.receives, 0, 4096);
    channel.release(lanes.receives, 0, 4096);
    meet();
    channel.put(lanes.sends, 1024, 3072);
    channel.put(lanes.sends, 0, 1024);
    channel.put_wait(lanes.sends, 0, 4096);
  }
  lanes.finish();
  channel.expect_good(3 * 4096);
}

TEST(Channels, AMessageAheadOnEveryUnit) {
  TestChannel channel(64, 1);
  Lanes lanes;
  channel.put(lanes.sends, 0, 64);
  channel.put_wait(lanes.sends, 0, 64);
  channel.put(lanes.sends, 0, 64);  // and its wait behind the receiver's first one
  lanes.sends.synchronize();        // so it holds nothing up
  meet();
  channel.wait(lanes.receives, 0, 64);
  channel.release(lanes.receives, 0, 64);
  channel.put_wait(lanes.sends, 0, 64);
  channel.wait(lanes.receives, 0, 64);
  lanes.finish();
  channel.expect_good(128);
}

TEST(Channels, TestTellsWhatHasCome) {
  TestChannel channel(30, 10);
  Lanes lanes;
  channel.expect_test(0, 30, 0);
  meet();
  channel.put(lanes.sends, 10, 20);
  channel.put_wait(lanes.sends, 10, 20);
  if (channel.receives()) {
    while (channel.test(10, 20) == 0) std::this_thread::yield();
    EXPECT_EQ(channel.test(0, 30), 0);
    EXPECT_EQ(channel.test(0, 0), 1);
  }
  channel.wait(lanes.receives, 10, 20);
  lanes.receives.synchronize();
  channel.expect_test(10, 20, 1);
  channel.release(lanes.receives, 10, 20);
  lanes.receives.synchronize();
  channel.expect_test(10, 20, 0);
  meet();  // or the sender could be gone by then
  lanes.finish();
  channel.expect_good(20);
}

TEST(Channels, TheLastUnitIsShort) {
  for (const std::size_t count :
       {std::size_t{1}, std::size_t{7}, std::size_t{23}, std::size_t{3001}}) {
    TestChannel channel(count, 11);
    Lanes lanes;
    const std::size_t last = (count - 1) / 11 * 11;
    for (int message = 0; message < 3; ++message) {
      channel.put(lanes.sends, last, count - last);
      if (last != 0) channel.put(lanes.sends, 0, last);
      channel.put_wait(lanes.sends, 0, count);
      channel.wait(lanes.receives, 0, count);
      channel.release(lanes.receives, 0, count);
    }
    lanes.finish();
    channel.expect_good(3 * count);
  }
}

TEST(Channels, AsManyUnitsAsThereMayBe) {
  TestChannel channel(1024, 1);
  Lanes lanes;
  for (int message = 0; message < 3; ++message) {
    channel.put(lanes.sends, 0, 1024);
    channel.wait(lanes.receives, 0, 1024);
    channel.put_wait(lanes.sends, 0, 1024);
    channel.release(lanes.receives, 0, 1024);
  }
  lanes.finish();
  channel.expect_good(3 * 1024);
}

// Where units are words.
TEST(Channels, ManyUnits) {
  if (!channels_have_words()) GTEST_SKIP() << "cells: 1024 units at most";
  for (const Memory memory : {Memory::ordinary, Memory::allocated}) {
    const std::size_t count = memory == Memory::ordinary ? 5 * 3001 : 1 << 20;
    const std::size_t unit = memory == Memory::ordinary ? 3 : 1;
    TestChannel channel(count, unit, 0, memory);
    Lanes lanes;
    const std::size_t first = count / 15 * 9;
    for (int message = 0; message < 2; ++message) {
      channel.put(lanes.sends, 0, first / unit * unit);
      channel.put(lanes.sends, first / unit * unit, count - first / unit * unit);
      channel.put_wait(lanes.sends, 0, count);
      channel.wait(lanes.receives, 0, 3 * unit);
      channel.wait(lanes.receives, 3 * unit, count - 3 * unit);
      channel.release(lanes.receives, 0, count);
    }
    lanes.finish();
    channel.expect_good(2 * count);
  }
}

std::string described() {
  int length = 0;
  EXPECT_PST(PST_Describe(nullptr, 0, &length));
  std::string json(static_cast<std::size_t>(length) + 1, ' ');
  EXPECT_PST(PST_Describe(json.data(), length + 1, &length));
  return json;
}

std::uint64_t channels_by_words() {
  const std::string json = described(), name = "\"channels by words\":";
  const std::size_t at = json.find(name);
  return at == std::string::npos ? 0 : std::stoull(json.substr(at + name.size()));
}

TEST(Channels, TheDescriptionTellsTheForm) {
  const std::uint64_t before = channels_by_words();
  TestChannel channel(10, 2);
  const unsigned ends = (channel.sends() ? 1 : 0) + (channel.receives() ? 1 : 0);
  EXPECT_EQ(channels_by_words() - before, channels_have_words() ? ends : 0);
}

TEST(Channels, BothRanksSend) {
  const int peer = partner();
  std::vector<Element> out(100, static_cast<Element>(rank()) + 1), in(100, poison);
  std::array<MPI_Request, 2> ends{};
  EXPECT_PST(PST_Channel_send_init(out.data(), 100, MPI_UINT64_T, 10, peer, 5, MPI_COMM_WORLD,
                                   MPI_INFO_NULL, &ends[0]));
  EXPECT_PST(PST_Channel_recv_init(in.data(), 100, MPI_UINT64_T, 10, peer, 5, MPI_COMM_WORLD,
                                   MPI_INFO_NULL, &ends[1]));
  ASSERT_PST(PST_Matchall(2, ends.data(), MPI_STATUSES_IGNORE));
  Lane lane;
  for (int message = 0; message < 10; ++message) {
    EXPECT_PST(PST_Channel_put(lane.queue(), ends[0], 0, 100));
    EXPECT_PST(PST_Channel_wait(lane.queue(), ends[1], 0, 100));
    EXPECT_PST(PST_Channel_put_wait(lane.queue(), ends[0], 0, 100));
    lane.finish();
    EXPECT_EQ(in, std::vector<Element>(100, static_cast<Element>(peer) + 1));
    std::fill(in.begin(), in.end(), poison);
    EXPECT_PST(PST_Channel_release(lane.queue(), ends[1], 0, 100));
  }
  lane.finish();
  for (MPI_Request& end : ends) EXPECT_PST(PST_Request_free(&end));
}

// Neighbours, each on a stream and a thread of its own: units, or else their words, share cache
// lines.
void run_threads_on_neighbours(std::size_t length, Memory memory) {
  constexpr std::size_t threads = 16, messages = 20;
  TestChannel channel(threads * length, length, 0, memory);
  std::vector<std::unique_ptr<Lanes>> lanes;
  for (std::size_t unit = 0; unit < threads; ++unit) lanes.push_back(std::make_unique<Lanes>());
  std::vector<std::thread> workers;
  for (std::size_t unit = 0; unit < threads; ++unit)
    workers.emplace_back([&, unit] {
      for (std::size_t message = 0; message < messages; ++message) {
        const std::size_t first = unit * length;
        channel.put(lanes[unit]->sends, first, length);
        channel.put_wait(lanes[unit]->sends, first, length);
        channel.wait(lanes[unit]->receives, first, length);
        channel.release(lanes[unit]->receives, first, length);
      }
    });
  for (std::thread& worker : workers) worker.join();
  for (const auto& each : lanes) each->finish();
  channel.expect_good(threads * messages * length);
}
TEST(Channels, ThreadsOnNeighbours) {
  run_threads_on_neighbours(1, Memory::ordinary);
  for (const Memory memory : {Memory::ordinary, Memory::allocated})
    run_threads_on_neighbours(9, memory);
}

// ---- Random verbs of both ends against a model that both ranks compute alike. Each blocking verb
// stands behind what it needs, so that no order of the two ends is a deadlock.

struct ModelUnit {
  std::uint64_t put = 0, sent = 0, taken = 0, released = 0;
};

class Model {
 public:
  Model(std::uint64_t seed, std::size_t units, std::size_t unit, std::size_t count)
      : random_(seed), units_(units), unit_(unit), count_(count) {}

  // One verb over a random range of units that allow it. Returns how many elements it checks.
  std::size_t step(TestChannel& channel, Lanes& lanes) {
    const std::size_t verb = random_() % 4;
    const auto allowed = [&](const ModelUnit& unit) {
      if (verb == 0) return unit.put == unit.sent;
      if (verb == 1) return unit.put > unit.sent && unit.released >= unit.sent;
      if (verb == 2) return unit.taken == unit.released && unit.sent > unit.taken;
      return unit.taken > unit.released;
    };
    const std::size_t first = random_() % units_.size();
    const std::size_t most = 1 + random_() % units_.size();
    std::size_t end = first;
    while (end < units_.size() && end - first < most && allowed(units_[end])) ++end;
    if (end == first) return 0;
    run(verb, first, end, channel, lanes);
    return verb == 2 ? std::min(end * unit_, count_) - first * unit_ : 0;
  }

  // Every message that was put is waited for. Returns how many elements that checks.
  std::size_t drain(TestChannel& channel, Lanes& lanes) {
    std::size_t checked = 0;
    for (std::size_t at = 0; at < units_.size(); ++at) {
      ModelUnit& unit = units_[at];
      const auto do_now = [&](std::size_t verb) { run(verb, at, at + 1, channel, lanes); };
      const auto take = [&] {
        if (unit.taken > unit.released) do_now(3);
        if (unit.taken == unit.sent) return;
        do_now(2);
        do_now(3);
        checked += std::min((at + 1) * unit_, count_) - at * unit_;
      };
      take();
      if (unit.put > unit.sent) do_now(1);
      take();
    }
    return checked;
  }

 private:
  void run(std::size_t verb, std::size_t first, std::size_t end, TestChannel& channel,
           Lanes& lanes) {
    for (std::size_t unit = first; unit < end; ++unit) change(verb, units_[unit]);
    const std::size_t offset = first * unit_, length = std::min(end * unit_, count_) - offset;
    if (verb == 0) channel.put(lanes.sends, offset, length);
    if (verb == 1) channel.put_wait(lanes.sends, offset, length);
    if (verb == 2) channel.wait(lanes.receives, offset, length);
    if (verb == 3) channel.release(lanes.receives, offset, length);
  }
  static void change(std::size_t verb, ModelUnit& unit) {
    if (verb == 0) ++unit.put;
    if (verb == 1) unit.sent = unit.put;
    if (verb == 2) ++unit.taken;
    if (verb == 3) unit.released = unit.taken;
  }

  std::mt19937_64 random_;
  std::vector<ModelUnit> units_;
  std::size_t unit_, count_;
};

TEST(Channels, RandomVerbsOfBothEnds) {
  auto random = generator(77);
  const int channels = long_run() ? 40 : 8;
  const int steps = long_run() ? 100000 : 600;
  for (int each = 0; each < channels; ++each) {
    const std::size_t units = 1 + random() % 24;
    constexpr std::array<std::size_t, 5> sizes{1, 7, 16, 300, 3000};
    const std::size_t unit = sizes[random() % sizes.size()];
    const std::size_t count = units * unit - random() % unit;
    SCOPED_TRACE(std::to_string(units) + " units of " + std::to_string(unit));
    TestChannel channel(count, unit, 0, each % 2 == 0 ? Memory::ordinary : Memory::allocated);
    Lanes lanes;
    Model model(random(), units, unit, count);
    std::uint64_t checked = 0;
    for (int step = 0; step < steps; ++step) {
      checked += model.step(channel, lanes);
      if (step % 200 == 199) lanes.finish();
    }
    checked += model.drain(channel, lanes);
    lanes.finish();
    EXPECT_GT(checked, 0u);
    channel.expect_good(checked);
  }
}

}  // namespace
}  // namespace penstock::test
