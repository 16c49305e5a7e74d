// SPDX-License-Identifier: Apache-2.0
// Both ends of a window's pair in one process: every operation arrives as it was listed.
#include "peer/window_port.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "protocol/window.hpp"

namespace penstock::peer {
namespace {

using transport::Element;
using transport::Operation;
using transport::Operations;
using transport::Reduction;
using transport::Verb;
using transport::WindowReach;

constexpr std::size_t window_bytes = 20000;

struct alignas(cache_line) Blocks {
  SenderBlock sender{};
  ReceiverBlock receiver{};
};

class WindowPortTest : public ::testing::Test {
 protected:
  WindowPortTest() : lines_(window_slots * slot_bytes), window_(window_bytes / 8) {
    PortSetup setup;
    setup.sender = &blocks_.sender;
    setup.receiver = &blocks_.receiver;
    setup.lines = lines_.data();
    setup.cut = {slot_bytes / window_line * WindowPort::payload, window_line, window_slots, 1};
    setup.other = {reinterpret_cast<std::uintptr_t>(window_.data()), 0};
    origin_ = std::make_unique<WindowPort>(setup);
    setup.buffer = reinterpret_cast<std::byte*>(window_.data());
    target_ = std::make_unique<WindowPort>(setup);
  }

  void run(const Operations& list, const WindowReach& reach, std::size_t eager_max) {
    protocol::window::post(*target_, target_state_);
    origin_->begin(list, way_of(list, reach, eager_max));
    ASSERT_EQ(protocol::window::complete(*origin_, origin_state_), protocol::Progress::ended);
    ASSERT_EQ(protocol::window::wait(*target_, target_state_), protocol::Progress::ended);
  }
  std::byte* bytes() { return reinterpret_cast<std::byte*>(window_.data()); }

  static constexpr std::size_t slot_bytes = 128 * window_line;
  static constexpr WindowReach by_lines{false, false, 30000};
  Blocks blocks_;
  std::vector<std::byte> lines_;
  std::vector<std::uint64_t> window_;
  std::unique_ptr<WindowPort> origin_, target_;
  protocol::window::OriginState origin_state_;
  protocol::window::TargetState target_state_;
};

TEST_F(WindowPortTest, PutsOfAllSizesInOneEpoch) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::byte> expected(bytes(), bytes() + window_bytes);
    std::vector<std::vector<std::byte>> sources;
    Operations list;
    for (std::size_t at = 0; at < window_bytes && random() % 20 != 0;) {
      const std::size_t count =
          std::min(window_bytes - at, std::size_t{random() % (random() % 4 == 0 ? 3000u : 20u)});
      auto& source = sources.emplace_back(count);
      for (auto& one : source) one = static_cast<std::byte>(random());
      list.push_back({Verb::put, {}, {}, source.data(), count, at});
      if (count > 0) std::memcpy(expected.data() + at, source.data(), count);
      at += count + random() % 5;
    }
    run(list, by_lines, 0);
    ASSERT_EQ(std::memcmp(bytes(), expected.data(), window_bytes), 0) << "round " << round;
  }
}

TEST_F(WindowPortTest, TheWaysOfAnEpoch) {
  std::uint64_t number = 5;
  const Operation put{Verb::put, {}, {}, &number, 8, 0};
  const Operation large{Verb::put, {}, {}, nullptr, 10000, 0};
  const Operation get{Verb::get, {}, {}, &number, 8, 8};
  const Operation add{Verb::accumulate, Reduction::sum, Element::uint64, &number, 8, 16};
  constexpr WindowReach mapped{true, true, 30000}, across{true, false, 30000};
  EXPECT_EQ(way_of({}, mapped, 100).head.lines, 0U);
  EXPECT_EQ(way_of({}, mapped, 100).head.parts, 0U);
  EXPECT_EQ(way_of({put, add}, mapped, 100).head.parts, 0U);
  EXPECT_EQ(way_of({put, add}, mapped, 100).eager_operations, 2U);
  EXPECT_EQ(way_of({large}, mapped, 100).head.parts, 1U);
  EXPECT_EQ(way_of({large}, mapped, 100).eager_operations, 0U);
  EXPECT_EQ(way_of({large}, by_lines, 0).head.parts, 0U);
  EXPECT_EQ(way_of({put, get}, mapped, 100).head.parts, 1U);
  // What cannot be added to from here goes by lines beside the get.
  const EpochWay both = way_of({put, get, add}, across, 100);
  EXPECT_EQ(both.head.parts, 1U);
  EXPECT_EQ(both.eager_operations, 1U);
  EXPECT_TRUE(both.goes_eager(add));
  EXPECT_FALSE(both.goes_eager(put));
}

}  // namespace
}  // namespace penstock::peer
