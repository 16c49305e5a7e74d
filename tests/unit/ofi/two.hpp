// SPDX-License-Identifier: Apache-2.0
// Two ends of the transport "ofi" in one process, over the provider of this machine.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "ofi/ofi.hpp"
#include "unit/peer/two.hpp"

namespace penstock::ofi {

using peer::FakeWorld;
using peer::make_stream;
using peer::RecordingSink;

struct Rank {
  Rank(const base::Settings& given, int rank, bool for_gpus)
      : settings(given),
        world(rank, 2),
        transport(make_transport(
            settings, world, std::chrono::microseconds(0), [] { return true; }, for_gpus)) {}

  // What the transport has counted under that name.
  std::uint64_t count(std::string_view name) const {
    for (const auto& [what, number] : transport->counts())
      if (what == name) return number;
    ADD_FAILURE() << "there is no count " << name;
    return 0;
  }

  base::Settings settings;
  FakeWorld world;
  std::unique_ptr<transport::Transport> transport;
  RecordingSink sink;
  std::shared_ptr<device::host::Stream> stream = make_stream();

  // before, start, wait, after, in the order of the stream
  void enqueue(transport::Plan& plan, void (*before)(void*), void (*after)(void*), void* argument) {
    if (before != nullptr) stream->launch(before, argument);
    plan.start(*stream, sink);
    plan.wait(*stream, sink);
    if (after != nullptr) stream->launch(after, argument);
  }
};

inline transport::Message message(transport::Direction direction, protocol::Mode mode,
                                  std::vector<std::byte>& buffer, std::size_t bytes) {
  transport::Message one;
  one.direction = direction;
  one.mode = mode;
  one.buffer = buffer.data();
  one.bytes = bytes;
  one.peer = direction == transport::Direction::send ? 1 : 0;
  return one;
}

// A job of two ranks with one pair, rank 0 sending.
class OfiTwo : public ::testing::Test {
 protected:
  void introduce(const base::Settings& settings, bool for_gpus = false) {
    for (int rank = 0; rank < 2; ++rank)
      ends_[rank] = std::make_unique<Rank>(settings, rank, for_gpus);
    std::vector<transport::WireRecord> addresses;
    for (const auto& end : ends_) addresses.push_back(end->transport->address());
    for (const auto& end : ends_) end->transport->add_peers(addresses);
  }
  // Without a provider that defers work there is nothing to be seen here.
  bool served() { return end(0).transport->usable().yes; }

  void match(std::size_t bytes, protocol::Mode mode) {
    out_.assign(bytes, std::byte{0});
    in_.assign(bytes, std::byte{0});
    filled_ = checked_ = 0;
    const transport::Message send = message(transport::Direction::send, mode, out_, bytes);
    const transport::Message receive = message(transport::Direction::receive, mode, in_, bytes);
    std::tie(send_, receive_) = connect(send, receive);
  }
  std::pair<std::unique_ptr<transport::Plan>, std::unique_ptr<transport::Plan>> connect(
      const transport::Message& send, const transport::Message& receive) {
    const auto offer = end(0).transport->offer(send);
    const auto acceptance = end(1).transport->accept(receive, send, offer->record());
    auto sending = offer->connect(acceptance->record());
    return {std::move(sending), acceptance->confirm()};
  }
  void free() {
    for (std::unique_ptr<transport::Plan>* plan : {&send_, &receive_}) {
      if (*plan) (*plan)->close();
      plan->reset();
    }
  }

  void leave() {
    for (auto& end : ends_) end.reset();
  }

  // All starts and waits are enqueued before the first one can run; then nobody but the library's
  // own threads acts.
  void run_ahead(
      std::uint64_t epochs, const std::function<void()>& before_they_run = [] {}) {
    std::atomic<bool> go = false;
    for (const auto& end : ends_) end->stream->launch(&OfiTwo::hold, &go);
    for (std::uint64_t epoch = 1; epoch <= epochs; ++epoch) {
      end(1).enqueue(*receive_, nullptr, &OfiTwo::check, this);
      end(0).enqueue(*send_, &OfiTwo::fill, nullptr, this);
    }
    before_they_run();
    go = true;
    for (const auto& end : ends_) end->stream->synchronize({});
    EXPECT_EQ(checked_, epochs);
    EXPECT_EQ(wrong_, 0u);
    for (const auto& end : ends_)
      if (const auto error = end->sink.error()) ADD_FAILURE() << error->text();
  }

  Rank& end(int rank) { return *ends_[rank]; }
  void TearDown() override { free(); }

 private:
  static void hold(void* go) {
    while (!static_cast<std::atomic<bool>*>(go)->load()) std::this_thread::yield();
  }
  static std::byte value(std::uint64_t epoch) { return static_cast<std::byte>(epoch * 37 + 11); }
  static void fill(void* test) {
    auto& self = *static_cast<OfiTwo*>(test);
    std::fill(self.out_.begin(), self.out_.end(), value(++self.filled_));
  }
  static void check(void* test) {
    auto& self = *static_cast<OfiTwo*>(test);
    const std::byte expected = value(++self.checked_);
    const auto& in = self.in_;
    if (in.empty()) return;
    // Each byte is as the one before it.
    self.wrong_ += in[0] != expected || std::memcmp(in.data(), in.data() + 1, in.size() - 1) != 0;
  }

  std::array<std::unique_ptr<Rank>, 2> ends_;
  std::vector<std::byte> out_, in_;
  std::unique_ptr<transport::Plan> send_, receive_;
  std::uint64_t filled_ = 0, checked_ = 0;
  std::size_t wrong_ = 0;
};

inline base::Settings only_ofi() {
  base::Settings settings;
  settings.transports = {"ofi"};
  return settings;
}

}  // namespace penstock::ofi
