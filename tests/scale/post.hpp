// SPDX-License-Identifier: Apache-2.0
// Carriers of many simulated ranks in one process: bundles of letters lie in memory until their
// time has come. Time is counted in microseconds of the simulation, and passes from event to event.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <queue>
#include <random>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "group/carrier.hpp"

namespace penstock::scale {

struct PostOptions {
  std::uint64_t least_delay = 1, most_delay = 10;  // of a bundle, us
  // Bundles that lie at a rank while it reads none; those beyond are not taken from their senders,
  // as MPI does not take messages for whom its queues are full.
  std::size_t places = 64;
};

class Post {
 public:
  using Time = std::uint64_t;
  using Bytes = std::vector<std::byte>;

  Post(int ranks, const PostOptions& options, std::uint32_t seed)
      : options_(options), random_(seed), boxes_(static_cast<std::size_t>(ranks)) {}

  int ranks() const noexcept { return static_cast<int>(boxes_.size()); }
  Time now() const noexcept { return now_; }
  std::uint64_t random(std::uint64_t least, std::uint64_t most) {
    return std::uniform_int_distribution<std::uint64_t>(least, most)(random_);
  }

  void wake(int rank, Time when) { events_.emplace(when, rank); }
  // The next rank for which there is something, at its time; -1: for none.
  int next();
  // A rank that has ended reads nothing any more, and gets nothing: letters to it are gone.
  void end(int rank);

  std::uint64_t bundles() const noexcept { return bundles_; }
  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  friend class MemoryCarrier;
  struct Bundle {
    int from = -1;
    Bytes bytes;
    std::shared_ptr<bool> taken;  // null: it was when it was sent
  };
  struct Box {
    std::multimap<Time, Bundle> bundles;  // by arrival
    bool ended = false;
    bool woken = false;  // something has been taken from this rank that it asks for
  };

  void take(const Bundle& bundle);  // its sender need not keep it any more
  Box& box(int rank) { return boxes_[static_cast<std::size_t>(rank)]; }
  bool is_due(const Box& box) const {
    return box.woken || (!box.bundles.empty() && box.bundles.begin()->first <= now_);
  }

  const PostOptions options_;
  std::mt19937 random_;
  std::vector<Box> boxes_;
  using Event = std::pair<Time, int>;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  Time now_ = 0;
  std::uint64_t bundles_ = 0, bytes_ = 0;
};

class MemoryCarrier final : public group::Carrier {
 public:
  MemoryCarrier(Post& post, int rank) : post_(post), rank_(rank) {}

  int ranks() const override { return post_.ranks(); }
  Step send(int rank, std::span<const std::byte> bytes, Transfer& transfer) noexcept override;
  Step test(Transfer& transfer) noexcept override;
  std::optional<Arrival> find() override;
  Step receive(const Arrival& arrival, std::span<std::byte> bytes,
               Transfer& transfer) noexcept override;
  void abandon(Transfer transfer) noexcept override;
  std::string text_of(int) const override { return "the simulated rank has ended"; }

 private:
  Post& post_;
  const int rank_;
  std::unordered_map<int, Post::Time> last_arrival_;  // by rank
  std::unordered_map<Transfer, std::shared_ptr<bool>> under_way_;
  std::unordered_map<Announced, Post::Bytes> announced_;
  std::uintptr_t last_ = 0;
};

}  // namespace penstock::scale
