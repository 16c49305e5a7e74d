// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

namespace penstock::base {

// The values are those of PST_Error in penstock.h (checked by api/errors.cpp).
enum class ErrorKind : int {
  none = 0,
  not_initialized = 1,
  argument = 2,
  queue = 3,
  stream = 4,
  request = 5,
  not_matched = 6,
  already_matched = 7,
  already_started = 8,
  not_started = 9,
  wrong_queue = 10,
  in_use = 11,
  communicator = 12,
  truncate = 13,
  buffer = 14,
  transport = 15,
  thread_level = 16,
  unsupported = 17,
  resources = 18,
  peer_dead = 19,
  peer_freed = 20,
  timeout = 21,
  ready = 22,
  setting = 23,
  mpi = 24,
  internal = 25,
  forked = 26,
  window = 27,
  epoch = 28,
  range = 29,
  assertion = 30
};

// What a call failed with: the kind, and the whole text for the log and PST_Last_error. Thrown on
// cold paths only; workers and progress threads carry it as a value. Copies share the text, so they
// need no memory.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& text) : std::runtime_error(text), kind_(kind) {}
  // There was no memory for a text. An empty one takes none.
  explicit Error(ErrorKind kind) noexcept : std::runtime_error(""), kind_(kind) {}

  ErrorKind kind() const noexcept { return kind_; }
  std::string_view text() const noexcept { return what(); }
  const char* what() const noexcept override {
    const char* const given = std::runtime_error::what();
    return *given != 0 ? given : "out of memory (no text: there was no memory for it either)";
  }

 private:
  ErrorKind kind_;
};

// Makes an error where nothing may be thrown. `make_text` may throw.
template <class MakeText>
Error error_by(ErrorKind kind, MakeText make_text) noexcept {
  try {
    return Error(kind, make_text());
  } catch (const std::exception&) {
    return Error(kind);
  }
}

}  // namespace penstock::base
