// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "comb/decomposition.hpp"
#include "comb/kernels.hpp"
#include "common/exchange.hpp"

namespace penstock::comb {

// What one kernel packs where all messages are packed at once: those of at least `cutoff` values
// have a kernel each, and the smaller ones have one together; without a cutoff all have one.
std::vector<Group> groups_of(const std::vector<apps::Neighbour>& neighbours,
                             std::optional<std::size_t> cutoff);

// One cycle: zones are set, ghosts are exchanged and everything is checked. Each cycle has other
// values than the one before it.
class Cycle final : public apps::Work {
 public:
  struct How {
    bool with_messages = true;
    bool checked = true;
    std::optional<std::size_t> cutoff{};
  };
  Cycle(std::vector<apps::Neighbour> neighbours, Kernels& kernels, const How& how)
      : neighbours_(std::move(neighbours)),
        groups_(groups_of(neighbours_, how.cutoff)),
        kernels_(kernels),
        how_(how) {}

  const std::vector<apps::Neighbour>& neighbours() const override { return neighbours_; }
  bool has_ends() const override { return true; }
  void begin(apps::Lane& lane) override { kernels_.fill(lane, number_); }
  void pack(apps::Lane& lane, const Sides& to, int direction) override {
    if (direction != nowhere) return kernels_.pack(lane, to, group_of(direction));
    for (const Group group : groups_) kernels_.pack(lane, to, group);
  }
  void unpack(apps::Lane& lane, const Sides& from, int direction) override {
    if (direction != nowhere) return kernels_.unpack(lane, from, group_of(direction));
    for (const Group group : groups_) kernels_.unpack(lane, from, group);
  }
  void end(apps::Lane& lane) override {
    if (how_.checked) kernels_.check(lane, number_, how_.with_messages);
    ++number_;
  }

 private:
  std::vector<apps::Neighbour> neighbours_;
  std::vector<Group> groups_;
  Kernels& kernels_;
  How how_;
  // On the host the stream counts it, on a GPU who enqueues does. It is the same on all ranks.
  int number_ = 0;
};

}  // namespace penstock::comb
