// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace penstock::tool {

// A bar on standard error, drawn only where that is a terminal and only by the rank that is asked
// to.
class Progress {
 public:
  Progress(bool shown, int total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // One more part is done; `next` says what runs now.
  void advance(const std::string& next);

 private:
  void draw(const std::string& text) const;

  bool shown_;
  int total_;
  int done_ = 0;
};

}  // namespace penstock::tool
