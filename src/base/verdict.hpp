// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "base/error.hpp"

namespace penstock::base {

// Whether something can be had, and why (not): the text goes to `penstock info`, to log lines and
// into errors.
struct Verdict {
  bool yes = false;
  std::string why;
  ErrorKind kind = ErrorKind::transport;  // the kind of error to throw when `yes` is false
};

inline Verdict accepted() {
  return {true, {}};
}
inline Verdict refused(std::string why) {
  return {false, std::move(why)};
}

}  // namespace penstock::base
