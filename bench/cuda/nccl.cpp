// SPDX-License-Identifier: Apache-2.0
// NCCL as a baseline. The declarations are those of its stable C interface.
#include <mpi.h>

#include "cuda_libraries.hpp"
#include "library.hpp"

namespace penstock::bench {
namespace {

struct NcclId {
  char internal[128];
};
using Comm = void*;
constexpr int ncclInt8 = 0;

struct Nccl {
  int (*get_unique_id)(NcclId*);
  int (*comm_init_rank)(Comm*, int, NcclId, int);
  int (*group_start)();
  int (*group_end)();
  int (*send)(const void*, std::size_t, int, int, Comm, cudaStream_t);
  int (*recv)(void*, std::size_t, int, int, Comm, cudaStream_t);
  const char* (*error_string)(int);

  void check(int code) const {
    if (code != 0) throw std::runtime_error(std::string("NCCL: ") + error_string(code));
  }
};

const Nccl* load_nccl(std::string& why_not) {
  static Nccl nccl;
  static Library library("libnccl.so.2");
  static const bool complete =
      library.find("ncclGetUniqueId", nccl.get_unique_id) &&
      library.find("ncclCommInitRank", nccl.comm_init_rank) &&
      library.find("ncclGroupStart", nccl.group_start) &&
      library.find("ncclGroupEnd", nccl.group_end) && library.find("ncclSend", nccl.send) &&
      library.find("ncclRecv", nccl.recv) && library.find("ncclGetErrorString", nccl.error_string);
  why_not = library.why_not();
  return complete ? &nccl : nullptr;
}

// One for the process: making one takes a second or so.
Comm communicator(const Nccl& nccl, const Traffic& traffic) {
  static Comm comm = nullptr;
  if (comm != nullptr) return comm;
  NcclId id{};
  if (traffic.rank == 0) nccl.check(nccl.get_unique_id(&id));
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  nccl.check(nccl.comm_init_rank(&comm, traffic.ranks, id, traffic.rank));
  return comm;
}

class NcclExchange final : public LibraryExchange<NcclExchange> {
 public:
  NcclExchange(const Traffic& traffic, const Nccl& nccl, cudaStream_t stream)
      : LibraryExchange(traffic, {gpu_line, device_memory}),
        nccl_(nccl),
        comm_(communicator(nccl, traffic)),
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
  Comm comm_;
  cudaStream_t stream_;
};

}  // namespace

std::unique_ptr<Exchange> make_nccl_exchange(const Traffic& traffic, cudaStream_t stream,
                                             std::string& why_not) {
  const Nccl* const nccl = load_nccl(why_not);
  return nccl == nullptr ? nullptr : std::make_unique<NcclExchange>(traffic, *nccl, stream);
}

}  // namespace penstock::bench
