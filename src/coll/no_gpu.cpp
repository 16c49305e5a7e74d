// SPDX-License-Identifier: Apache-2.0
// A library that is built without GPUs knows no memory of theirs.
#include "base/error.hpp"
#include "coll/local_steps.hpp"

namespace penstock::coll {

std::unique_ptr<LocalSteps> make_kernel_steps(const Schedule&, const Memory&, const Combination&,
                                              int /*gpu*/) {
  throw base::Error(base::ErrorKind::internal, "no GPUs are built into this library");
}

}  // namespace penstock::coll
