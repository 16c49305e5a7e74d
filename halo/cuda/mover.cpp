// SPDX-License-Identifier: Apache-2.0
#include "../mover.hpp"

#include <dlfcn.h>

#include <optional>

#include "current_device.hpp"
#include "kernels.hpp"

namespace penstock::halo {
namespace {

void check(cudaError_t code, const char* call) {
  if (code == cudaSuccess) return;
  const auto kind = code == cudaErrorMemoryAllocation ? PST_ERROR_RESOURCES : PST_ERROR_UNSUPPORTED;
  (void)cudaGetLastError();  // it is reported here, not by the program's next call
  throw Error(MPI_ERR_OTHER, kind,
              std::string("penstock::halo: ") + call + ": " + cudaGetErrorString(code));
}

// Owns device memory that holds a copy of a host's array.
template <class T>
class DeviceCopy {
 public:
  explicit DeviceCopy(const std::vector<T>& from) {
    if (from.empty()) return;
    check(cudaMalloc(&memory_, from.size() * sizeof(T)), "cudaMalloc");
    try {
      copy(from);
    } catch (...) {
      cudaFree(memory_);
      throw;
    }
  }
  ~DeviceCopy() {
    if (memory_ != nullptr) cudaFree(memory_);
  }
  DeviceCopy(const DeviceCopy&) = delete;
  DeviceCopy& operator=(const DeviceCopy&) = delete;

  const T* get() const { return static_cast<const T*>(memory_); }

 private:
  // On a stream of its own, waited for: cudaMemcpy may return before pageable memory has arrived,
  // and the program's streams may wait for messages.
  void copy(const std::vector<T>& from) {
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    cudaError_t code = cudaMemcpyAsync(memory_, from.data(), from.size() * sizeof(T),
                                       cudaMemcpyHostToDevice, stream);
    if (code == cudaSuccess) code = cudaStreamSynchronize(stream);
    cudaStreamDestroy(stream);
    check(code, "cudaMemcpyAsync");
  }

  void* memory_ = nullptr;
};

struct Chunks {
  std::vector<Chunk> all;
  std::vector<unsigned> first;  // of each box, and their end
};

Chunks chunks_of(const Table& table) {
  Chunks chunks;
  for (std::size_t i = 0; i < table.boxes.size(); ++i) {
    chunks.first.push_back(static_cast<unsigned>(chunks.all.size()));
    for (std::uint64_t at = 0; at < table.boxes[i].elements; at += chunk_elements) {
      chunks.all.push_back({at, static_cast<std::uint32_t>(i)});
    }
  }
  chunks.first.push_back(static_cast<unsigned>(chunks.all.size()));
  return chunks;
}

// A steering table on the device.
class GpuTable {
 public:
  explicit GpuTable(const Table& table) : GpuTable(table, chunks_of(table)) {}

  DeviceTable on_device() const { return {boxes_.get(), parts_.get(), chunks_.get()}; }
  ChunkRange all() const { return {0, first_chunk_.back()}; }
  ChunkRange of_boxes(std::uint32_t first, std::uint32_t end) const {
    return {first_chunk_[first], first_chunk_[end] - first_chunk_[first]};
  }

 private:
  GpuTable(const Table& table, Chunks chunks)
      : boxes_(table.boxes),
        parts_(table.parts),
        chunks_(chunks.all),
        first_chunk_(std::move(chunks.first)) {}

  DeviceCopy<Box> boxes_;
  DeviceCopy<Part> parts_;
  DeviceCopy<Chunk> chunks_;
  std::vector<unsigned> first_chunk_;
};

// That of the stream; the default streams are those of the current device.
int device_of(cudaStream_t stream) {
  int device = 0;
  const bool is_default =
      stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread;
  if (is_default)
    check(cudaGetDevice(&device), "cudaGetDevice");
  else
    check(cudaStreamGetDevice(stream, &device), "cudaStreamGetDevice");
  return device;
}

// The tables of all packing and unpacking, by direction.
struct Tables {
  explicit Tables(const Steering& steering)
      : pack{GpuTable(steering.pack[0]), GpuTable(steering.pack[1])},
        unpack{GpuTable(steering.unpack[0]), GpuTable(steering.unpack[1])} {}

