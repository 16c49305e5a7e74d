// SPDX-License-Identifier: Apache-2.0
// Collectives by NCCL as a baseline.
#include "collective_traffic.hpp"
#include "cuda_libraries.hpp"
#include "support/cuda/nccl_library.hpp"

namespace penstock::bench {
namespace {

class NcclCollective final : public LibraryExchange<NcclCollective> {
 public:
  NcclCollective(Kind kind, const Traffic& traffic, const tool::Nccl& nccl, cudaStream_t stream)
      : LibraryExchange(traffic, {1, device_memory}),
        kind_(kind),
        nccl_(nccl),
        comm_(tool::nccl_communicator(nccl)),
        stream_(stream),
        bytes_(messages().front().part.bytes),
        numbers_(bytes_ / sizeof(double)) {}

  void move(bool, bool) {
    timed("collective", [&] { nccl_.check(call()); });
  }

 private:
  int call() const {
    std::byte* const in = outgoing().data();
    std::byte* const out = incoming().data();
    switch (kind_) {
      case Kind::allreduce:
        return nccl_.all_reduce(in, out, numbers_, tool::ncclFloat64, tool::ncclSum, comm_,
                                stream_);
      case Kind::reduce_scatter:
        return nccl_.reduce_scatter(in, out, numbers_, tool::ncclFloat64, tool::ncclSum, comm_,
                                    stream_);
      case Kind::reduce:
        return nccl_.reduce(in, out, numbers_, tool::ncclFloat64, tool::ncclSum, root_rank, comm_,
                            stream_);
      case Kind::allgather:
        return nccl_.all_gather(in, out, bytes_, tool::ncclInt8, comm_, stream_);
      default:
        return broadcast(sent().empty() ? out : in);
    }
  }
  int broadcast(std::byte* buffer) const {
    return nccl_.broadcast(buffer, buffer, bytes_, tool::ncclInt8, root_rank, comm_, stream_);
  }

  const Kind kind_;
  const tool::Nccl& nccl_;
  const tool::NcclComm comm_;
  const cudaStream_t stream_;
  const std::size_t bytes_;  // of a block
  const std::size_t numbers_;
};

}  // namespace

// NCCL has messages in a group in place of an alltoall.
std::unique_ptr<Exchange> make_nccl_collective(Kind kind, const Traffic& traffic,
                                               cudaStream_t stream, std::string& why_not) {
  if (kind == Kind::alltoall || kind == Kind::alltoallv)
    return make_nccl_exchange(traffic, stream, why_not);
  const tool::Nccl* const nccl = tool::load_nccl(why_not);
  if (nccl == nullptr) return nullptr;
  if (kind != Kind::barrier) return std::make_unique<NcclCollective>(kind, traffic, *nccl, stream);
  why_not = "NCCL has no barrier";
  return nullptr;
}

}  // namespace penstock::bench
