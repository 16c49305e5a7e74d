// SPDX-License-Identifier: Apache-2.0
#include "device/gpu/driver.hpp"

#include <dlfcn.h>

#include <gpu_runtime.hpp>
#include <string_view>

#include "device/gpu.hpp"

namespace penstock::device::gpu {

#if PENSTOCK_HIP

// HIP is one library for both levels, and a HIP build is linked with it.
bool driver_is_loaded() noexcept {
  return true;
}

void* driver_function(const char* name, unsigned) noexcept {
  if (name == std::string_view("cuPointerGetAttributes"))
    return reinterpret_cast<void*>(&vendor::pointer_attributes);
  if (name == std::string_view("cuStreamIsCapturing"))
    return reinterpret_cast<void*>(&hipStreamIsCapturing);
  return nullptr;
}

// The device stands for its context.
void* current_context() noexcept {
  int device = 0;
  return hipGetDevice(&device) == hipSuccess ? reinterpret_cast<void*>(std::uintptr_t{1} + device)
                                             : nullptr;
}

#else

bool driver_is_loaded() noexcept {
  void* const library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library != nullptr) dlclose(library);
  return library != nullptr;
}

void* driver_function(const char* name, unsigned version) noexcept {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  if (cudaGetDriverEntryPointByVersion(name, &function, version, cudaEnableDefault, &found) ==
          cudaSuccess &&
      found == cudaDriverEntryPointSuccess)
    return function;
  (void)cudaGetLastError();
  return nullptr;
}

void* current_context() noexcept {
  static const auto get_current =
      reinterpret_cast<CUresult (*)(CUcontext*)>(driver_function("cuCtxGetCurrent", 4000));
  CUcontext context = nullptr;
  if (get_current != nullptr) get_current(&context);
  return context;
}

#endif

base::Verdict usable() {
  int devices = 0;
  const cudaError_t code = cudaGetDeviceCount(&devices);
  (void)cudaGetLastError();
  if (code == cudaSuccess && devices > 0) return base::accepted();
  if (code == cudaErrorInsufficientDriver) {
    int version = 0;
    if (cudaDriverGetVersion(&version) == cudaSuccess && version > 0)
      return base::refused("the " PENSTOCK_GPU " driver is too old for this library");
    return base::refused(PENSTOCK_HIP ? "there is no HIP driver"
                                      : "there is no CUDA driver (libcuda.so.1)");
  }
  const bool none = code == cudaSuccess || code == cudaErrorNoDevice;
  return base::refused(none ? "there is no " PENSTOCK_GPU " device" : cudaGetErrorString(code));
}

}  // namespace penstock::device::gpu
