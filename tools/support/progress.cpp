// SPDX-License-Identifier: Apache-2.0
#include "support/progress.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace penstock::tool {

Progress::Progress(bool shown, int total)
    : shown_(shown && isatty(STDERR_FILENO) != 0), total_(std::max(total, 1)) {
  draw("");
}

// The bar is gone when the work is: what stays on the terminal is the result.
Progress::~Progress() {
  if (shown_) std::fputs("\r\x1b[K", stderr);
}

void Progress::advance(const std::string& next) {
  done_ = std::min(done_ + 1, total_);
  draw(next);
}

void Progress::draw(const std::string& text) const {
  if (!shown_) return;
  constexpr int width = 40;
  const auto filled = static_cast<std::size_t>(done_ * width / total_);
  fmt::print(stderr, "\r\x1b[K[{}{}] {:3}% {}", std::string(filled, '#'),
             std::string(width - filled, '.'), 100 * done_ / total_, text);
  std::fflush(stderr);
}

}  // namespace penstock::tool
