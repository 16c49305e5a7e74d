// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace penstock::explorer {

struct GroupResult {
  std::size_t states = 0;
  std::string failure;  // empty, or what is wrong and the steps that lead to it
  bool ok() const { return failure.empty(); }
};

}  // namespace penstock::explorer
