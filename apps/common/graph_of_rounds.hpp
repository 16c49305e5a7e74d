// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>
#include <utility>

#include "common/stream_rounds.hpp"

namespace penstock::apps {

// Some rounds, captured once and replayed as often as it takes.
template <class Rounds>
class GraphOf final : public Rounds {
 public:
  // `rounds`: what run() will be asked for. `more`: what the rounds need.
  template <class... More>
  explicit GraphOf(int rounds, More&&... more)
      : Rounds(std::forward<More>(more)...), in_graph_(largest_part(rounds)) {
    graph_ = this->lane().capture([this] { this->enqueue(in_graph_); });
  }

  void run(int rounds) override {
    for (int round = 0; round < rounds; round += in_graph_) graph_->launch();
    this->lane().synchronize();
  }

 private:
  // A graph of thousands of kernels begins late.
  static int largest_part(int rounds) {
    int part = std::min(rounds, 20);
    while (rounds % part != 0) --part;
    return part;
  }

  const int in_graph_;
  std::unique_ptr<Replay> graph_;
};

}  // namespace penstock::apps
