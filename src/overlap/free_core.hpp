// SPDX-License-Identifier: Apache-2.0
// Whether a thread that wakes up has a core, or takes one from a program that computes.
#pragma once

#include "base/no_copy.hpp"

namespace penstock::overlap {

class FreeCore : private base::NoCopy {
 public:
  FreeCore() noexcept;  // by the program's thread
  ~FreeCore();

  // Asked by another thread: whether that one sleeps, whose core is free then, or no more threads
  // of the system want to run than there are cores. Some microseconds. False where the system does
  // not tell.
  bool found() const noexcept;

 private:
  bool program_sleeps() const noexcept;

  const int program_, system_;  // files
  const int cores_;
};

}  // namespace penstock::overlap
