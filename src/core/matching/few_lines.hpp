// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "base/log.hpp"

namespace penstock::core {

// Logs the first errors of a kind, and how many more there are: nobody reads thousands of lines,
// and writing them takes longer than what they tell of.
class FewLines {
 public:
  template <class MakeLine>
  void add(MakeLine&& make_line) {
    if (++lines_ <= most) base::log::error(make_line());
  }
  void tell_the_rest(const std::string& what) const {
    if (lines_ > most) base::log::error(std::to_string(lines_ - most) + " more " + what);
  }

 private:
  static constexpr std::size_t most = 100;
  std::size_t lines_ = 0;
};

}  // namespace penstock::core
