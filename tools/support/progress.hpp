// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace penstock::tool {

// A bar on the terminal that shows standard error, where there is one, drawn only by the rank that
// is asked to. A launcher shows lines of results a little later than they are printed: behind one
// its terminal is left alone for a moment.
class Progress {
 public:
  Progress(bool shown, int total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // One more part is done; `next` says what runs now.
  void advance(const std::string& next);
  // Makes room for a line of results; a later advance() draws it again.
  void clear();

 private:
  void draw(const std::string& text);
  bool may_draw();

  int terminal_;          // -1 where nothing is drawn
  double not_before_us_;  // when it may be drawn next
  int total_;
  int done_ = 0;
};

}  // namespace penstock::tool
