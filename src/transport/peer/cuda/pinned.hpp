// SPDX-License-Identifier: Apache-2.0
// Small pieces of host memory that kernels and the host both address.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace penstock::transport::peer::cuda {

class PinnedPool : public std::enable_shared_from_this<PinnedPool> {
 public:
  static constexpr std::size_t piece = 128;

  PinnedPool() = default;
  ~PinnedPool();
  PinnedPool(const PinnedPool&) = delete;
  PinnedPool& operator=(const PinnedPool&) = delete;

  std::shared_ptr<void> take();  // `piece` zeroed bytes. Throws Error(resources). Any thread

 private:
  std::mutex mutex_;
  std::vector<void*> chunks_;
  std::vector<void*> free_;
};

}  // namespace penstock::transport::peer::cuda
