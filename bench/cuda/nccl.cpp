// SPDX-License-Identifier: Apache-2.0
// Messages by NCCL as a baseline.
#include "cuda_libraries.hpp"
#include "nccl_library.hpp"

namespace penstock::bench {
namespace {

class NcclExchange final : public LibraryExchange<NcclExchange> {
 public:
  NcclExchange(const Traffic& traffic, const Nccl& nccl, cudaStream_t stream)
      : LibraryExchange(traffic, {gpu_line, device_memory}),
        nccl_(nccl),
        comm_(nccl_communicator(nccl, traffic)),
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
                nccl_.check(nccl_.send(message.bytes.data(), message.bytes.size(), ncclInt8,
                                       message.part.peer, comm_, stream_));
            if (receives)
              for (const Message& message : received())
                nccl_.check(nccl_.recv(message.bytes.data(), message.bytes.size(), ncclInt8,
                                       message.part.peer, comm_, stream_));
            if (calls > 1) nccl_.check(nccl_.group_end());
          });
  }

 private:
  const Nccl& nccl_;
  NcclComm comm_;
  cudaStream_t stream_;
};

}  // namespace

std::unique_ptr<Exchange> make_nccl_exchange(const Traffic& traffic, cudaStream_t stream,
                                             std::string& why_not) {
  const Nccl* const nccl = load_nccl(why_not);
  return nccl == nullptr ? nullptr : std::make_unique<NcclExchange>(traffic, *nccl, stream);
}

}  // namespace penstock::bench
