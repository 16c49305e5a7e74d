// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include "comb/decomposition.hpp"
#include "comb/kernels.hpp"
#include "common/exchange.hpp"

namespace penstock::comb {

// One cycle: zones are set, ghosts are exchanged and everything is checked. Each cycle has other values than the one
// before it.
class Cycle final : public examples::Work {
 public:
  Cycle(std::vector<examples::Neighbour> neighbours, Kernels& kernels, bool with_messages, bool checked)
      : neighbours_(std::move(neighbours)), kernels_(kernels), with_messages_(with_messages), checked_(checked) {}

  const std::vector<examples::Neighbour>& neighbours() const override { return neighbours_; }
  bool has_ends() const override { return true; }
  void begin(examples::Lane& lane) override { kernels_.fill(lane, number_); }
  void pack(examples::Lane& lane, const Sides& to, int direction) override { kernels_.pack(lane, to, direction); }
  void unpack(examples::Lane& lane, const Sides& from, int direction) override {
    kernels_.unpack(lane, from, direction);
  }
  void end(examples::Lane& lane) override {
    if (checked_) kernels_.check(lane, number_, with_messages_);
    ++number_;
  }

 private:
  std::vector<examples::Neighbour> neighbours_;
  Kernels& kernels_;
  bool with_messages_;
  bool checked_;
  int number_ = 0;  // on the host counted by the stream, on a GPU by who enqueues; the same on all ranks
};

}  // namespace penstock::comb
