// SPDX-License-Identifier: Apache-2.0
// The GPU vendor's runtime. The sources speak CUDA; with PENSTOCK_HIP this header gives them HIP
// under CUDA's names, so that there is one copy of everything. It stands for the vendors' own
// headers: nothing else includes those.
//
// Absent from HIP, and so from a HIP build: dependent launch (kernels follow each other in stream
// order), the upload of graphs, and the driver's launch call (see device/gpu/launch.cpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#if defined(__CUDACC__) || defined(__HIPCC__)
#define PENSTOCK_DEVICE_CODE 1
#endif

#if PENSTOCK_HIP

#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__ 1
#endif
#if PENSTOCK_DEVICE_CODE
#include <hip/hip_runtime.h>
#else
#include <hip/hip_runtime_api.h>
#endif

// Results
#define cudaDeviceScheduleBlockingSync hipDeviceScheduleBlockingSync
#define cudaDeviceScheduleMask hipDeviceScheduleMask
#define cudaError_t hipError_t
#define cudaGetDeviceFlags hipGetDeviceFlags
#define cudaSuccess hipSuccess
#define cudaErrorAssert hipErrorAssert
#define cudaErrorContextIsDestroyed hipErrorContextIsDestroyed
#define cudaErrorECCUncorrectable hipErrorECCNotCorrectable
#define cudaErrorIllegalAddress hipErrorIllegalAddress
#define cudaErrorInsufficientDriver hipErrorInsufficientDriver
#define cudaErrorLaunchFailure hipErrorLaunchFailure
#define cudaErrorLaunchTimeout hipErrorLaunchTimeOut
#define cudaErrorMemoryAllocation hipErrorOutOfMemory
#define cudaErrorNoDevice hipErrorNoDevice
#define cudaErrorNotReady hipErrorNotReady
#define cudaErrorNotSupported hipErrorNotSupported
#define cudaErrorPeerAccessAlreadyEnabled hipErrorPeerAccessAlreadyEnabled
#define cudaGetErrorString hipGetErrorString
#define cudaGetLastError hipGetLastError
#define CUresult hipError_t
#define CUDA_SUCCESS hipSuccess

// Devices
#define cudaDeviceProp hipDeviceProp_t
#define cudaDriverGetVersion hipDriverGetVersion
#define cudaGetDevice hipGetDevice
#define cudaSetDevice hipSetDevice
#define cudaGetDeviceCount hipGetDeviceCount
#define cudaGetDeviceProperties hipGetDeviceProperties
#define cudaDeviceGetPCIBusId hipDeviceGetPCIBusId
#define cudaDeviceGetAttribute hipDeviceGetAttribute
#define cudaDevAttrMultiProcessorCount hipDeviceAttributeMultiprocessorCount
#define cudaDeviceSynchronize hipDeviceSynchronize
#define cudaDeviceCanAccessPeer hipDeviceCanAccessPeer
#define cudaDeviceEnablePeerAccess hipDeviceEnablePeerAccess
#define cudaDeviceGetStreamPriorityRange hipDeviceGetStreamPriorityRange
#define cudaDeviceGetP2PAttribute hipDeviceGetP2PAttribute
#define cudaDevP2PAttrNativeAtomicSupported hipDevP2PAttrNativeAtomicSupported
#define cudaDevP2PAttrPerformanceRank hipDevP2PAttrPerformanceRank

// Streams, events, graphs
#define cudaStream_t hipStream_t
#define cudaStreamPerThread hipStreamPerThread
#define cudaStreamLegacy (static_cast<hipStream_t>(nullptr))
#define cudaStreamNonBlocking hipStreamNonBlocking
#define cudaStreamCreate hipStreamCreate
#define cudaStreamCreateWithFlags hipStreamCreateWithFlags
#define cudaStreamCreateWithPriority hipStreamCreateWithPriority
#define cudaStreamDestroy hipStreamDestroy
#define cudaStreamGetFlags hipStreamGetFlags
#define cudaStreamQuery hipStreamQuery
#define cudaStreamSynchronize hipStreamSynchronize
#define cudaStreamWaitEvent hipStreamWaitEvent
#define cudaEvent_t hipEvent_t
#define cudaEventDisableTiming hipEventDisableTiming
#define cudaEventCreate hipEventCreate
#define cudaEventCreateWithFlags hipEventCreateWithFlags
#define cudaEventDestroy hipEventDestroy
#define cudaEventQuery hipEventQuery
#define cudaEventRecord hipEventRecord
#define cudaEventSynchronize hipEventSynchronize
#define cudaStreamCaptureMode hipStreamCaptureMode
#define cudaStreamCaptureModeGlobal hipStreamCaptureModeGlobal
#define cudaStreamCaptureModeRelaxed hipStreamCaptureModeRelaxed
#define cudaStreamCaptureModeThreadLocal hipStreamCaptureModeThreadLocal
#define cudaStreamCaptureStatus hipStreamCaptureStatus
#define cudaStreamCaptureStatusActive hipStreamCaptureStatusActive
#define cudaStreamCaptureStatusInvalidated hipStreamCaptureStatusInvalidated
#define cudaStreamCaptureStatusNone hipStreamCaptureStatusNone
#define cudaErrorStreamCaptureImplicit hipErrorStreamCaptureImplicit
#define cudaThreadExchangeStreamCaptureMode hipThreadExchangeStreamCaptureMode
#define cudaStreamBeginCapture hipStreamBeginCapture
#define cudaStreamEndCapture hipStreamEndCapture
#define cudaStreamIsCapturing hipStreamIsCapturing
#define cudaStreamGetCaptureInfo hipStreamGetCaptureInfo
#define cudaGraph_t hipGraph_t
#define cudaGraphExec_t hipGraphExec_t
#define cudaGraphGetNodes hipGraphGetNodes
#define cudaGraphDestroy hipGraphDestroy
#define cudaGraphExecDestroy hipGraphExecDestroy
#define cudaGraphLaunch hipGraphLaunch
#define cudaFuncAttributes hipFuncAttributes
#define cudaFuncGetAttributes hipFuncGetAttributes
#define CUstream hipStream_t
#define CUstreamCaptureStatus hipStreamCaptureStatus
#define CU_STREAM_CAPTURE_STATUS_NONE hipStreamCaptureStatusNone

