// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jacobi/field.hpp"

namespace penstock::jacobi {

// The largest change of all ranks, known to all, without the host: reports go up a binary tree of
// ranks and the answer comes down, by matched messages of one number each in the order of the lane.
class Maximum {
 public:
  // Matches its requests: collective.
  Maximum(Field& field, apps::Lane& lane);

  void enqueue();

 private:
  Field& field_;
  apps::Lane& lane_;
  int children_ = 0;
  bool is_root_ = true;
  Requests reports_in_;
  Requests report_out_;  // then the answer comes in
  Requests answers_out_;
};

}  // namespace penstock::jacobi
