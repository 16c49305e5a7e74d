// SPDX-License-Identifier: Apache-2.0
// The shipped port of a channel's words, its ends as threads of one process, compiled with
// ThreadSanitizer: two threads send neighbouring units, and the receiver may close at any moment
// and uses its buffer as soon as it may.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "peer/unit_port.hpp"
#include "protocol/explorer/report.hpp"

namespace penstock::threads {
namespace {

namespace segment = protocol::segment;
using peer::UnitPort;
using protocol::Progress;
using segment::Unit;

constexpr unsigned units = 4, senders = 2, numbers = 5;  // of a unit; the last one has two
constexpr std::uint64_t free_number = 0xfeefee;

class SegmentHost {
 public:
  explicit SegmentHost(bool shadowed) {
    sender_.ours = &at_sender_, sender_.theirs = &at_receiver_;
    receiver_.ours = &at_receiver_, receiver_.theirs = &at_sender_;
    sender_.buffer = reinterpret_cast<std::byte*>(out.data());
    receiver_.buffer = reinterpret_cast<std::byte*>(in.data());
    receiver_.shadow = shadowed ? reinterpret_cast<std::byte*>(shadow_.data()) : nullptr;
    sender_.target.address =
        reinterpret_cast<std::uintptr_t>(shadowed ? shadow_.data() : in.data());
    for (peer::UnitsSetup* each : {&sender_, &receiver_}) {
      each->writing = &at_sender_.writing;
      each->arrived = reinterpret_cast<std::byte*>(arrived_.data());
      each->target_stride = sizeof(std::uint64_t) * numbers;
      each->released = released_.data();
      each->bytes = sizeof(std::uint64_t) * out.size();
      each->unit_bytes = sizeof(std::uint64_t) * numbers;
    }
  }
  UnitPort sender() const { return UnitPort(sender_); }
  UnitPort receiver() const { return UnitPort(receiver_); }

  static unsigned first(Unit unit) { return unit * numbers; }
  unsigned end(Unit unit) const {
    return std::min<unsigned>(first(unit) + numbers, static_cast<unsigned>(out.size()));
  }
  static std::uint64_t number(std::uint64_t message, unsigned at) { return message * 1009 + at; }

  std::array<std::uint64_t, (units - 1) * numbers + 2> out{}, in{};

 private:
  peer::UnitsBlock at_sender_{}, at_receiver_{};
  std::array<std::uint64_t, units> arrived_{}, released_{};
  std::array<std::uint64_t, (units - 1) * numbers + 2> shadow_{};
  peer::UnitsSetup sender_, receiver_;
};

// Every other unit, from its own on.
void run_sender(SegmentHost& host, unsigned me, std::uint64_t messages) {
  std::array<segment::PutState, units> states;
  std::minstd_rand random(me + 1);
  for (std::uint64_t message = 1; message <= messages; ++message) {
    for (Unit unit = me; unit < units; unit += senders)
      for (unsigned at = SegmentHost::first(unit); at < host.end(unit); ++at)
        host.out[at] = SegmentHost::number(message, at);
    {
      UnitPort port = host.sender();
      segment::Writing writing(port);
      for (Unit unit = me; unit < units; unit += senders) segment::put(writing, unit, states[unit]);
    }
    if (random() % 8 == 0) std::this_thread::yield();
    for (bool all = false; !all; std::this_thread::yield()) {
      UnitPort port = host.sender();
      segment::Writing writing(port);
      all = true;
      for (Unit unit = me; unit < units; unit += senders)
        if (segment::put_wait(writing, unit, states[unit]) == Progress::pending) all = false;
      if (!all && port.load_closed<protocol::Order::acquire>() != 0) return;
    }
  }
}

// Closes before the last message of a unit, or behind all. Returns how many numbers are wrong.
std::size_t run_receiver(SegmentHost& host, std::uint64_t messages, std::uint64_t closes_at) {
  std::array<segment::TakeState, units> states;
  UnitPort port = host.receiver();
  std::size_t wrong = 0;
  for (std::uint64_t message = 1; message <= std::min(messages, closes_at); ++message)
    for (Unit unit = 0; unit < units; ++unit) {
      if (message == closes_at && unit == units - 1) break;
      while (!segment::has_arrived(port, unit, states[unit])) std::this_thread::yield();
      port.take_out(unit);
      segment::take(states[unit]);
      for (unsigned at = SegmentHost::first(unit); at < host.end(unit); ++at) {
        if (host.in[at] != SegmentHost::number(message, at)) ++wrong;
        host.in[at] = 0;
      }
      segment::release(port, unit, states[unit]);
    }
  segment::close(port);
  while (!segment::is_untouched(port)) std::this_thread::yield();
  host.in.fill(free_number);
  return wrong;
}

std::size_t run(bool shadowed, std::uint64_t messages, std::uint64_t closes_at) {
  SegmentHost host(shadowed);
  std::vector<std::thread> threads;
  for (unsigned me = 0; me < senders; ++me)
    threads.emplace_back([&, me] { run_sender(host, me, messages); });
  std::size_t wrong = run_receiver(host, messages, closes_at);
  for (std::thread& thread : threads) thread.join();
  for (const std::uint64_t number : host.in)
    if (number != free_number) ++wrong;
  return wrong;
}

TEST(SegmentThreads, EachUnitHasItsMessages) {
  const std::uint64_t messages = explorer::long_run() ? 100000 : 3000;
  for (const bool shadowed : {false, true}) EXPECT_EQ(run(shadowed, messages, messages + 1), 0u);
}

TEST(SegmentThreads, NothingComesIntoTheBufferOfAReceiverThatHasClosed) {
  std::minstd_rand random(7);
  for (unsigned repeat = 0; repeat < (explorer::long_run() ? 5000u : 200u); ++repeat)
    EXPECT_EQ(run(false, 20, 1 + random() % 20), 0u) << "repeat " << repeat;
}

}  // namespace
}  // namespace penstock::threads
