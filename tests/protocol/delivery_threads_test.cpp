// SPDX-License-Identifier: Apache-2.0
// The shipped port of deliveries, its members as threads of one process, compiled with
// ThreadSanitizer.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "peer/delivery_port.hpp"

namespace penstock::threads {
namespace {

namespace delivery = protocol::delivery;
using peer::DeliveryPort;
using peer::DeliverySeat;

constexpr unsigned delivery_epochs = 5000;
constexpr std::size_t block_numbers = 40;  // of a member for another one

// The seats and buffers of all, and who is dead. Nobody has anything for the member before it.
class DeliveryHost {
 public:
  explicit DeliveryHost(unsigned members)
      : members_(members), dead_(members), seats_(std::size_t{members} * members) {
    for (unsigned i = 0; i < members; ++i) {
      in_.emplace_back(block_numbers * members);
      out_.emplace_back(block_numbers * members);
    }
  }

  unsigned members() const { return members_; }
  bool has_block(unsigned from, unsigned to) const { return from != to + 1; }
  std::uint64_t* in(unsigned me, unsigned to) { return &in_[me][to * block_numbers]; }
  std::uint64_t* out(unsigned me, unsigned from) { return &out_[me][from * block_numbers]; }

  DeliveryPort::Route route(unsigned me, unsigned member) {
    constexpr std::size_t bytes = block_numbers * sizeof(std::uint64_t);
    DeliveryPort::Route route;
    route.block = {reinterpret_cast<const std::byte*>(in(me, member)),
                   has_block(me, member) ? bytes : 0, reinterpret_cast<std::byte*>(out(me, member)),
                   has_block(member, me) ? bytes : 0};
    route.target.address = reinterpret_cast<std::uintptr_t>(out(member, me));
    route.here = &seats_[me * members_ + member];
    route.there = &seats_[member * members_ + me];
    route.dead = &dead_[member];
    return route;
  }

 private:
  unsigned members_;
  std::vector<std::atomic<bool>> dead_;
  std::vector<DeliverySeat> seats_;
  std::vector<std::vector<std::uint64_t>> in_, out_;
};

std::uint64_t delivered_number(unsigned from, unsigned to, std::uint64_t epoch, std::size_t i) {
  return epoch * 1000003 + from * 7919 + to * 104729 + i;
}

void fill_blocks(DeliveryHost& host, unsigned me, std::uint64_t epoch) {
  for (unsigned other = 0; other < host.members(); ++other)
    for (std::size_t i = 0; i < block_numbers; ++i) {
      host.in(me, other)[i] = delivered_number(me, other, epoch, i);
      host.out(me, other)[i] = 0;
    }
}

std::size_t count_wrong_blocks(DeliveryHost& host, unsigned me, std::uint64_t epoch) {
  std::size_t wrong = 0;
  for (unsigned from = 0; from < host.members(); ++from)
    for (std::size_t i = 0; i < block_numbers; ++i)
      if (host.out(me, from)[i] !=
          (host.has_block(from, me) ? delivered_number(from, me, epoch, i) : 0))
        ++wrong;
  return wrong;
}

// As late as it likes; then it closes.
std::size_t run_deliverer(DeliveryHost& host, unsigned me, bool together) {
  std::vector<DeliveryPort::Route> routes;
  for (unsigned member = 0; member < host.members(); ++member)
    routes.push_back(host.route(me, member));
  DeliveryPort port(std::move(routes), me, together, nullptr);
  delivery::State state;
  std::minstd_rand random(me + 1);
  const auto linger = [&] {
    if (random() % 16 == 0) std::this_thread::yield();
  };
  std::size_t wrong = 0;
  for (std::uint64_t epoch = 1; epoch <= delivery_epochs; ++epoch) {
    fill_blocks(host, me, epoch);
    if (delivery::start(port, state) != protocol::StartOutcome::started) ++wrong;
    linger();
    while (delivery::wait(port, state) == protocol::Progress::pending) std::this_thread::yield();
    wrong += count_wrong_blocks(host, me, epoch);
    linger();
  }
  delivery::close(port, state);
  while (!delivery::all_closed(port)) std::this_thread::yield();
  return wrong;
}

TEST(DeliveryThreads, EachEpochBringsItsBlocks) {
  for (const unsigned members : {2u, 3u})
    for (const bool together : {false, true}) {
      DeliveryHost host(members);
      std::vector<std::size_t> wrong(members);
      std::vector<std::thread> threads;
      for (unsigned me = 0; me < members; ++me)
        threads.emplace_back([&, me] { wrong[me] = run_deliverer(host, me, together); });
      for (std::thread& thread : threads) thread.join();
      EXPECT_EQ(wrong, std::vector<std::size_t>(members)) << members << " members";
    }
}

}  // namespace
}  // namespace penstock::threads
