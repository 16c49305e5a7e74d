// SPDX-License-Identifier: Apache-2.0
// Messages by NCCL as a baseline.
#include "cuda_libraries.hpp"
#include "support/cuda/nccl_library.hpp"

namespace penstock::bench {
namespace {

class NcclExchange final : public LibraryExchange<NcclExchange> {
 public:
  NcclExchange(const Traffic& traffic, const tool::Nccl& nccl, cudaStream_t stream)
      : LibraryExchange(traffic, {gpu_line, device_memory}),
        nccl_(nccl),
        comm_(tool::nccl_communicator(nccl)),
        stream_(stream) {}

  void move(bool sends, bool receives) {
    const std::size_t calls = (sends ? sent().size() : 0) + (receives ? received().size() : 0);
    timed(sends && receives ? "group"
          : sends           ? "send"
                            : "receive",
          [&] {
            if (calls > 1) nccl_.check(nccl_.group_start());
            if (sends)
              for (const Message& message : sent())
                nccl_.check(nccl_.send(message.bytes.data(), message.bytes.size(), tool::ncclInt8,
                                       message.part.peer, comm_, stream_));
            if (receives)
              for (const Message& message : received())
                nccl_.check(nccl_.recv(message.bytes.data(), message.bytes.size(), tool::ncclInt8,
                                       message.part.peer, comm_, stream_));
            if (calls > 1) nccl_.check(nccl_.group_end());
          });
  }

 private:
  const tool::Nccl& nccl_;
  tool::NcclComm comm_;
  cudaStream_t stream_;
};

}  // namespace

std::unique_ptr<Exchange> make_nccl_exchange(const Traffic& traffic, cudaStream_t stream,
                                             std::string& why_not) {
  const tool::Nccl* const nccl = tool::load_nccl(why_not);
  return nccl == nullptr ? nullptr : std::make_unique<NcclExchange>(traffic, *nccl, stream);
}

}  // namespace penstock::bench
