// SPDX-License-Identifier: Apache-2.0
// Messages between two ends in one process, over every path, kind of send, size and alignment;
// every byte is checked on the stream.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "support/rounds.hpp"
#include "unit/peer/two.hpp"

namespace penstock::peer {
namespace {

using base::ErrorKind;

struct Way {
  const char* name;
  std::size_t eager_max;
  bool cross_memory;
  bool shared_buffers;
};

constexpr Way ways[] = {{"ring", 1 << 30, true, false},
                        {"shared", 0, false, true},
                        {"across", 0, true, false},
                        {"staged", 0, false, false},
                        {"default", 8192, true, true}};

base::Settings settings_for(const Way& way, unsigned slots = 2) {
  base::Settings settings;
  settings.eager_max = way.eager_max;
  settings.cross_memory = way.cross_memory;
  settings.slots = slots;
  return settings;
}

// A buffer at an odd address, with a margin that nobody may touch.
class Buffer {
 public:
  static constexpr std::size_t margin = 64;
  Buffer(End& end, bool shared, std::size_t bytes, std::size_t misalignment)
      : end_(end), bytes_(bytes) {
    if (shared)
      shared_ = static_cast<std::byte*>(
          end.transport->memory().allocate(bytes + 2 * margin + misalignment));
    else
      own_.resize(bytes + 2 * margin + misalignment);
    data_ = (shared ? shared_ : own_.data()) + margin + misalignment;
    std::memset(data_ - margin, 0xee, bytes + 2 * margin);
  }
  ~Buffer() {
    if (shared_ != nullptr) end_.transport->memory().free(shared_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  std::byte* data() { return data_; }
  bool margins_untouched(std::size_t used) const {
    for (std::size_t i = 1; i <= margin; ++i)
      if (data_[-static_cast<std::ptrdiff_t>(i)] != std::byte{0xee}) return false;
    for (std::size_t i = used; i < bytes_ + margin; ++i)
      if (data_[i] != std::byte{0xee}) return false;
    return true;
  }

 private:
  End& end_;
  std::size_t bytes_;
  std::vector<std::byte> own_;
  std::byte* shared_ = nullptr;
  std::byte* data_ = nullptr;
};

// One end's work of one epoch beside the message.
struct Work {
  std::byte* data;
  std::size_t bytes;
  std::uint64_t epoch;
  std::uint64_t* wrong;
  static void fill(void* argument) {
    const Work work = *static_cast<Work*>(argument);
    for (std::size_t i = 0; i < work.bytes; ++i) work.data[i] = pattern(work.epoch, i);
  }
  static void check(void* argument) {
    const Work work = *static_cast<Work*>(argument);
    for (std::size_t i = 0; i < work.bytes; ++i)
      if (work.data[i] != pattern(work.epoch, i)) ++*work.wrong;
  }
};

std::uint64_t exchange(End& a, End& b, Matched& pair, std::byte* from, std::byte* to,
                       std::size_t bytes, std::uint64_t first, int epochs) {
  std::vector<Work> work;
  work.reserve(static_cast<std::size_t>(epochs) * 2);
  std::uint64_t wrong = 0;
  for (int i = 0; i < epochs; ++i) {
    const std::uint64_t epoch = first + static_cast<std::uint64_t>(i);
    work.push_back({from, bytes, epoch, nullptr});
    a.stream->launch(&Work::fill, &work.back());
    pair.send->start(*a.stream, a.sink);
    pair.send->wait(*a.stream, a.sink);
    work.push_back({to, bytes, epoch, &wrong});
    pair.receive->start(*b.stream, b.sink);
    pair.receive->wait(*b.stream, b.sink);
    b.stream->launch(&Work::check, &work.back());
  }
  a.stream->synchronize({});
  b.stream->synchronize({});
  return wrong;
}

void expect_no_error(End& end) {
  const auto error = end.sink.error();
  EXPECT_FALSE(error) << error->text();
}

class PeerPairs : public ::testing::TestWithParam<std::tuple<Way, protocol::Mode>> {};

TEST_P(PeerPairs, G6EveryByteOfEveryEpochArrives) {
  const auto& [way, mode] = GetParam();
  // A buffered send does not wait for its receiver, so that it needs room for all epochs of a
  // round.
  const unsigned slots = mode == protocol::Mode::buffered ? 6 : 2;
  if (slots >= std::uint64_t{1} << PENSTOCK_FLAG_BITS)
    GTEST_SKIP() << "flags of so few bits do not tell the epochs of so many slots apart";
  const auto ends = introduce(settings_for(way, slots));
  End& a = (*ends)[0];
  End& b = (*ends)[1];
  std::mt19937_64 random(11);
  std::vector<std::size_t> sizes{
      0,    1,    7,    8,    55,   56,    57,    112,   113,   248,    249,    512,          513,
      4088, 4096, 4097, 8192, 8193, 16383, 16384, 32769, 70001, 131072, 200003, (1 << 20) + 3};
  for (int i = 0; i < 12; ++i) sizes.push_back(random() % 40000);
  for (const std::size_t bytes : sizes) {
    SCOPED_TRACE(bytes);
    Buffer from(a, way.shared_buffers, bytes, random() % 16);
    Buffer to(b, way.shared_buffers, bytes + 33, random() % 16);
    Matched pair = match(a, b, from.data(), bytes, to.data(), bytes + 33, mode);
    const int rounds = mode == protocol::Mode::ready || mode == protocol::Mode::buffered ? 6 : 1;
    std::uint64_t epoch = 1;
    for (int round = 0; round < rounds; ++round) {
      const int epochs = mode == protocol::Mode::ready      ? 1
                         : mode == protocol::Mode::buffered ? 5
                         : bytes > 20000                    ? 8
                                                            : 25;
      if (mode == protocol::Mode::ready) {
        // Its promise: the receive has been started.
        Work fill{from.data(), bytes, epoch, nullptr};
        pair.receive->start(*b.stream, b.sink);
        b.stream->synchronize({});
        a.stream->launch(&Work::fill, &fill);
        pair.send->start(*a.stream, a.sink);
        pair.send->wait(*a.stream, a.sink);
        pair.receive->wait(*b.stream, b.sink);
        a.stream->synchronize({});
        b.stream->synchronize({});
        std::uint64_t wrong = 0;
        Work check{to.data(), bytes, epoch, &wrong};
        Work::check(&check);
        ASSERT_EQ(wrong, 0u);
      } else {
        ASSERT_EQ(exchange(a, b, pair, from.data(), to.data(), bytes, epoch, epochs), 0u);
      }
      epoch += static_cast<std::uint64_t>(epochs);
    }
    EXPECT_TRUE(to.margins_untouched(bytes));
    pair.send->close();
    pair.receive->close();
  }
  expect_no_error(a);
  expect_no_error(b);
}

std::string name_of(const ::testing::TestParamInfo<std::tuple<Way, protocol::Mode>>& parameter) {
  constexpr const char* names[] = {"Standard", "Synchronous", "Ready", "Buffered"};
  const auto& [way, mode] = parameter.param;
  return std::string(way.name) + names[static_cast<std::size_t>(mode)];
}

INSTANTIATE_TEST_SUITE_P(
    Ways, PeerPairs,
    ::testing::Combine(::testing::ValuesIn(ways),
                       ::testing::Values(protocol::Mode::standard, protocol::Mode::synchronous,
                                         protocol::Mode::ready, protocol::Mode::buffered)),
    name_of);

TEST(PeerPath, IsTheOneThatFits) {
  const std::pair<Way, const char*> expected[] = {
      {ways[0], "ring"},
      {ways[1], "rendezvous, shared memory"},
      {ways[2], "rendezvous, cross-memory copy"},
      {ways[3], "whole message staged as a buffer is out of reach"}};
  for (const auto& [way, words] : expected) {
    const auto ends = introduce(settings_for(way));
    const std::string why = (*ends)[0].transport->usable().why;
    if (way.cross_memory && why.find("not possible") != std::string::npos)
      continue;  // forbidden here
    Buffer from((*ends)[0], way.shared_buffers, 9000, 0);
    Buffer to((*ends)[1], way.shared_buffers, 9000, 0);
    Matched pair = match((*ends)[0], (*ends)[1], from.data(), 9000, to.data(), 9000);
    EXPECT_NE(pair.send->path().find(words), std::string::npos) << pair.send->path();
    EXPECT_NE(pair.receive->path().find(words), std::string::npos) << pair.receive->path();
  }
}

TEST(PeerSelf, L19MessagesToOneselfOnOneStreamAndOnTwo) {
  for (const std::size_t eager_max : {std::size_t{0}, std::size_t{1} << 30}) {
    for (const bool one_stream : {true, false}) {
      base::Settings settings;
      settings.eager_max = eager_max;
      End end(settings, 0, 1);
      const std::vector<transport::WireRecord> address{end.transport->address()};
      end.transport->add_peers(address);
      end.transport->peers_added();
      const auto second = one_stream ? end.stream : make_stream();
      std::vector<std::byte> from(300000), to(300000);  // large enough for both sides to copy
      Matched pair = match(end, end, from.data(), from.size(), to.data(), to.size());
      for (std::uint64_t epoch = 1; epoch <= 50; ++epoch) {
        Work fill{from.data(), from.size(), epoch, nullptr};
        Work::fill(&fill);
        pair.receive->start(*second, end.sink);
        pair.send->start(*end.stream, end.sink);
        pair.send->wait(*end.stream, end.sink);
        pair.receive->wait(*second, end.sink);
        end.stream->synchronize({});
        second->synchronize({});
        ASSERT_EQ(std::memcmp(from.data(), to.data(), from.size()), 0);
      }
      pair.send->close();
      pair.receive->close();
      expect_no_error(end);
    }
  }
}

TEST(PeerRing, L12RunsAheadBySlotsMinusOne) {
  for (const unsigned slots : {2u, 3u}) {
    const auto ends = introduce(settings_for(ways[0], slots));
    End& a = (*ends)[0];
    End& b = (*ends)[1];
    std::uint64_t from = 5, to = 0;
    Matched pair = match(a, b, &from, 8, &to, 8);
    std::atomic<std::uint64_t> passed{0};
    const auto pass = [](void* count) {
      static_cast<std::atomic<std::uint64_t>*>(count)->fetch_add(1);
    };
    for (std::uint64_t i = 1; i <= 6; ++i) {
      pair.send->start(*a.stream, a.sink);
      pair.send->wait(*a.stream, a.sink);
      a.stream->launch(pass, &passed);
    }
    a.sink.when_blocked([&](transport::Waiter& plan) {
      EXPECT_EQ(passed.load(), slots - 1);
      EXPECT_NE(plan.describe().find("epoch " + std::to_string(slots)), std::string::npos)
          << plan.describe();
    });
    for (int i = 0; i < 6; ++i) {
      pair.receive->start(*b.stream, b.sink);
      pair.receive->wait(*b.stream, b.sink);
    }
    b.stream->synchronize({});
    a.stream->synchronize({});
    expect_no_error(a);
  }
}

TEST(PeerBuffered, G5FullLibraryBuffersAreAnError) {
  const auto ends = introduce(settings_for(ways[0], 2));
  End& a = (*ends)[0];
  End& b = (*ends)[1];
  std::vector<std::byte> from(50000), to(50000);
  Matched pair =
      match(a, b, from.data(), from.size(), to.data(), to.size(), protocol::Mode::buffered);
  for (int i = 0; i < 2; ++i) {
    pair.send->start(*a.stream, a.sink);
    pair.send->wait(*a.stream, a.sink);
  }
  a.stream->synchronize({});
  expect_no_error(a);
  pair.send->start(*a.stream, a.sink);
  pair.send->wait(*a.stream, a.sink);
  a.stream->synchronize({});
  ASSERT_TRUE(a.sink.error());
  EXPECT_EQ(a.sink.error()->kind(), ErrorKind::buffer);
}

TEST(PeerReady, G5BrokenPromiseIsReportedWhenChecked) {
  for (const std::size_t eager_max : {std::size_t{0}, std::size_t{1} << 30}) {
    base::Settings settings;
    settings.eager_max = eager_max;
    settings.check = true;
    const auto ends = introduce(settings);
    End& a = (*ends)[0];
    End& b = (*ends)[1];
    std::vector<std::byte> from(5000), to(5000);
    Matched pair =
        match(a, b, from.data(), from.size(), to.data(), to.size(), protocol::Mode::ready);
    pair.receive->start(*b.stream, b.sink);
    b.stream->synchronize({});
    pair.send->start(*a.stream, a.sink);
    pair.send->wait(*a.stream, a.sink);
    a.stream->synchronize({});
    expect_no_error(a);
    pair.send->start(*a.stream, a.sink);
    pair.send->wait(*a.stream, a.sink);
    a.stream->synchronize({});
    ASSERT_TRUE(a.sink.error());
    EXPECT_EQ(a.sink.error()->kind(), ErrorKind::ready);
  }
}

TEST(PeerReady, L9TokenMayJustifyIt) {
  for (const Way& way : ways) {
    SCOPED_TRACE(way.name);
    const auto ends = introduce(settings_for(way));
    End& a = (*ends)[0];
    End& b = (*ends)[1];
    constexpr std::size_t bytes = 20000;
    constexpr int epochs = test::fewer_rounds(200, 4);
    Buffer from(a, way.shared_buffers, bytes, 0);
    Buffer to(b, way.shared_buffers, bytes, 0);
    std::uint64_t token_from = 1, token_to = 0;
    Matched data = match(a, b, from.data(), bytes, to.data(), bytes, protocol::Mode::ready);
    Matched token = match(b, a, &token_from, 8, &token_to, 8);
    std::vector<Work> work(2 * epochs);
    std::uint64_t wrong = 0;
    for (int i = 0; i < epochs; ++i) {
      const auto epoch = static_cast<std::uint64_t>(i + 1);
      Work& fill = work[static_cast<std::size_t>(2 * i)];
      Work& check = work[static_cast<std::size_t>(2 * i + 1)];
      fill = {from.data(), bytes, epoch, nullptr};
      check = {to.data(), bytes, epoch, &wrong};
      token.receive->start(*a.stream, a.sink);
      token.receive->wait(*a.stream, a.sink);
      a.stream->launch(&Work::fill, &fill);
      data.send->start(*a.stream, a.sink);
      data.send->wait(*a.stream, a.sink);
      data.receive->start(*b.stream, b.sink);
      token.send->start(*b.stream, b.sink);
      token.send->wait(*b.stream, b.sink);
      data.receive->wait(*b.stream, b.sink);
      b.stream->launch(&Work::check, &check);
    }
    a.stream->synchronize({});
    b.stream->synchronize({});
    EXPECT_EQ(wrong, 0u);
    expect_no_error(a);
    expect_no_error(b);
  }
}

// Both ends of a large message copy a part when both wait; whoever comes first begins.
TEST(PeerRendezvous, G6BothSidesCopyOneMessage) {
  for (const Way& way : {ways[1], ways[2]}) {
    SCOPED_TRACE(way.name);
    const auto ends = introduce(settings_for(way));
    End& a = (*ends)[0];
    End& b = (*ends)[1];
    constexpr std::size_t bytes = 400001;
    Buffer from(a, way.shared_buffers, bytes, 3), back_to(a, way.shared_buffers, bytes, 0);
    Buffer to(b, way.shared_buffers, bytes, 1);
    Matched there = match(a, b, from.data(), bytes, to.data(), bytes);
    Matched back = match(b, a, to.data(), bytes, back_to.data(), bytes);
    constexpr int epochs = test::fewer_rounds(150, 5);
    std::vector<Work> work(2 * epochs);
    std::uint64_t wrong = 0;
    for (int i = 0; i < epochs; ++i) {
      const auto epoch = static_cast<std::uint64_t>(i + 1);
      Work& fill = work[static_cast<std::size_t>(2 * i)];
      Work& check = work[static_cast<std::size_t>(2 * i + 1)];
      fill = {from.data(), bytes, epoch, nullptr};
      check = {back_to.data(), bytes, epoch, &wrong};
      a.stream->launch(&Work::fill, &fill);
      there.send->start(*a.stream, a.sink);
      there.send->wait(*a.stream, a.sink);
      back.receive->start(*a.stream, a.sink);
      back.receive->wait(*a.stream, a.sink);
      a.stream->launch(&Work::check, &check);
      there.receive->start(*b.stream, b.sink);
      there.receive->wait(*b.stream, b.sink);
      back.send->start(*b.stream, b.sink);
      back.send->wait(*b.stream, b.sink);
    }
    a.stream->synchronize({});
    b.stream->synchronize({});
    EXPECT_EQ(wrong, 0u);
    expect_no_error(a);
    expect_no_error(b);
  }
}

}  // namespace
}  // namespace penstock::peer
