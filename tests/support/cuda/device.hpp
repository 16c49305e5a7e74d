// SPDX-License-Identifier: Apache-2.0
// CUDA streams. Functions of the ends enqueue kernels, so that a graph may hold any of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <gpu_runtime.hpp>
#include <string>

#include "penstock/penstock.h"

namespace penstock::test {

using Stream = cudaStream_t;
// One vendor's GPUs are built in.
inline constexpr PST_Queue_type queue_type = PENSTOCK_HIP ? PST_QUEUE_HIP : PST_QUEUE_CUDA;
inline constexpr const char* gpu_transport = PENSTOCK_HIP ? "peer-hip" : "peer-cuda";

// By how many waits of standard sends the stream may run ahead of what their messages' receiver has
// made room for: what follows the wait of a small one may run, and the next start holds up the
// stream.
inline constexpr int most_early_waits = 1;

struct Counts;

// One end's epochs, and what it has found wrong: counted on the device. Its functions enqueue on
// the stream that launch() was called with.
class Tally {
 public:
  Tally();
  ~Tally();
  Tally(const Tally&) = delete;
  Tally& operator=(const Tally&) = delete;

  std::uint64_t epochs() const;
  std::string complaint() const;  // "" if there is none

  void set(std::byte* data, std::size_t bytes, std::byte value);
  void fill(std::byte* data, std::size_t bytes, std::uint64_t key);  // the next epoch's message
  void check_value(const char* where, const std::byte* data, std::size_t bytes, std::byte value);
  // The next epoch's message.
  void check(const std::byte* data, std::size_t bytes, std::uint64_t key);
  void count();  // the epoch is over

 private:
  Counts* counts_ = nullptr;  // in pinned memory
};

// Makes this rank's device the current one: ranks share the devices in turn. False, with the
// reason, without one.
bool choose_device(const char*& why_not);

}  // namespace penstock::test
