// SPDX-License-Identifier: Apache-2.0
// The copies of a trigger or of a wait, until a kernel makes them. Where they are more than one
// kernel takes, the first one waits; the last one tells, which is launched behind finish().
#pragma once

#include <array>

#include "enqueued/gpu/kernels.hpp"
#include "gpu/kernel_queue.hpp"

namespace penstock::enqueued {

class CopyBatch final : public gpu::LaunchBatch {
 public:
  explicit CopyBatch(gpu::KernelQueue& queue) noexcept : queue_(queue) {}

  // A trigger or a wait begins. `passed`: null, or the word at which the stream waits without a
  // kernel before that of the wait.
  void begin(const Bell& bell, std::uint32_t* passed = nullptr) noexcept {
    bell_ = bell;
    passed_ = passed;
    begun_ = true;
    finished_ = false;
  }
  void add(const CopyWork& copy) noexcept {
    if (count_ == copies_.size() ||
        blocks_ + copy.blocks > gpu::StagedCopyShape::most_blocks_together)
      queue_.flush();
    copies_[count_++] = copy;
    blocks_ += copy.blocks;
  }
  // `tells`: null, or the word that becomes the bell's number when all copies are made.
  void finish(Word64* tells) noexcept {
    bell_.tells = tells;
    finished_ = true;
  }
  bool empty() const noexcept override { return !begun_; }
  cudaError_t launch(const Launch& launch) noexcept override;

 private:
  cudaError_t stand(const Launch& launch) const noexcept;

  gpu::KernelQueue& queue_;
  bool begun_ = false;
  bool finished_ = false;
  Bell bell_;
  std::uint32_t* passed_ = nullptr;
  std::size_t count_ = 0;
  std::size_t blocks_ = 0;
  std::array<CopyWork, largest_copy_batch> copies_;
};

}  // namespace penstock::enqueued
