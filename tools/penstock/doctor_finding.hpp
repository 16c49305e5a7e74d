// SPDX-License-Identifier: Apache-2.0
// What `penstock doctor` says of one thing that it has looked at.
#pragma once

#include <string>
#include <vector>

namespace penstock::tool::doctor {

enum class Level {
  ok,
  note,  // works, but slower than it could, or not with every program
  fault  // does not work, is ignored, or is not what was asked for
};

struct Finding {
  Level level = Level::ok;
  std::string name;  // section and check: "memory.shared"
  std::string found;
  std::string cure;  // a command or a setting; empty where there is nothing to mend
};

using Findings = std::vector<Finding>;

}  // namespace penstock::tool::doctor
