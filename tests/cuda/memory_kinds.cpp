// SPDX-License-Identifier: Apache-2.0
#include "cuda/memory_kinds.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <gpu_runtime.hpp>
#include <memory>
#include <stdexcept>

#include "support/environment.hpp"

namespace penstock::test {
namespace {

constexpr std::size_t alignment = 256;

void check(int code, const char* call) {
  if (code == 0) return;
  (void)cudaGetLastError();
  throw std::runtime_error(std::string(call) + " failed with code " + std::to_string(code));
}
#define CHECK(call) check(static_cast<int>(call), #call)

// The driver is not linked.
template <class Function>
Function driver(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  CHECK(cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found));
  if (function == nullptr) throw std::runtime_error(std::string("the driver has no ") + name);
  return reinterpret_cast<Function>(function);
}
#define DRIVER(name) driver<decltype(&name)>(#name)

class Chunks {
 public:
  explicit Chunks(std::size_t half) {
    int device = 0;
    CHECK(cudaGetDevice(&device));
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = device;
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    CHECK(DRIVER(cuMemGetAllocationGranularity)(&chunk_, &properties,
                                                CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    half_ = (half + chunk_ - 1) / chunk_;
    CHECK(DRIVER(cuMemAddressReserve)(&base_, bytes(), 0, 0, 0));
    for (std::size_t i = 0; i < 2 * half_; ++i) {
      CUmemGenericAllocationHandle handle{};
      CHECK(DRIVER(cuMemCreate)(&handle, chunk_, &properties, 0));
      handles_.push_back(handle);
      CHECK(DRIVER(cuMemMap)(base_ + i * chunk_, chunk_, 0, handle, 0));
    }
    CUmemAccessDesc access{};
    access.location = properties.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CHECK(DRIVER(cuMemSetAccess)(base_, bytes(), &access, 1));
  }
  void free() {
    CHECK(DRIVER(cuMemUnmap)(base_, bytes()));
    for (const auto handle : handles_) CHECK(DRIVER(cuMemRelease)(handle));
    CHECK(DRIVER(cuMemAddressFree)(base_, bytes()));
  }
  std::byte* middle() const { return reinterpret_cast<std::byte*>(base_ + half_ * chunk_); }

 private:
  std::size_t bytes() const { return 2 * half_ * chunk_; }

  CUdeviceptr base_ = 0;
  std::size_t chunk_ = 0, half_ = 0;
  std::vector<CUmemGenericAllocationHandle> handles_;
};

bool possible(Allocation kind) {
  try {
    Block block(kind, 1000);
    return true;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "[rank %d] left out: memory of kind %s: %s\n", rank(), name(kind),
                 failure.what());
    return false;
  }
}

std::vector<Allocation> find_allocations() {
  std::vector<Allocation> found;
  for (int i = 0; i <= static_cast<int>(Allocation::pageable); ++i) {
    int everywhere = possible(static_cast<Allocation>(i)) ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &everywhere, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (everywhere != 0) found.push_back(static_cast<Allocation>(i));
  }
  return found;
}

}  // namespace

const char* name(Allocation kind) {
  constexpr const char* names[] = {"cudaMalloc",
                                   "cudaMallocAsync",
                                   "cudaMallocManaged",
                                   "cuMemMap in chunks",
                                   "cudaHostAlloc",
                                   "cudaHostRegister",
                                   "malloc"};
  return names[static_cast<int>(kind)];
}

bool on_device(Allocation kind) {
  return kind < Allocation::pinned;
}

const std::vector<Allocation>& allocations() {
  static const std::vector<Allocation> found = find_allocations();
  return found;
}

Block::Block(Allocation kind, std::size_t bytes, std::size_t shift) {
  const std::size_t total = bytes + shift + 1;
  void* base = nullptr;
  switch (kind) {
    case Allocation::device:
      CHECK(cudaMalloc(&base, total));
      free_ = [base] { CHECK(cudaFree(base)); };
      break;
    case Allocation::stream_ordered:
      CHECK(cudaMallocAsync(&base, total, cudaStreamPerThread));
      CHECK(cudaStreamSynchronize(cudaStreamPerThread));
      free_ = [base] { CHECK(cudaFreeAsync(base, cudaStreamPerThread)); };
      break;
    case Allocation::managed:
      CHECK(cudaMallocManaged(&base, total));
      free_ = [base] { CHECK(cudaFree(base)); };
      break;
    case Allocation::chunks: {
      auto chunks = std::make_shared<Chunks>(total / 2 + alignment);
      base = chunks->middle() - total / 2 / alignment * alignment;
      free_ = [chunks] { chunks->free(); };
      break;
    }
    case Allocation::pinned:
      CHECK(cudaHostAlloc(&base, total, cudaHostAllocDefault));
      free_ = [base] { CHECK(cudaFreeHost(base)); };
      break;
    case Allocation::registered:
      base = std::malloc(total);
      if (base == nullptr) throw std::runtime_error("out of memory");
      CHECK(cudaHostRegister(base, total, cudaHostRegisterDefault));
      free_ = [base] {
        CHECK(cudaHostUnregister(base));
        std::free(base);
      };
      break;
    case Allocation::pageable:
      base = std::malloc(total);
      if (base == nullptr) throw std::runtime_error("out of memory");
      free_ = [base] { std::free(base); };
      break;
  }
  data_ = static_cast<std::byte*>(base) + shift;
}

Block::~Block() {
  try {
    if (free_) free_();
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "[rank %d] %s\n", rank(), failure.what());
    std::abort();
  }
}

}  // namespace penstock::test
