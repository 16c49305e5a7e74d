// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>
#include <utility>

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
  forked = 26
};

// What a call failed with: the kind, and the whole text for the log and PST_Last_error. Thrown on cold paths only;
// workers and progress threads carry it as a value.
class Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string text) : kind_(kind), text_(std::move(text)) {}
  ErrorKind kind() const noexcept { return kind_; }
  const std::string& text() const noexcept { return text_; }
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  ErrorKind kind_;
  std::string text_;
};

}  // namespace penstock::base
