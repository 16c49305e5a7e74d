// SPDX-License-Identifier: Apache-2.0
// The places for kernels that wait, as several processes count them on one GPU: no GPU is needed
// for that.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "base/error.hpp"
#include "peer_gpu/gpu_shares.hpp"
#include "unit/peer/two.hpp"

namespace penstock::peer_gpu {
namespace {

constexpr unsigned most = 48, processors = 132;
constexpr DeviceIdentity this_gpu{std::byte{1}}, other_gpu{std::byte{2}};

// Two processes whose shared memory reaches each other.
class GpuSharesTest : public ::testing::Test {
 protected:
  GpuSharesTest() : ends_(peer::introduce(settings_)) {
    std::vector<transport::WireRecord> addresses;
    for (int rank = 0; rank < 2; ++rank)
      addresses.push_back(shares(rank).address(*end(rank).transport));
    for (int rank = 0; rank < 2; ++rank)
      shares(rank).add_peers(end(rank).world, *end(rank).transport, addresses);
  }
  peer::End& end(int rank) { return (*ends_)[static_cast<std::size_t>(rank)]; }
  GpuShares& shares(int rank) { return *shares_[static_cast<std::size_t>(rank)]; }
  std::shared_ptr<WaitPlaces> places(int rank, const DeviceIdentity& gpu = this_gpu) {
    return shares(rank).places(gpu, processors, true);
  }

 private:
  const base::Settings settings_;
  const std::unique_ptr<std::array<peer::End, 2>> ends_;
  const std::array<std::shared_ptr<GpuShares>, 2> shares_{std::make_shared<GpuShares>(most),
                                                          std::make_shared<GpuShares>(most)};
};

using gpu::Standing;
using Place = WaitPlaces::Place;
using User = WaitPlaces::User;

TEST_F(GpuSharesTest, RoomIsSharedByTheProcessesOnOneGpu) {
  const auto ours = places(0);
  EXPECT_EQ(ours->room(), processors / 2);
  const auto elsewhere = places(1, other_gpu);
  EXPECT_EQ(ours->room(), processors / 2);
  const auto theirs = places(1);
  EXPECT_EQ(ours->room(), processors / 4);
  EXPECT_EQ(theirs->room(), processors / 4);
  EXPECT_EQ(elsewhere->room(), processors / 2);
}

// Such a kernel may have one block, which counts itself nowhere.
TEST_F(GpuSharesTest, KernelsOfOneBlockTakeOfTheRoom) {
  const auto ours = places(0);
  std::vector<Place> held;
  held.push_back(ours->take(User::queue));
  EXPECT_EQ(ours->room(), processors / 2);
  held.push_back(ours->take(User::queue));
  held.push_back(ours->take(User::graph));
  EXPECT_EQ(ours->room(), processors / 2 - 3);
  const auto pair = ours->take_for_pair();
  EXPECT_EQ(ours->room(), processors / 2 - 3);
  while (held.back().standing != Standing::at_gates) held.push_back(ours->take(User::graph));
  EXPECT_EQ(ours->room(), processors / 2 - most - 1);
}

TEST_F(GpuSharesTest, PlacesOfAllProcessesAddUp) {
  const std::array both{places(0), places(1)};
  std::array<unsigned, 3> standing{};
  std::vector<Place> held;
  for (std::size_t queue = 0; queue < 2 * most; ++queue) {
    held.push_back(both[queue % 2]->take(User::queue));
    ++standing[static_cast<std::size_t>(held.back().standing)];
  }
  EXPECT_EQ(standing[static_cast<std::size_t>(Standing::all_stay)], 1u);
  // Two kernels a queue.
  EXPECT_EQ(standing[static_cast<std::size_t>(Standing::one_stays)], most / 2);
  held.pop_back();
  EXPECT_EQ(both[0]->take(User::graph).standing, Standing::at_gates);
  held.clear();
  EXPECT_EQ(both[1]->take(User::queue).standing, Standing::all_stay);

  std::vector<std::shared_ptr<void>> pairs;
  for (int pair = 0; pair < 64; ++pair)
    if (auto place = both[static_cast<std::size_t>(pair % 2)]->take_for_pair())
      pairs.push_back(std::move(place));
  EXPECT_EQ(pairs.size(), 16u);
}

TEST(GpuShares, KeepsToWhatIsAskedFor) {
  for (const unsigned asked : {0u, 1u, 8u}) {
    const auto places = std::make_shared<GpuShares>(asked)->places(this_gpu, processors, true);
    std::vector<std::shared_ptr<void>> pairs;
    for (unsigned pair = 0; pair < processors; ++pair)
      if (auto place = places->take_for_pair()) pairs.push_back(std::move(place));
    EXPECT_EQ(pairs.size(), asked);
    if (asked == 0) {
      EXPECT_EQ(places->take(User::queue).standing, Standing::at_gates);
    }
  }
}

TEST_F(GpuSharesTest, WhoHasEndedHoldsNoPlaces) {
  const auto ours = places(0);
  const auto theirs = places(1);
  Place kept = theirs->take(User::queue);
  EXPECT_EQ(ours->take(User::queue).standing, Standing::one_stays);
  shares(1).leave();
  EXPECT_EQ(ours->room(), processors / 2);
  EXPECT_EQ(ours->take(User::queue).standing, Standing::all_stay);
  kept = {};  // by a graph that is destroyed after the library's end
  EXPECT_EQ(ours->room(), processors / 2);
}

TEST_F(GpuSharesTest, WhoHasDiedHoldsNoPlaces) {
  const auto ours = places(0);
  const auto theirs = places(1);
  const Place lost = theirs->take(User::queue);
  end(0).world.kill(1);
  EXPECT_EQ(ours->room(), processors / 2);
  EXPECT_EQ(ours->take(User::queue).standing, Standing::all_stay);
}

// The table lies in memory that is there only then. Where it was announced before, each process
// counted for itself.
TEST(GpuShares, IsAnnouncedAfterTheMemoryThatItLiesIn) {
  const base::Settings settings;
  peer::End end(settings, 0, 2);
  const auto shares = std::make_shared<GpuShares>(most);
  EXPECT_THROW((void)shares->address(*end.transport), base::Error);
  (void)end.transport->address();
  EXPECT_FALSE(shares->address(*end.transport).empty());
}

}  // namespace
}  // namespace penstock::peer_gpu
