// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace penstock::base {

// The base of a class whose objects are neither copied nor moved, where no member says so already.
class NoCopy {
 public:
  NoCopy(const NoCopy&) = delete;
  NoCopy& operator=(const NoCopy&) = delete;

 protected:
  NoCopy() = default;
};

}  // namespace penstock::base
