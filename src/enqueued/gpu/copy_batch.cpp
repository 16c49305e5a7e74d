// SPDX-License-Identifier: Apache-2.0
#include "enqueued/gpu/copy_batch.hpp"

#include "device/gpu/word_operations.hpp"

namespace penstock::enqueued {

// Until the engine has completed what the kernel waits for, which finds it so and keeps no place
// for long. The host learns that the stream stands there.
cudaError_t CopyBatch::stand(const Launch& launch) const noexcept {
  device::gpu::WordOperations operations;
  operations.store(launch.report->gated, step_.id + 1);
  operations.await(*passed_, static_cast<std::uint32_t>(step_.number));
  operations.store(launch.report->gated, 0);
  return operations.enqueue(launch.stream);
}

// A batch of no items only loads the kernel (gpu/kernel_batch.cuh).
cudaError_t CopyBatch::launch(const Launch& launch) noexcept {
  const bool has_work = count_ != 0 || step_.completed != nullptr || step_.then_set != nullptr;
  cudaError_t code = cudaSuccess;
  Launch form = launch;
  if (passed_ != nullptr) {
    code = stand(launch);
    form.crowded = false;
    form.dependent = false;  // on a kernel, which the stream's own wait is not
  }
  if (has_work && code == cudaSuccess && !failed_) {
    if (count_ == 0) copies_[count_++] = {};
    code = launch_copies(form, step_, {copies_.data(), count_});
  }
  if (code != cudaSuccess) {
    failed_ = true;
    queue_.poison(step_.id);
  }
  if (code == cudaSuccess && finished_ && launched_ != nullptr)
    launched_->store(step_.number, std::memory_order_release);
  step_.before = 0;                          // it has been told
  step_.wait_for = step_.besides = nullptr;  // it has been waited for
  passed_ = nullptr;
  count_ = blocks_ = 0;
  begun_ = !finished_;
  return code;
}

}  // namespace penstock::enqueued
