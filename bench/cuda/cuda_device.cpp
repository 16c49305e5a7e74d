// SPDX-License-Identifier: Apache-2.0
// CUDA: the same trips by each library in turn, on one stream of each rank.
#include <dlfcn.h>
#include <fmt/format.h>
#include <mpi.h>

#include <optional>

#include "collective_exchange.hpp"
#include "cuda_libraries.hpp"
#include "cuda_side.hpp"
#include "device_rows.hpp"
#include "inside.hpp"
#include "mpi_epochs.hpp"
#include "request_exchange.hpp"
#include "support/agreement.hpp"
#include "support/promised_comm.hpp"

namespace penstock::bench {
namespace {

// Collective: one rank alone may have no GPU.
cudaDeviceProp choose_device(int rank) {
  cudaDeviceProp properties{};
  tool::together([&] {
    int devices = 0;
    if (const cudaError_t code = cudaGetDeviceCount(&devices); code != cudaSuccess || devices == 0)
      throw tool::UserError(fmt::format("--device cuda needs a GPU: {}", cudaGetErrorString(code)));
    CHECK_CUDA(cudaSetDevice(rank % devices));
    CHECK_CUDA(cudaGetDeviceProperties(&properties, rank % devices));
  });
  return properties;
}

bool mpi_takes_device_memory() {
  const auto query = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support"));
  return query != nullptr && query() != 0;
}

class CudaDevice final : public Device {
 public:
  CudaDevice(const Options& options, const tool::Session& session)
      : options_(options), properties_(choose_device(session.rank())) {}
  ~CudaDevice() override {
    if (std::uncaught_exceptions() == 0) close_nvshmem();
  }

  std::string description() const override {
    return fmt::format("CUDA ({}), {}", properties_.name, options_.graph ? "graphs" : "streams");
  }
  std::vector<std::string> libraries() const override { return cuda_libraries(options_.kind); }
  std::unique_ptr<Side> make_side(const std::string& library, const Traffic& traffic,
                                  std::string& why_not) override {
    auto exchange = is_collective(options_.kind) ? make_collective(library, traffic, why_not)
                                                 : make_exchange(library, traffic, why_not);
    if (!exchange) return nullptr;
    require_transport(options_, exchange->transport());
    return std::make_unique<CudaSide>(library, std::move(exchange), stream_.get(), options_);
  }

  void copy(std::span<std::byte> to, std::span<const std::byte> from) override {
    CHECK_CUDA(
        cudaMemcpyAsync(to.data(), from.data(), from.size(), cudaMemcpyDefault, stream_.get()));
    CHECK_CUDA(cudaStreamSynchronize(stream_.get()));
  }

  int trips_for(const Row& row) const override {
    const std::size_t bytes = is_exchange(options_.kind) ? row.bytes : row.bytes * row.messages;
    const int trips = options_.iterations > 0          ? options_.iterations
                      : bytes <= 65536                 ? 1000
                      : bytes <= std::size_t{1} << 20  ? 400
                      : bytes <= std::size_t{16} << 20 ? 100
                                                       : 20;
    return std::max(is_ping_pong(options_.kind) ? trips : trips / 4, 2);
  }

 private:
  std::unique_ptr<Exchange> make_exchange(const std::string& library, const Traffic& traffic,
                                          std::string& why_not) {
    const MemorySource source{gpu_line, device_memory};
    if (library == windows || (library == "penstock" && options_.kind == Kind::rma))
      return make_windows(traffic, options_.order == Order::preposted && library == windows,
                          tags::windows);
    if (library == windows_batch) return make_windows(traffic, true, tags::windows_batch);
    if (library == "penstock" || library == two_sided)
      return make_penstock(traffic, tags::penstock);
    if (library == mpi_windows || library == mpi_fence || library == mpi_lock)
      return make_mpi_windows(library, traffic, why_not);
    if (library == contiguous || library == packed) return make_without_gaps(library, traffic);
    if (library == enqueued || library == promised) return make_enqueued(library, traffic, why_not);
    if (library == "nccl") return make_nccl_exchange(traffic, stream_.get(), why_not);
    if (library != "mpi")
      return make_nvshmem_exchange(traffic, library == "nvshmem-add", options_.graph, stream_.get(),
                                   why_not);
    if (mpi_takes_device_memory() && options_.layout.has_gaps())
      return std::make_unique<RequestExchange<MpiCalls>>(traffic, source, Ahead::no, tags::mpi);
    if (mpi_takes_device_memory())
      return std::make_unique<RequestExchange<NonblockingCalls>>(traffic, source, Ahead::no,
                                                                 tags::nonblocking);
    why_not = "this MPI does not take device memory";
    return nullptr;
  }

