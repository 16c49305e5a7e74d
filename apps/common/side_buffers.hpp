// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "common/memory.hpp"
#include "common/sides.hpp"

namespace penstock::apps {

// A rank to exchange messages with, and the doubles that go each way. One rank may be a neighbour
// in several directions, and its own.
struct Neighbour {
  int direction;
  int rank;
  std::size_t values;
};

// Memory for one message of each neighbour, each on pages of its own.
class SideBuffers {
 public:
  // `make` gives memory of the bytes that it is asked for.
  SideBuffers(const std::vector<Neighbour>& neighbours,
              const std::function<Memory(std::size_t)>& make);

  const Sides& sides() const noexcept { return sides_; }
  std::span<double> all() const noexcept { return memory_.as<double>(); }
  std::span<double> message(const Neighbour& neighbour) const {
    return {sides_.side[neighbour.direction], neighbour.values};
  }

 private:
  Memory memory_;
  Sides sides_{};
};

// In the memory of the device.
SideBuffers message_buffers(const Options& options, const std::vector<Neighbour>& neighbours);

}  // namespace penstock::apps
