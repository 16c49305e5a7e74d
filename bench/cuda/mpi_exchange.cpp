// SPDX-License-Identifier: Apache-2.0
// CUDA-aware MPI as a baseline. The host drives it, as such programs do: it waits for the stream
// (the packing) before the sends, and enqueues what comes after the receives (the unpacking) when
// they have come.
#include <dlfcn.h>
#include <mpi.h>

#include "exchange.hpp"

namespace penstock::bench {
namespace {

class MpiExchange final : public Exchange {
 public:
  explicit MpiExchange(const Traffic& traffic) : Exchange(traffic) {}
  bool on_stream() const override { return false; }

 private:
  static constexpr int tag = 2;

  // Also what was enqueued after the last receives has ended then, so that these buffers may be
  // received into again.
  void prepare() override {
    Exchange::prepare();
    if (before_send) CHECK_CUDA(cudaStreamSynchronize(traffic_.stream));
  }

  void move(bool sends, bool receives) override {
    if (receives)
      for (const Message& message : received())
        MPI_Irecv(message.bytes.data(), static_cast<int>(message.bytes.size()), MPI_BYTE,
                  message.peer, tag, MPI_COMM_WORLD, next());
    if (sends)
      for (const Message& message : sent())
        MPI_Isend(message.bytes.data(), static_cast<int>(message.bytes.size()), MPI_BYTE,
                  message.peer, tag, MPI_COMM_WORLD, next());
    MPI_Waitall(static_cast<int>(open_.size()), open_.data(), MPI_STATUSES_IGNORE);
    open_.clear();
  }

  MPI_Request* next() { return &open_.emplace_back(MPI_REQUEST_NULL); }

  std::vector<MPI_Request> open_;
};

}  // namespace

std::unique_ptr<Exchange> make_mpi_exchange(const Traffic& traffic, std::string& why_not) {
  const auto query = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support"));
  if (query == nullptr || query() == 0) {
    why_not = "this MPI does not take device memory";
    return nullptr;
  }
  return std::make_unique<MpiExchange>(traffic);
}

}  // namespace penstock::bench
