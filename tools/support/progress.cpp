// SPDX-License-Identifier: Apache-2.0
#include "support/progress.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "support/clock.hpp"
#include "support/terminal.hpp"

namespace penstock::tool {
namespace {

constexpr double behind_results_us = 300'000, between_draws_us = 50'000;

// In one write, beside which others may print. A terminal that takes no more ends nothing.
void show(int terminal, const std::string& text) {
  static_cast<void>(!write(terminal, text.data(), text.size()));
}

}  // namespace

Progress::Progress(bool shown, int total)
    : terminal_(shown ? terminal_of_errors() : -1),
      not_before_us_(terminal_ == STDERR_FILENO ? 0 : now_us() + behind_results_us),
      total_(std::max(total, 1)) {
  draw("");
}

// The bar is gone when the work is: what stays on the terminal is the result.
Progress::~Progress() {
  clear();
}

void Progress::advance(const std::string& next) {
  done_ = std::min(done_ + 1, total_);
  draw(next);
}

void Progress::clear() {
  if (terminal_ < 0) return;
  show(terminal_, "\r\x1b[K");
  not_before_us_ = now_us() + behind_results_us;
}

bool Progress::may_draw() {
  if (terminal_ < 0 || now_us() < not_before_us_) return false;
  not_before_us_ = now_us() + between_draws_us;
  return true;
}

void Progress::draw(const std::string& text) {
  if (!may_draw()) return;
  constexpr int width = 40;
  const auto filled = static_cast<std::size_t>(done_ * width / total_);
  show(terminal_, fmt::format("\r\x1b[K[{}{}] {:3}% {}", std::string(filled, '#'),
                              std::string(width - filled, '.'), 100 * done_ / total_, text));
}

}  // namespace penstock::tool
