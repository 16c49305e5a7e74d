// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "common/lane.hpp"
#include "common/options.hpp"
#include "faces/kernels.hpp"
#include "faces/rank_grid.hpp"

namespace penstock::faces {

// What the variants work on, one after the other.
struct Setting {
  const examples::Options& options;
  const RankGrid& grid;
  Kernels& kernels;
  bool with_compute;  // the sums inside the block
};

// One way to exchange, with buffers and requests of its own. All pack, compute and unpack by the same kernels.
class Variant {
 public:
  virtual ~Variant() = default;

  // What carries the messages.
  virtual std::string transport() const = 0;
  virtual examples::Lane& lane() = 0;
  // What must have happened on all ranks before the clock starts: a barrier follows.
  virtual void prepare(int shares) = 0;
  // Returns when all shares have ended on the device.
  virtual void run(int shares) = 0;
};

// Collective.
std::unique_ptr<Variant> make_mpi(const Setting& setting);
std::unique_ptr<Variant> make_mpi_waitany(const Setting& setting);
// Standard sends, ready sends, or standard sends in a graph.
std::unique_ptr<Variant> make_stream(const Setting& setting);
std::unique_ptr<Variant> make_stream_ready(const Setting& setting);
std::unique_ptr<Variant> make_graph(const Setting& setting, int shares);

// A message is known by the direction in which it travels, and by the set of buffers that it is for.
constexpr int tag_of(int direction, int set) {
  return set * directions + direction;
}

}  // namespace penstock::faces