  std::unique_ptr<Exchange> make_collective(const std::string& library, const Traffic& traffic,
                                            std::string& why_not) {
    const MemorySource source{1, device_memory};
    if (library == "nccl")
      return make_nccl_collective(options_.kind, traffic, stream_.get(), why_not);
    if (library == "penstock") {
      if (!queue_ || options_.graph) queue_.emplace(PST_QUEUE_CUDA, &handle_);
      return make_queue_collective(options_.kind, traffic, source, *queue_, why_not);
    }
    const bool alone = library == mpi_alone;
    if (mpi_takes_device_memory())
      return make_mpi_collective(options_.kind, traffic, source, [this, alone] {
        if (!alone) CHECK_CUDA(cudaStreamSynchronize(stream_.get()));
      });
    why_not = "this MPI does not take device memory";
    return nullptr;
  }

  // Sides that are measured beside each other wait alike on the device: on one queue, or, in
  // graphs, each by the first graph of a queue of its own. A second queue, or a queue's second
  // graph, has another place there (docs/performance.md).
  std::unique_ptr<Exchange> make_penstock(const Traffic& traffic, int first_tag) {
    if (!queue_ || options_.graph) queue_.emplace(PST_QUEUE_CUDA, &handle_);
    if (options_.order == Order::inside)
      return std::make_unique<InsideExchange>(traffic, MemorySource{gpu_line, device_memory},
                                              first_tag, *queue_, stream_.get());
    return std::make_unique<RequestExchange<QueueCalls>>(
        traffic, MemorySource{gpu_line, device_memory}, ahead(), first_tag, *queue_);
  }
  Ahead ahead() const {
    return options_.order == Order::preposted ? Ahead::together
           : options_.order == Order::run     ? Ahead::run
                                              : Ahead::no;
  }
  // On a queue of its own in graphs, as above.
  std::unique_ptr<Exchange> make_windows(const Traffic& traffic, bool ahead, int tag) {
    if (!queue_ || options_.graph) queue_.emplace(PST_QUEUE_CUDA, &handle_);
    return std::make_unique<WindowExchange<StreamEpochs>>(
        traffic, MemorySource{gpu_line, device_memory}, ahead, tag, *queue_);
  }
  std::unique_ptr<Exchange> make_mpi_windows(const std::string& library, const Traffic& traffic,
                                             std::string& why_not) {
    if (!mpi_takes_device_memory()) {
      why_not = "this MPI does not take device memory";
      return nullptr;
    }
    const MemorySource source{gpu_line, device_memory};
    if (library == mpi_fence)
      return std::make_unique<WindowExchange<FenceEpochs>>(traffic, source, false, tags::mpi_fence);
    if (library == mpi_lock)
      return std::make_unique<WindowExchange<LockEpochs>>(traffic, source, false, tags::mpi_lock);
    return std::make_unique<WindowExchange<MpiEpochs>>(traffic, source, false, tags::mpi_windows);
  }
  std::unique_ptr<Exchange> make_enqueued(const std::string& library, const Traffic& traffic,
                                          std::string& why_not) {
    if (!can_enqueue(why_not)) return nullptr;
    if (options_.graph) {
      why_not = "a graph cannot repeat enqueued messages";
      return nullptr;
    }
    if (library == promised && !promised_) promised_.emplace();
    if (!queue_) queue_.emplace(PST_QUEUE_CUDA, &handle_);
    return std::make_unique<RequestExchange<EnqueuedCalls>>(
        traffic, MemorySource{gpu_line, device_memory}, ahead(), tags::enqueued, *queue_,
        library == promised ? promised_->get() : MPI_COMM_WORLD);
  }
  // As many bytes by Penstock, with nothing done about rows, or packed by kernels of the program.
  std::unique_ptr<Exchange> make_without_gaps(const std::string& library, Traffic traffic) {
    for (auto* const parts : {&traffic.sends, &traffic.receives})
      for (Traffic::Part& part : *parts) part.layout = {};
    auto exchange = make_penstock(traffic, library == packed ? tags::packed : tags::contiguous);
    if (library == packed)
      pack_device_rows(*exchange, stream_.get(), options_.layout, options_.check);
    return exchange;
  }

  const Options& options_;
  const cudaDeviceProp properties_;
  const CudaStream stream_;
  cudaStream_t handle_ = stream_.get();
  std::optional<tool::PromisedComm> promised_;
  std::optional<Queue> queue_;
};

}  // namespace

std::vector<std::string> cuda_libraries(Kind kind) {
  if (kind != Kind::rma) return {"penstock"};
  return {"penstock", windows_batch, two_sided, mpi_windows, mpi_fence, mpi_lock};
}

std::unique_ptr<Device> make_cuda_device(const Options& options, const tool::Session& session) {
  return std::make_unique<CudaDevice>(options, session);
}

}  // namespace penstock::bench
