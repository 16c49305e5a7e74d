// SPDX-License-Identifier: Apache-2.0
// What the layers below ask about GPUs, the same whether or not their devices are built in.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/verdict.hpp"
#include "device/memory.hpp"
#include "device/stream.hpp"

// Whose GPUs this library serves, as its texts say it: one vendor's, chosen when it is built.
#if PENSTOCK_HIP
#define PENSTOCK_GPU "HIP"
#define PENSTOCK_GPU_KEY "hip"
#else
#define PENSTOCK_GPU "CUDA"
#define PENSTOCK_GPU_KEY "cuda"
#endif

namespace penstock::device {

enum class Vendor : std::uint8_t { cuda, hip };

inline constexpr bool built_for_gpus = PENSTOCK_CUDA || PENSTOCK_HIP;
inline constexpr Vendor built_for = PENSTOCK_HIP ? Vendor::hip : Vendor::cuda;

// What one GPU of this process can do with the memory of another one.
struct GpuLink {
  int device = -1;  // the other one
  bool access = false;
  bool native_atomics = false;
  int rank = 0;  // how the driver ranks the link: 0 is the fastest kind
};

struct GpuMemory {
  std::string kind;
  std::string exported_by;  // to other processes; empty: not
};

struct Gpu {
  int device = -1;
  std::string name;
  std::string architecture;
  std::string bus;  // its PCI address
  int processors = 0;
  std::uint64_t bytes = 0;
  std::vector<GpuLink> links;
  std::vector<GpuMemory> memory;
};

// What a queue over the vendor's streams fails with where its GPUs are not built in.
base::Error not_built_in(Vendor vendor);
// Whether streams of the vendor's GPUs can be had in this process. Starts its driver; for `penstock
// info`.
base::Verdict gpu_status(Vendor vendor);
// The GPUs that gpu_status() speaks of.
std::vector<Gpu> list_gpus();
// Whether this process may have streams of GPUs: it has loaded their driver.
bool gpus_in_use() noexcept;
// The PCI address of the GPU that the calling thread has a context of, "0000:C1:00.0"; empty if it
// has none. Starts no driver.
std::string current_gpu();
// The stream behind the cudaStream_t or hipStream_t at this address, which is read now only. Throws
// Error(unsupported) when such streams cannot be had here, Error(stream) when the handle is none.
std::shared_ptr<Stream> open_gpu_stream(Vendor vendor, const void* handle);
// A number that no other stream of the process has had or will have, for the handle itself; nothing
// where the process has loaded no driver, and so has no such stream. Throws Error(stream).
std::optional<std::uint64_t> gpu_stream_number(void* handle);
// Costs nothing in a process that has not loaded the CUDA driver.
MemoryKind memory_kind(const void* address) noexcept;
// The device of an address of kind `cuda`.
int gpu_of(const void* address) noexcept;
// The allocation of a GPU's memory that holds the address; where there is none, nothing is inside.
struct GpuAllocation {
  std::uintptr_t base = 0;
  std::size_t bytes = 0;
  int device = -1;
  bool on_all = false;  // managed memory: all devices reach it

  bool holds(const void* address) const noexcept {
    return reinterpret_cast<std::uintptr_t>(address) - base < bytes;
  }
};
GpuAllocation gpu_allocation(const void* address) noexcept;
// The last few that were asked for, until the program may have freed them: asking the driver takes
// microseconds. One thread at a time.
class KnownGpuAllocations {
 public:
  GpuAllocation find(const void* address) noexcept;
  void forget() noexcept { known_ = {}; }

 private:
  std::array<GpuAllocation, 4> known_;
  std::size_t oldest_ = 0;
};
// Whether a network card reads this memory of a GPU by itself, or, `written`, writes it so that the
// stream that waits for it sees it: as far as is known here.
base::Verdict network_reaches(const void* address, bool written);
// Makes the device current for the calling thread if it has none: for libraries that are given the
// device's memory.
void enter_gpu(int device) noexcept;

}  // namespace penstock::device
