// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sides.hpp"

namespace penstock::apps {

// A box of points, x fastest.
struct Box {
  int low[3];
  int count[3];

  PENSTOCK_ANYWHERE unsigned size() const {
    return static_cast<unsigned>(count[0]) * static_cast<unsigned>(count[1]) *
           static_cast<unsigned>(count[2]);
  }
  PENSTOCK_ANYWHERE void at(unsigned number, int (&point)[3]) const {
    const auto width = static_cast<unsigned>(count[0]);
    const auto depth = static_cast<unsigned>(count[1]);
    point[0] = low[0] + static_cast<int>(number % width);
    point[1] = low[1] + static_cast<int>(number / width % depth);
    point[2] = low[2] + static_cast<int>(number / width / depth);
  }
};

}  // namespace penstock::apps
