// SPDX-License-Identifier: Apache-2.0
// By attributes alone: nothing is allocated and no context is made, so that a process with work in
// flight may ask.
#include <gpu_runtime.hpp>

#include "device/gpu.hpp"
#include "device/gpu/driver.hpp"
#include "device/gpu/runtime.hpp"

namespace penstock::device {

namespace {

int peer_attribute(decltype(cudaDevP2PAttrPerformanceRank) name, int from, int to) {
  int value = 0;
  return gpu::succeeded(cudaDeviceGetP2PAttribute(&value, name, from, to)) ? value : 0;
}

std::vector<GpuLink> links_of(int device, int count) {
  std::vector<GpuLink> links;
  for (int other = 0; other < count; ++other) {
    if (other == device) continue;
    int access = 0;
    if (cudaDeviceCanAccessPeer(&access, device, other) != cudaSuccess) (void)cudaGetLastError();
    links.push_back({other, access != 0,
                     peer_attribute(cudaDevP2PAttrNativeAtomicSupported, device, other) != 0,
                     peer_attribute(cudaDevP2PAttrPerformanceRank, device, other)});
  }
  return links;
}

std::string bus_of(int device) {
  char bus[32] = "";
  return gpu::succeeded(cudaDeviceGetPCIBusId(bus, sizeof bus, device)) ? bus : "";
}

#if PENSTOCK_HIP

std::string architecture_of(const cudaDeviceProp& properties) {
  return properties.gcnArchName;
}

// HIP has no attributes for it.
std::vector<GpuMemory> memory_of(int) {
  return {{"hipMalloc", "IPC handle"}};
}

#else

std::string architecture_of(const cudaDeviceProp& properties) {
  return "sm_" + std::to_string(properties.major) + std::to_string(properties.minor);
}

int attribute(cudaDeviceAttr name, int device) {
  int value = 0;
  return gpu::succeeded(cudaDeviceGetAttribute(&value, name, device)) ? value : 0;
}

bool maps_file_descriptors(int device) {
  const auto get = reinterpret_cast<CUresult (*)(int*, CUdevice_attribute, CUdevice)>(
      gpu::driver_function("cuDeviceGetAttribute", 2000));
  const auto ask = [&](CUdevice_attribute name) {
    int value = 0;
    return get != nullptr && get(&value, name, device) == CUDA_SUCCESS && value != 0;
  };
  return ask(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED) &&
         ask(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED);
}

// CUDA exports neither managed nor pinned memory on any device.
std::vector<GpuMemory> memory_of(int device) {
  const bool ipc = attribute(cudaDevAttrIpcEventSupport, device) != 0;
  const bool pools = (attribute(cudaDevAttrMemoryPoolSupportedHandleTypes, device) &
                      cudaMemHandleTypePosixFileDescriptor) != 0;
  return {{"cudaMalloc", ipc ? "IPC handle" : ""},
          {"stream-ordered", pools ? "file descriptor, of pools made for it" : ""},
          {"VMM", maps_file_descriptors(device) ? "file descriptor, where made for it" : ""},
          {"managed", ""},
          {"pinned", ""}};
}

#endif

}  // namespace

std::vector<Gpu> list_gpus() {
  if (!gpu::usable().yes) return {};
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) (void)cudaGetLastError();
  std::vector<Gpu> gpus;
  for (int device = 0; device < count; ++device) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, device) != cudaSuccess) (void)cudaGetLastError();
    gpus.push_back({device, properties.name, architecture_of(properties), bus_of(device),
                    properties.multiProcessorCount, properties.totalGlobalMem,
                    links_of(device, count), memory_of(device)});
  }
  return gpus;
}

#if PENSTOCK_HIP

// In HIP every thread has a current device, asked for or not: it does not tell where this process
// computes.
std::string current_gpu() {
  return {};
}

#else

std::string current_gpu() {
  int device = 0;
  if (!gpu::driver_is_loaded() || gpu::current_context() == nullptr ||
      cudaGetDevice(&device) != cudaSuccess)
    return {};
  return bus_of(device);
}

#endif

}  // namespace penstock::device
