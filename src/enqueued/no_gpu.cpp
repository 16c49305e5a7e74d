// SPDX-License-Identifier: Apache-2.0
// A library that is built without GPUs has no streams of theirs.
#include "enqueued/staging.hpp"

namespace penstock::enqueued {

std::unique_ptr<Staging> make_staging(core::Queue&, std::shared_ptr<gpu::Gpus>,
                                      const base::Settings&, LaneMemoryPlace&) {
  throw base::Error(base::ErrorKind::internal, "no GPUs are built into this library");
}

}  // namespace penstock::enqueued
