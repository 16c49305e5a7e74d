// SPDX-License-Identifier: Apache-2.0
// The two ends of a channel by words in one process: how messages travel, and when the memory of an
// end that is gone serves others.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "peer/unit_port.hpp"
#include "peer/units.hpp"
#include "unit/peer/two.hpp"

namespace penstock::peer {
namespace {

namespace segment = protocol::segment;
using protocol::Progress;
using segment::Unit;
using transport::Direction;

struct Channel {
  std::uint64_t bytes, unit_bytes;
  bool shared = false;  // the receive buffer
  std::uint64_t units() const { return (bytes + unit_bytes - 1) / unit_bytes; }
};

// Both ends, connected.
class Ends {
 public:
  Ends(End& from, End& to, const Channel& channel)
      : to_(to), out_(channel.bytes), own_(channel.shared ? 0 : channel.bytes) {
    if (channel.shared)
      shared_ = static_cast<std::byte*>(to.transport->memory().allocate(channel.bytes));
    sender = std::make_unique<Units>(
        *from.transport, message(Direction::send, to.world.rank(), out_.data(), channel));
    receiver = std::make_unique<Units>(
        *to.transport, message(Direction::receive, from.world.rank(), in(), channel),
        sender->record());
    sender->connect(receiver->record());
    receiver->confirm();
  }
  ~Ends() {
    if (shared_ != nullptr) to_.transport->memory().free(shared_);
  }
  Ends(const Ends&) = delete;
  Ends& operator=(const Ends&) = delete;

  std::byte* out() { return out_.data(); }
  std::byte* in() { return shared_ != nullptr ? shared_ : own_.data(); }

  static ChannelMessage message(Direction direction, int peer, std::byte* buffer,
                                const Channel& channel) {
    return {direction, peer, buffer, channel.bytes, channel.units(), channel.unit_bytes};
  }

  std::unique_ptr<Units> sender, receiver;

