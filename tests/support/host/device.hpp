// SPDX-License-Identifier: Apache-2.0
// Host streams. Functions run on the stream's worker and touch the bytes themselves.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

#include "penstock/penstock.h"

namespace penstock::test {

using Stream = PST_Stream;
inline constexpr PST_Queue_type queue_type = PST_QUEUE_HOST;

// By how many waits of standard sends the stream may run ahead of what their messages' receiver has
// made room for.
inline constexpr int most_early_waits = 0;

// One end's epochs, and what it has found wrong.
class Tally {
 public:
  std::uint64_t epochs() const { return epochs_.load(std::memory_order_acquire); }
  std::string complaint() const;  // "" if there is none

  void set(std::byte* data, std::size_t bytes, std::byte value);
  void fill(std::byte* data, std::size_t bytes, std::uint64_t key);  // the next epoch's message
  // `where` is for the complaint.
  void check_value(const char* where, const std::byte* data, std::size_t bytes, std::byte value);
  // The next epoch's message.
  void check(const std::byte* data, std::size_t bytes, std::uint64_t key);
  void count();  // the epoch is over

 private:
  void note(const std::string& complaint);

  std::atomic<std::uint64_t> epochs_ = 0;
  mutable std::mutex mutex_;
  std::string complaint_;
  std::uint64_t complaints_ = 0;
};

}  // namespace penstock::test
