// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace penstock::base {

// The base of a class whose objects are neither copied nor moved, where no member says so already.
class NoCopy {
 protected:
  NoCopy() = default;
  NoCopy(const NoCopy&) = delete;
  NoCopy& operator=(const NoCopy&) = delete;
};

}  // namespace penstock::base