// Memory. Pinned words are polled while kernels run, which HIP grants to coherent memory only.
#define cudaMalloc hipMalloc
#define cudaMallocAsync hipMallocAsync
#define cudaMallocManaged hipMallocManaged
#define cudaFree hipFree
#define cudaFreeAsync hipFreeAsync
#define cudaHostAlloc hipHostMalloc
#define cudaHostAllocDefault hipHostMallocCoherent
#define cudaHostAllocMapped (hipHostMallocMapped | hipHostMallocCoherent)
#define cudaHostAllocPortable hipHostMallocPortable
#define cudaFreeHost hipHostFree
#define cudaHostRegister hipHostRegister
#define cudaHostRegisterDefault hipHostRegisterDefault
#define cudaHostRegisterMapped hipHostRegisterMapped
#define cudaHostRegisterPortable hipHostRegisterPortable
#define cudaHostGetDevicePointer hipHostGetDevicePointer
#define cudaHostUnregister hipHostUnregister
#define cudaMemcpy hipMemcpy
#define cudaMemGetInfo hipMemGetInfo
#define cudaMemcpyAsync hipMemcpyAsync
#define cudaMemcpyDefault hipMemcpyDefault
#define cudaMemcpyDeviceToHost hipMemcpyDeviceToHost
#define cudaMemset hipMemset
#define cudaMemsetAsync hipMemsetAsync
#define cudaMemcpyHostToDevice hipMemcpyHostToDevice
#define cudaIpcMemHandle_t hipIpcMemHandle_t
#define cudaIpcMemLazyEnablePeerAccess hipIpcMemLazyEnablePeerAccess
#define cudaIpcGetMemHandle hipIpcGetMemHandle
#define cudaIpcOpenMemHandle hipIpcOpenMemHandle
#define cudaIpcCloseMemHandle hipIpcCloseMemHandle
#define CUpointer_attribute hipPointer_attribute
#define CU_POINTER_ATTRIBUTE_MEMORY_TYPE HIP_POINTER_ATTRIBUTE_MEMORY_TYPE
#define CU_POINTER_ATTRIBUTE_IS_MANAGED HIP_POINTER_ATTRIBUTE_IS_MANAGED
#define CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL
#define CU_POINTER_ATTRIBUTE_RANGE_START_ADDR HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR
#define CU_POINTER_ATTRIBUTE_RANGE_SIZE HIP_POINTER_ATTRIBUTE_RANGE_SIZE
#define CU_POINTER_ATTRIBUTE_BUFFER_ID HIP_POINTER_ATTRIBUTE_BUFFER_ID
#define CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE \
  HIP_POINTER_ATTRIBUTE_IS_LEGACY_HIP_IPC_CAPABLE
#define CU_MEMORYTYPE_DEVICE hipMemoryTypeDevice
using CUdeviceptr = unsigned long long;

inline hipError_t cudaStreamGetDevice(hipStream_t stream, int* device) {
  *device = hipGetStreamDeviceId(stream);
  return *device < 0 ? hipErrorInvalidHandle : hipSuccess;
}

// HIP does not number streams: a handle may come again.
inline hipError_t cudaStreamGetId(hipStream_t stream, unsigned long long* number) {
  *number = reinterpret_cast<unsigned long long>(stream);
  return hipSuccess;
}

// HIP 5.2 declares hipLaunchHostFunc, but its library lacks it.
inline hipError_t cudaLaunchHostFunc(hipStream_t stream, void (*function)(void*), void* argument) {
  struct Call {
    void (*function)(void*);
    void* argument;
  };
  auto call = std::make_unique<Call>(Call{function, argument});
  const auto run = [](hipStream_t, hipError_t, void* data) {
    const std::unique_ptr<Call> owned(static_cast<Call*>(data));
    owned->function(owned->argument);
  };
  const hipError_t code = hipStreamAddCallback(stream, run, call.get(), 0);
  if (code == hipSuccess) (void)call.release();
  return code;
}

