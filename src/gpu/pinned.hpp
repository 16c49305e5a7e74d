// SPDX-License-Identifier: Apache-2.0
// Host memory that kernels and the host both address: small pieces for words, and whole messages.
// It is kept until the end, since giving it back to the driver waits for the device.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace penstock::gpu {

class PinnedPool : public std::enable_shared_from_this<PinnedPool> {
 public:
  static constexpr std::size_t piece = 128;

  ~PinnedPool();

  // Any thread. Throw Error(resources).
  std::shared_ptr<void> take();                        // `piece` zeroed bytes
  std::shared_ptr<std::byte> take(std::size_t bytes);  // of any content

 private:
  void* allocate(std::size_t bytes);

  std::mutex mutex_;
  std::vector<void*> chunks_;
  std::vector<void*> free_;                                // pieces
  std::map<std::size_t, std::vector<void*>> free_blocks_;  // by size
};

}  // namespace penstock::gpu
