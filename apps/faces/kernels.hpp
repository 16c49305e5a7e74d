// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "common/lane.hpp"
#include "common/memory.hpp"
#include "faces/geometry.hpp"

namespace penstock::faces {

// The values of one rank, and what is computed on them. Calls are made as Lane::launch wants them:
// on the host they compute, on a GPU they launch on the stream that the lane says.
class Kernels {
 public:
  virtual ~Kernels() = default;

  virtual void initialise(apps::Lane& lane) = 0;
  // Raw values into the message of one direction; of all, for nowhere.
  virtual void pack(apps::Lane& lane, const Sides& to, int direction) = 0;
  // Everything that is shared by elements of the block alone.
  virtual void sum_inside(apps::Lane& lane) = 0;
  // What is shared with the neighbours of one direction and its parts alone; all that is shared
  // with any, for nowhere. Where `next` has messages, the sums are packed into them on the way: all
  // that pack() would write is among them.
  virtual void unpack(apps::Lane& lane, const Sides& from, const Sides& next, int direction) = 0;

  // In the memory of the device, as layout_of(block, nowhere) says.
  virtual double* values() = 0;
  // Blocks until the values of all elements with this z are copied to `to`.
  virtual void fetch_layer(int z, double* to) const = 0;
};

std::unique_ptr<Kernels> make_kernels(apps::DeviceKind device, const Block& block);

// Those of the GPU; throws in a build without.
std::unique_ptr<Kernels> make_gpu_kernels(const Block& block);

}  // namespace penstock::faces