inline hipError_t cudaGraphInstantiate(hipGraphExec_t* executable, hipGraph_t graph,
                                       unsigned long long) {
  return hipGraphInstantiate(executable, graph, nullptr, nullptr, 0);
}

// This HIP runtime knows no priorities of nodes.
constexpr unsigned long long cudaGraphInstantiateFlagUseNodePriority = 0;

inline hipError_t cudaGraphUpload(hipGraphExec_t, hipStream_t) {
  return hipSuccess;
}

#else

#include <cuda.h>
#include <cuda_runtime_api.h>
#if PENSTOCK_DEVICE_CODE
#include <cuda/atomic>
#endif

#endif

// ---- What the two say differently --------------------------------------------------------------

namespace penstock::vendor {

using DeviceIdentity = std::array<std::byte, 16>;  // the same in every process

#if PENSTOCK_HIP

inline hipError_t identify(int device, DeviceIdentity& identity) {
  hipUUID uuid{};
  static_assert(sizeof uuid == sizeof identity);
  const hipError_t code = hipDeviceGetUuid(&uuid, device);
  std::memcpy(identity.data(), &uuid, sizeof uuid);
  return code;
}

// Memory of the current device that others look at while its kernels run: what hipMalloc gives is
// coherent between devices at the ends of kernels only.
inline hipError_t allocate_coherent(void** address, std::size_t bytes) {
  return hipExtMallocWithFlags(address, bytes, hipDeviceMallocFinegrained);
}

// As cuPointerGetAttributes does, for the attributes named above. HIP knows no attribute for "can
// be exported": it is tried.
inline hipError_t pointer_attributes(unsigned count, hipPointer_attribute* names, void** values,
                                     CUdeviceptr at) {
  void* const address = reinterpret_cast<void*>(at);
  hipPointerAttribute_t known{};
  if (const hipError_t code = hipPointerGetAttributes(&known, address); code != hipSuccess) {
    (void)hipGetLastError();
    return code;
  }
  hipDeviceptr_t base = nullptr;
  std::size_t bytes = 0;
  if (hipMemGetAddressRange(&base, &bytes, address) != hipSuccess) (void)hipGetLastError();
  for (unsigned i = 0; i < count; ++i) {
    const auto give = [&](const auto& value) { std::memcpy(values[i], &value, sizeof value); };
    switch (names[i]) {
      case HIP_POINTER_ATTRIBUTE_MEMORY_TYPE:
        give(static_cast<unsigned>(known.memoryType));
        break;
      case HIP_POINTER_ATTRIBUTE_IS_MANAGED:
        give(static_cast<unsigned>(known.isManaged));
        break;
      case HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        give(known.device);
        break;
      case HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        give(base);
        break;
      case HIP_POINTER_ATTRIBUTE_RANGE_SIZE:
        give(bytes);
        break;
      case HIP_POINTER_ATTRIBUTE_IS_LEGACY_HIP_IPC_CAPABLE: {
        hipIpcMemHandle_t handle{};
        const bool device = known.memoryType == hipMemoryTypeDevice && known.isManaged == 0;
        const bool exported =
            device && base != nullptr && hipIpcGetMemHandle(&handle, base) == hipSuccess;
        if (!exported) (void)hipGetLastError();
        give(static_cast<unsigned>(exported));
        break;
      }
      default:
        if (const hipError_t code = hipPointerGetAttribute(values[i], names[i], address);
            code != hipSuccess) {
          (void)hipGetLastError();
          return code;
        }
    }
  }
  return hipSuccess;
}

#else

inline cudaError_t identify(int device, DeviceIdentity& identity) {
  cudaDeviceProp properties{};
  static_assert(sizeof properties.uuid == sizeof identity);
  const cudaError_t code = cudaGetDeviceProperties(&properties, device);
  std::memcpy(identity.data(), &properties.uuid, sizeof identity);
  return code;
}

// Memory of the current device that others look at while its kernels run.
inline cudaError_t allocate_coherent(void** address, std::size_t bytes) {
  return cudaMalloc(address, bytes);
}

// Whether the code that is loaded has the await_predecessor() below, so that dependent launch is
// safe. What is compiled for earlier GPUs has not, also where a newer one translates and runs it.
// All GPUs of a process that are as new are taken to load the same code.
inline bool awaits_predecessor(const void* kernel) noexcept {
  cudaFuncAttributes attributes{};
  if (cudaFuncGetAttributes(&attributes, kernel) == cudaSuccess) return attributes.ptxVersion >= 90;
  (void)cudaGetLastError();  // the launch will say it
  return false;
}

#endif

}  // namespace penstock::vendor

#include "gpu_device_code.hpp"
