// SPDX-License-Identifier: Apache-2.0
// The shipped port of the direct exchange, its members as threads of one process, compiled with
// ThreadSanitizer and with flags of three bits.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "peer/rally_port.hpp"

namespace penstock::threads {
namespace {

namespace rally = protocol::rally;
using peer::RallyBlock;
using peer::RallyPort;

constexpr unsigned rally_epochs = 5000;

// The blocks of all, and who is dead.
class Host {
 public:
  Host(unsigned members, std::size_t bytes) : dead_(members) {
    for (unsigned member = 0; member < members; ++member) {
      RallyBlock block{nullptr, members, peer::rally_cut(bytes).slot_bytes()};
      memory_.emplace_back(block.bytes() / peer::cache_line);
      block.memory = memory_.back().front().bytes;
      blocks_.push_back(block);
    }
  }

  RallyPort::Route route(unsigned me, unsigned member, const transport::GroupBlock& block) const {
    RallyPort::Route route(block);
    if (member == me) return route;
    const RallyBlock &here = blocks_[me], &there = blocks_[member];
    route.there.slots = there.slots(RallyBlock::seat(member, me));
    route.here.slots = here.slots(RallyBlock::seat(me, member));
    route.there.slot_bytes = route.here.slot_bytes = here.slot_bytes;
    route.closed_there = there.closed(RallyBlock::seat(member, me));
    route.closed_here = here.closed(RallyBlock::seat(me, member));
    route.dead = &dead_[member];
    return route;
  }

 private:
  struct alignas(peer::cache_line) Line {
    std::byte bytes[peer::cache_line] = {};
  };
  std::vector<std::vector<Line>> memory_;
  std::vector<RallyBlock> blocks_;
  std::vector<std::atomic<bool>> dead_;
};

std::uint64_t number_of(unsigned member, std::uint64_t epoch, std::size_t i) {
  return epoch * 1000003 + member * 7919 + i;
}

// Adds up numbers of all in place, as late as it likes; then closes.
std::size_t run_member(const Host& host, unsigned members, unsigned me, std::size_t count) {
  std::vector<std::uint64_t> data(count);
  auto* const bytes = reinterpret_cast<std::byte*>(data.data());
  const transport::GroupBlock block{bytes, count * 8, bytes, count * 8};
  std::vector<RallyPort::Route> routes;
  for (unsigned member = 0; member < members; ++member)
    routes.push_back(host.route(me, member, block));
  RallyPort port(std::move(routes), me,
                 transport::combiner_of({transport::Reduction::sum, transport::Element::uint64}));
  rally::State state;
  std::minstd_rand random(me + 1);
  const auto linger = [&] {
    if (random() % 16 == 0) std::this_thread::yield();
  };
  std::size_t wrong = 0;
  for (std::uint64_t epoch = 1; epoch <= rally_epochs; ++epoch) {
    for (std::size_t i = 0; i < count; ++i) data[i] = number_of(me, epoch, i);
    if (rally::start(port, state) != protocol::StartOutcome::started) ++wrong;
    linger();
    while (rally::wait(port, state) == protocol::Progress::pending) std::this_thread::yield();
    for (std::size_t i = 0; i < count; ++i) {
      std::uint64_t sum = 0;
      for (unsigned member = 0; member < members; ++member) sum += number_of(member, epoch, i);
      if (data[i] != sum) ++wrong;
    }
    linger();
  }
  rally::close(port, state);
  while (!rally::all_closed(port)) std::this_thread::yield();
  return wrong;
}

// In one line, in three, and nothing but the flag.
TEST(RallyThreads, EachEpochAddsUp) {
  for (const unsigned members : {2u, 3u})
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{600}}) {
      const Host host(members, count * 8);
      std::vector<std::size_t> wrong(members);
      std::vector<std::thread> threads;
      for (unsigned me = 0; me < members; ++me)
        threads.emplace_back([&, me] { wrong[me] = run_member(host, members, me, count); });
      for (std::thread& thread : threads) thread.join();
      EXPECT_EQ(wrong, std::vector<std::size_t>(members)) << members << " members, " << count;
    }
}

}  // namespace
}  // namespace penstock::threads
