// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>
#include <string_view>

#include "base/settings.hpp"

namespace penstock::base::log {

void configure(LogLevel level,
               const std::string& file);  // before the first line; throws Error(setting) if the
                                          // file cannot be opened
void set_rank(int rank);                  // prefixes every line from now on
bool enabled(LogLevel level) noexcept;
void write(LogLevel level, std::string_view text) noexcept;
void report(std::string_view text) noexcept;  // what the user has asked for: whatever the level

inline void error(std::string_view text) noexcept {
  write(LogLevel::error, text);
}
inline void warn(std::string_view text) noexcept {
  write(LogLevel::warn, text);
}
inline void info(std::string_view text) noexcept {
  write(LogLevel::info, text);
}

// Runs the step. What it throws goes to the log as an error, where no caller could hear of it.
template <class Step>
void failures_in(Step&& step) {
  try {
    step();
  } catch (const std::exception& failure) {
    error(failure.what());
  }
}

}  // namespace penstock::base::log
