// SPDX-License-Identifier: Apache-2.0
// The copies of a trigger or of a wait, until a kernel makes them. Where they are more than one
// kernel takes, the first one waits; the last one, which is launched behind finish(), sets the
// word.
#pragma once

#include <array>
#include <atomic>

#include "enqueued/gpu/kernels.hpp"
#include "gpu/kernel_queue.hpp"

namespace penstock::enqueued {

class CopyBatch final : public gpu::LaunchBatch {
 public:
  explicit CopyBatch(gpu::KernelQueue& queue) noexcept : queue_(queue) {}

  // A trigger or a wait begins. `passed`: null, or the word at which the stream waits without a
  // kernel before that of the wait.
  void begin(const BundleStep& step, std::uint32_t* passed = nullptr) noexcept {
    step_ = step;
    passed_ = passed;
    begun_ = true;
    finished_ = failed_ = false;
  }
  void add(const CopyWork& copy) noexcept {
    if (count_ == copies_.size() || blocks_ + copy.blocks > most_blocks_together) queue_.flush();
    copies_[count_++] = copy;
    blocks_ += copy.blocks;
  }
  // `word`: null, or what becomes the step's number when all copies are made. `launched`: null, or
  // what becomes it when the last kernel has been launched.
  void finish(Word64* word, std::atomic<std::uint64_t>* launched = nullptr) noexcept {
    step_.then_set = word;
    launched_ = launched;
    finished_ = true;
  }
  bool empty() const noexcept override { return !begun_; }
  cudaError_t launch(const Launch& launch) noexcept override;

 private:
  // Of a kernel that waits they keep their places, which are counted so (peer_gpu/gpu_shares.cpp).
  static constexpr std::size_t most_blocks_together = 64;

  cudaError_t stand(const Launch& launch) const noexcept;

  gpu::KernelQueue& queue_;
  bool begun_ = false;
  bool finished_ = false;
  bool failed_ = false;  // a part of it could not be launched: the rest must not run
  BundleStep step_;
  std::uint32_t* passed_ = nullptr;
  std::atomic<std::uint64_t>* launched_ = nullptr;
  std::size_t count_ = 0;
  std::size_t blocks_ = 0;
  std::array<CopyWork, largest_copy_batch> copies_;
};

}  // namespace penstock::enqueued
