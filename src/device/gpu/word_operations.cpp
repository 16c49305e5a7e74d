// SPDX-License-Identifier: Apache-2.0
#include "device/gpu/word_operations.hpp"

#include "device/gpu/context.hpp"
#include "device/gpu/driver.hpp"

namespace penstock::device::gpu {

#if PENSTOCK_HIP

// HIP's wait only for memory that has been allocated for it (hipMallocSignalMemory), eight bytes at
// a time and not shared between processes, and graphs cannot hold them.
bool has_word_operations() noexcept {
  return false;
}

cudaError_t WordOperations::enqueue(cudaStream_t) const noexcept {
  return cudaErrorNotSupported;
}

#else

namespace {

using StreamBatchMemOp = CUresult (*)(CUstream, unsigned, CUstreamBatchMemOpParams*, unsigned);

// In the form of CUDA 11.7, which needs no option of the driver's and can be captured.
StreamBatchMemOp batch_function() noexcept {
  static const auto function =
      reinterpret_cast<StreamBatchMemOp>(driver_function("cuStreamBatchMemOp", 12000));
  return function;
}

}  // namespace

bool has_word_operations() noexcept {
  return batch_function() != nullptr;
}

cudaError_t WordOperations::enqueue(cudaStream_t stream) const noexcept {
  if (batch_function() == nullptr) return cudaErrorNotSupported;
  std::array<CUstreamBatchMemOpParams, most> parameters;
  for (std::size_t i = 0; i < count_; ++i) {
    const WordOperation& operation = operations_[i];
    const auto address = reinterpret_cast<CUdeviceptr>(operation.word);
    parameters[i] = {};
    if (operation.waits) {
      parameters[i].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
      parameters[i].waitValue.address = address;
      parameters[i].waitValue.value = operation.value;
      parameters[i].waitValue.flags = CU_STREAM_WAIT_VALUE_GEQ;
    } else {
      parameters[i].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
      parameters[i].writeValue.address = address;
      parameters[i].writeValue.value = operation.value;
      parameters[i].writeValue.flags = CU_STREAM_WRITE_VALUE_DEFAULT;
    }
  }
  return in_context([&] {
    return static_cast<cudaError_t>(
        batch_function()(stream, static_cast<unsigned>(count_), parameters.data(), 0));
  });
}

#endif

}  // namespace penstock::device::gpu