 private:
  End& to_;
  std::vector<std::byte> out_, own_;
  std::byte* shared_ = nullptr;
};

struct Way {
  const char* name;  // a part of its path
  Channel channel;
  bool cross_memory = true;
};

const std::vector<Way> ways{{"in a line", {200, 56}},
                            {"in a line", {1000, 8, true}},
                            {"straight", {1000, 57, true}},
                            {"straight", {4097 * 8, 8, true}},
                            {"straight", {100000, 30000, true}},
                            {"cross-memory", {100000, 30000}},
                            {"through memory", {100000, 30000}, false},
                            {"through memory", {4097 * 8 + 3, 8}},
                            {"through memory", {1000, 300}}};

TEST(PeerUnits, EachWayBringsEveryByteOfEveryMessage) {
  for (const Way& way : ways) {
    SCOPED_TRACE(way.name + std::to_string(way.channel.bytes));
    base::Settings settings;
    settings.cross_memory = way.cross_memory;
    const auto ends = introduce(settings);
    Ends channel((*ends)[0], (*ends)[1], way.channel);
    EXPECT_NE(channel.sender->path().find(way.name), std::string::npos) << channel.sender->path();
    EXPECT_EQ(channel.sender->path(), channel.receiver->path());
    const auto units = static_cast<Unit>(way.channel.units());
    std::vector<segment::PutState> puts(units);
    std::vector<segment::TakeState> takes(units);
    for (std::uint64_t message = 1; message <= 3; ++message) {
      for (std::size_t at = 0; at < way.channel.bytes; ++at) {
        channel.out()[at] = pattern(message, at);
        channel.in()[at] = std::byte{0xdd};
      }
      UnitPort from(channel.sender->setup()), to(channel.receiver->setup());
      segment::Writing writing(from);
      for (Unit unit = units; unit-- > 0;) {
        EXPECT_FALSE(segment::has_arrived(to, unit, takes[unit]));
        segment::put(writing, unit, puts[unit]);
        EXPECT_EQ(segment::put_wait(writing, unit, puts[unit]), Progress::ended);
      }
      for (Unit unit = 0; unit < units; ++unit) {
        ASSERT_TRUE(segment::has_arrived(to, unit, takes[unit]));
        to.take_out(unit);
        segment::take(takes[unit]);
        segment::release(to, unit, takes[unit]);
      }
      std::size_t wrong = 0;
      for (std::size_t at = 0; at < way.channel.bytes; ++at)
        if (channel.in()[at] != pattern(message, at)) ++wrong;
      EXPECT_EQ(wrong, 0u) << "message " << message;
    }
    channel.sender->leave();
    channel.receiver->leave();
  }
}

TEST(PeerUnits, AMessageThatIsNotReleasedIsNotWrittenOver) {
  const auto ends = introduce({});
  Ends channel((*ends)[0], (*ends)[1], {1000, 100, true});
  UnitPort from(channel.sender->setup()), to(channel.receiver->setup());
  segment::PutState put;
  segment::TakeState take;
  channel.out()[0] = std::byte{1};
  {
    segment::Writing writing(from);
    segment::put(writing, 0, put);
    segment::take(take);
    channel.out()[0] = std::byte{2};
    segment::put(writing, 0, put);
    EXPECT_EQ(segment::put_wait(writing, 0, put), Progress::pending);
    EXPECT_EQ(channel.in()[0], std::byte{1});
    segment::release(to, 0, take);
    EXPECT_EQ(segment::put_wait(writing, 0, put), Progress::ended);
    EXPECT_EQ(channel.in()[0], std::byte{2});
  }
  // Nor is one that its receiver has closed before.
  segment::take(take);
  segment::release(to, 0, take);
  segment::close(to);
  EXPECT_TRUE(segment::is_untouched(to));
  channel.out()[0] = std::byte{3};
  segment::Writing writing(from);
  segment::put(writing, 0, put);
  EXPECT_TRUE(writing.refused());
  EXPECT_EQ(channel.in()[0], std::byte{2});
  EXPECT_EQ(from.why_closed(), WhyClosed::given_up);
  channel.sender->leave();
  channel.receiver->leave();
}

TEST(PeerUnits, ABlockIsHeldUntilTheOtherEndHasLeft) {
  const auto ends = introduce({});
  End& a = (*ends)[0];
  End& b = (*ends)[1];
  const Channel channel{300000, 1000};
  const auto run = [&] {
    Ends both(a, b, channel);
    both.sender->leave();
    both.receiver->leave();
  };
  for (int i = 0; i < 5; ++i) run();
  const std::size_t before = b.transport->shared_memory()->file_bytes();
  for (int i = 0; i < 300; ++i) run();
  EXPECT_EQ(b.transport->shared_memory()->file_bytes(), before);

  Ends both(a, b, channel);
  both.sender->leave();
  both.sender.reset();
  a.transport->retired().sweep_all();
  EXPECT_EQ(a.transport->retired().size(), 1u);  // the receiver may store into it yet
  both.receiver->leave();
  a.transport->retired().sweep_all();
  EXPECT_EQ(a.transport->retired().size(), 0u);
  both.receiver.reset();
  b.transport->retired().sweep_all();
  EXPECT_EQ(b.transport->retired().size(), 0u);
}

TEST(PeerUnits, ABlockOfWhichNobodyKnowsIsFreeAtOnce) {
  const auto ends = introduce({});
  std::vector<std::byte> buffer(1000);
  const Channel channel{1000, 10};
  Units sender(*(*ends)[0].transport, Ends::message(Direction::send, 1, buffer.data(), channel));
  {
    const Units never(*(*ends)[1].transport,
                      Ends::message(Direction::receive, 0, buffer.data(), channel),
                      sender.record());
  }
  EXPECT_EQ((*ends)[1].transport->retired().size(), 0u);
}

TEST(PeerUnits, AWriteThatDoesNotEndIsWaitedForWhileItsSenderLives) {
  base::Settings settings;
  for (const bool dies : {true, false}) {
    settings.timeout = std::chrono::milliseconds(dies ? 0 : 5);
    const auto ends = introduce(settings);
    Ends channel((*ends)[0], (*ends)[1], {1000, 100, true});
    UnitPort from(channel.sender->setup()), to(channel.receiver->setup());
    from.begin_writing();
    segment::close(to);
    EXPECT_FALSE(segment::is_untouched(to));
    LastingCopy& copy = channel.receiver->lasting_copy();
    EXPECT_FALSE(copy.is_left_to_peer("a test"));
    if (dies) (*ends)[1].world.kill(0);
    while (!copy.is_left_to_peer("a test")) std::this_thread::yield();
    from.end_writing<std::memory_order_release>();
    EXPECT_TRUE(segment::is_untouched(to));
    channel.sender->leave();
    channel.receiver->leave();
  }
}

}  // namespace
}  // namespace penstock::peer
