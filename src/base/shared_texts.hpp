// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>

namespace penstock::base {

// Texts of which many are alike, as what is said of each rank of a job: each stands once.
class SharedTexts {
 public:
  using Text = std::shared_ptr<const std::string>;

  Text share(const std::string& text) {
    Text& kept = kept_[text];
    if (!kept) kept = std::make_shared<const std::string>(text);
    return kept;
  }

 private:
  std::map<std::string, Text> kept_;
};

}  // namespace penstock::base