  std::array<GpuTable, 2> pack;
  std::array<GpuTable, 2> unpack;
};

Addresses addresses_of(std::span<const Array> arrays, const std::byte* messages) {
  Addresses addresses{};
  for (std::size_t a = 0; a < arrays.size(); ++a)
    addresses.arrays[a] = static_cast<std::byte*>(arrays[a].data);
  addresses.messages = const_cast<std::byte*>(messages);
  return addresses;
}

class GpuMover final : public Mover {
 public:
  GpuMover(cudaStream_t stream, const Steering& steering)
      : stream_(stream), device_(device_of(stream)), steering_(steering) {
    const CurrentDevice guard(device_);
    tables_.emplace(steering);
    check(load_kernels(), "cudaFuncGetAttributes");
  }
  ~GpuMover() override {
    const CurrentDevice guard(device_);
    tables_.reset();
  }
  GpuMover(const GpuMover&) = delete;
  GpuMover& operator=(const GpuMover&) = delete;

  std::byte* allocate(std::uint64_t bytes) override {
    const CurrentDevice guard(device_);
    void* memory = nullptr;
    check(cudaMalloc(&memory, bytes), "cudaMalloc");
    return static_cast<std::byte*>(memory);
  }
  std::byte* allocate_staging(std::uint64_t bytes) override {
    const CurrentDevice guard(device_);
    void* memory = nullptr;
    check(cudaHostAlloc(&memory, bytes, cudaHostAllocMapped), "cudaHostAlloc");
    staging_ = static_cast<std::byte*>(memory);
    return staging_;
  }
  void free(std::byte* memory) noexcept override {
    const CurrentDevice guard(device_);
    if (memory == staging_)
      cudaFreeHost(memory);
    else
      cudaFree(memory);
  }

  bool mpi_takes_memory() const override {
    const char* const name = PENSTOCK_HIP ? "MPIX_Query_rocm_support" : "MPIX_Query_cuda_support";
    const auto query = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, name));
    return query != nullptr && query() != 0;
  }

  void pack(Direction direction, std::span<const Array> arrays, std::byte* outgoing) override {
    const CurrentDevice guard(device_);
    const GpuTable& table = tables_->pack[static_cast<std::size_t>(direction)];
    check(launch_pack(stream_, table.on_device(), table.all(), addresses_of(arrays, outgoing)),
          "packing");
  }

  void unpack(Direction direction, Reduction reduction, std::span<const Array> arrays,
              const std::byte* incoming) override {
    const CurrentDevice guard(device_);
    const GpuTable& table = tables_->unpack[static_cast<std::size_t>(direction)];
    check(launch_unpack(stream_, table.on_device(), table.all(), addresses_of(arrays, incoming),
                        reduction),
          "unpacking");
  }

  void unpack_from(std::size_t neighbour, std::span<const Array> arrays,
                   const std::byte* incoming) override {
    const CurrentDevice guard(device_);
    const std::vector<std::uint32_t>& first_box = steering_.unpack[0].first_box;
    const GpuTable& table = tables_->unpack[0];
    const ChunkRange range = table.of_boxes(first_box[neighbour], first_box[neighbour + 1]);
    check(launch_unpack(stream_, table.on_device(), range, addresses_of(arrays, incoming),
                        Reduction::replace),
          "unpacking");
  }

  void synchronize() override {
    const CurrentDevice guard(device_);
    check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  }

  void expect_no_capture() const override {
    const CurrentDevice guard(device_);
    cudaStreamCaptureStatus status{};
    check(cudaStreamIsCapturing(stream_, &status), "cudaStreamIsCapturing");
    if (status != cudaStreamCaptureStatusActive) return;
    throw Error(MPI_ERR_ARG, PST_ERROR_ARGUMENT,
                "penstock::halo: a halo of ready sends was given a stream that is captured: its "
                "receives are open from one exchange to the next; graphs need Sends::standard");
  }

 private:
  cudaStream_t stream_;
  int device_;
  const Steering& steering_;
  std::byte* staging_ = nullptr;
  std::optional<Tables> tables_;
};

}  // namespace

std::unique_ptr<Mover> make_gpu_mover(void* stream, const Steering& steering) {
  return std::make_unique<GpuMover>(*static_cast<cudaStream_t*>(stream), steering);
}

}  // namespace penstock::halo
