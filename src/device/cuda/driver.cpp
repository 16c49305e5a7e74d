// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/driver.hpp"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

namespace penstock::device::cuda {

bool driver_is_loaded() noexcept {
  void* const library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library != nullptr) dlclose(library);
  return library != nullptr;
}

void* driver_function(const char* name, unsigned version) noexcept {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  if (cudaGetDriverEntryPointByVersion(name, &function, version, cudaEnableDefault, &found) == cudaSuccess &&
      found == cudaDriverEntryPointSuccess)
    return function;
  (void)cudaGetLastError();
  return nullptr;
}

void* current_context() noexcept {
  static const auto get_current = reinterpret_cast<CUresult (*)(CUcontext*)>(driver_function("cuCtxGetCurrent", 4000));
  CUcontext context = nullptr;
  if (get_current != nullptr) get_current(&context);
  return context;
}

}  // namespace penstock::device::cuda
