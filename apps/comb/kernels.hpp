// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "comb/mesh.hpp"
#include "common/lane.hpp"
#include "common/memory.hpp"

namespace penstock::comb {

// What checks have found: how many values were wrong, and the first of them.
struct Tally {
  unsigned long long wrong;
  // An offset into the values; the largest number where none was wrong.
  unsigned long long first;
};
constexpr Tally nothing_wrong{0, ~0ULL};

// Directions whose messages one kernel packs or unpacks, a bit for each.
using Group = std::uint32_t;
constexpr Group group_of(int direction) {
  return Group{1} << direction;
}

// The values of one rank. Calls are made as Lane::launch wants them.
class Kernels {
 public:
  virtual ~Kernels() = default;

  // Zones get their values and ghosts the sentinel.
  virtual void fill(apps::Lane& lane, int cycle) = 0;
  virtual void pack(apps::Lane& lane, const Sides& to, Group group) = 0;
  virtual void unpack(apps::Lane& lane, const Sides& from, Group group) = 0;
  // Adds what is wrong after an exchange.
  virtual void check(apps::Lane& lane, int cycle, bool with_messages) = 0;
  // What was added since the last call. The lanes have ended.
  virtual Tally take_tally() = 0;

  // In the memory of the device.
  virtual double* values() = 0;
};

std::unique_ptr<Kernels> make_kernels(apps::DeviceKind device, const Mesh& mesh);

// Those of the GPU; throws in a build without.
std::unique_ptr<Kernels> make_gpu_kernels(const Mesh& mesh);

}  // namespace penstock::comb
