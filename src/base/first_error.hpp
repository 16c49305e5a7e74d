// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <mutex>
#include <optional>

#include "base/error.hpp"

namespace penstock::base {

// What something has failed with: the first error counts.
class FirstError {
 public:
  // Any thread. False: there was one already, which get() tells by now.
  bool set(const Error& error) noexcept {
    const std::lock_guard lock(mutex_);
    if (error_) return false;
    error_ = error;
    first_.store(&*error_, std::memory_order_release);  // the error, before who asks reads it
    return true;
  }
  // Null while there is none.
  const Error* get() const noexcept { return first_.load(std::memory_order_acquire); }

 private:
  std::atomic<const Error*> first_{nullptr};
  std::mutex mutex_;
  std::optional<Error> error_;
};

}  // namespace penstock::base
