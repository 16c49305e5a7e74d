// SPDX-License-Identifier: Apache-2.0
// Two ends of the peer transport in one process, each with a world of its own: they reach each
// other as two processes would, by opening and mapping each other's shared memory. And a process
// alone, for messages to itself.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/settings.hpp"
#include "device/host/stream.hpp"
#include "group/world.hpp"
#include "peer/peer.hpp"

namespace penstock::peer {

class FakeWorld final : public group::World {
 public:
  FakeWorld(int rank, int size) : dead_(static_cast<std::size_t>(size)) {
    rank_ = rank;
    size_ = processes_on_host_ = size;
    host_ = mpi_version_ = "here";
  }

  // As if all said what we say.
  std::vector<std::vector<std::byte>> all_gather(std::span<const std::byte> mine) override {
    return std::vector(dead_.size(), std::vector(mine.begin(), mine.end()));
  }
  const std::atomic<bool>& dead(int rank) const noexcept override {
    return dead_[static_cast<std::size_t>(rank)];
  }
  void watch(int) noexcept override {}
  void wake() noexcept override {}
  void kill(int rank) { dead_[static_cast<std::size_t>(rank)].store(true); }

 private:
  std::vector<std::atomic<bool>> dead_;
};

class RecordingSink final : public transport::Sink {
 public:
  void fail(const base::Error& error) noexcept override { error_.set(error); }
  void blocked_since(transport::Waiter& waiter) noexcept override {
    const std::lock_guard lock(mutex_);
    blocked_ = &waiter;
  }
  void unblocked(transport::Waiter&) noexcept override {
    const std::lock_guard lock(mutex_);
    blocked_ = nullptr;
  }
  std::optional<base::Error> error() {
    const base::Error* const first = error_.get();
    return first != nullptr ? std::optional(*first) : std::nullopt;
  }
  template <class Act>
  void when_blocked(Act act) {
    for (;; std::this_thread::yield()) {
      const std::lock_guard lock(mutex_);
      if (blocked_ == nullptr) continue;
      act(*blocked_);
      return;
    }
  }

 private:
  std::mutex mutex_;
  transport::Waiter* blocked_ = nullptr;
};

inline std::shared_ptr<device::host::Stream> make_stream() {
  return std::make_shared<device::host::Stream>(std::chrono::microseconds(20));
}

// A rank of a job of `size` ranks in this process.
struct End {
  End(const base::Settings& settings, int rank, int size)
      : settings_(settings),
        world(rank, size),
        transport(std::make_unique<Peer>(settings_, world)) {}

  base::Settings settings_;
  FakeWorld world;
  std::unique_ptr<Peer> transport;
  RecordingSink sink;
  std::shared_ptr<device::host::Stream> stream = make_stream();
};

inline void once(transport::Plan& plan, End& end) {
  plan.start(*end.stream, end.sink);
  plan.wait(*end.stream, end.sink);
}

inline std::unique_ptr<std::array<End, 2>> introduce(const base::Settings& settings) {
  std::unique_ptr<std::array<End, 2>> ends(
      new std::array<End, 2>{End(settings, 0, 2), End(settings, 1, 2)});
  std::vector<transport::WireRecord> addresses;
  for (End& end : *ends) addresses.push_back(end.transport->address());
  for (End& end : *ends) end.transport->add_peers(addresses);
  for (End& end : *ends) end.transport->peers_added();
  return ends;
}

struct Matched {
  std::unique_ptr<transport::Plan> send;
  std::unique_ptr<transport::Plan> receive;
};

// The handshake between a sender and a receiver that both live here. Throws what the transport
// throws.
inline Matched match(End& sender, End& receiver, void* from, std::size_t bytes, void* to,
                     std::size_t room, protocol::Mode mode = protocol::Mode::standard) {
  transport::Message send;
  send.direction = transport::Direction::send;
  send.mode = mode;
  send.buffer = from;
  send.bytes = bytes;
  send.peer = receiver.world.rank();
  transport::Message receive = send;
  receive.direction = transport::Direction::receive;
  receive.buffer = to;
  receive.bytes = room;
  receive.peer = sender.world.rank();
  transport::Message told = send;
  told.buffer = nullptr;

  const auto offer = sender.transport->offer(send);
  const auto acceptance = receiver.transport->accept(receive, told, offer->record());
  Matched matched;
  matched.send = offer->connect(acceptance->record());
  matched.receive = acceptance->confirm();
  return matched;
}

inline std::byte pattern(std::uint64_t epoch, std::size_t at) {
  return static_cast<std::byte>((epoch * 131 + at * 7 + (at >> 8)) & 0xff);
}

}  // namespace penstock::peer
