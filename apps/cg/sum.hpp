// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <stdexcept>

#include "common/lane.hpp"
#include "common/memory.hpp"

namespace penstock::cg {

// Adds up a number of each rank, in the order of the lane.
class Sum {
 public:
  virtual ~Sum() = default;
  // What comes of it, where the host has added it up, which waits for the lane and for all ranks.
  virtual std::optional<double> enqueue() = 0;
};

struct NoNccl : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// `own` and `all` lie where the lane works. By MPI, by a collective on the stream or by NCCL, as
// the variant says. Collective. Throws NoNccl.
std::unique_ptr<Sum> make_sum(apps::Comm comm, apps::DeviceKind device, apps::Lane& lane,
                              double& own, double& all);

// Of a build for CUDA.
std::unique_ptr<Sum> make_nccl_sum(apps::Lane& lane, double& own, double& all);

}  // namespace penstock::cg
