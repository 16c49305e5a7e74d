// SPDX-License-Identifier: Apache-2.0
// NCCL as a baseline. It is looked for when it is asked for, and not needed to build; the declarations are those of its
// stable C interface.
#include <dlfcn.h>
#include <mpi.h>

#include "exchange.hpp"

namespace penstock::bench {
namespace {

struct UniqueId {
  char internal[128];
};
using Comm = void*;
constexpr int ncclInt8 = 0;

struct Nccl {
  int (*get_unique_id)(UniqueId*);
  int (*comm_init_rank)(Comm*, int, UniqueId, int);
  int (*comm_destroy)(Comm);
  int (*group_start)();
  int (*group_end)();
  int (*send)(const void*, std::size_t, int, int, Comm, cudaStream_t);
  int (*recv)(void*, std::size_t, int, int, Comm, cudaStream_t);
  const char* (*error_string)(int);

  void check(int code) const {
    if (code != 0) throw std::runtime_error(std::string("NCCL: ") + error_string(code));
  }
};

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

const Nccl* load(std::string& why_not) {
  static Nccl nccl;
  static void* const library = dlopen("libnccl.so.2", RTLD_NOW);
  if (library == nullptr) {
    why_not = "libnccl.so.2 cannot be loaded";
    return nullptr;
  }
  const bool complete =
      find(library, "ncclGetUniqueId", nccl.get_unique_id) && find(library, "ncclCommInitRank", nccl.comm_init_rank) &&
      find(library, "ncclCommDestroy", nccl.comm_destroy) && find(library, "ncclGroupStart", nccl.group_start) &&
      find(library, "ncclGroupEnd", nccl.group_end) && find(library, "ncclSend", nccl.send) &&
      find(library, "ncclRecv", nccl.recv) && find(library, "ncclGetErrorString", nccl.error_string);
  if (!complete) why_not = "libnccl.so.2 lacks a function";
  return complete ? &nccl : nullptr;
}

// One for the process: making one takes a second or so.
Comm communicator(const Nccl& nccl, int rank) {
  static Comm comm = nullptr;
  if (comm != nullptr) return comm;
  UniqueId id{};
  if (rank == 0) nccl.check(nccl.get_unique_id(&id));
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  nccl.check(nccl.comm_init_rank(&comm, 2, id, rank));
  return comm;
}

class NcclExchange final : public Exchange {
 public:
  NcclExchange(const Traffic& traffic, const Nccl& nccl)
      : Exchange(traffic), nccl_(nccl), comm_(communicator(nccl, traffic.rank)) {}

  void round_trip(bool, bool) override {
    if (traffic_.rank == 0) {
      prepare();
      move_messages(true);
      move(answer.all(), false);
      use();
    } else {
      move_messages(false);
      use();
      prepare();
      move(answer.all(), true);
    }
  }

 private:
  void move_messages(bool sends) {
    if (traffic_.count > 1) nccl_.check(nccl_.group_start());
    for (int i = 0; i < traffic_.count; ++i) move(message(i), sends);
    if (traffic_.count > 1) nccl_.check(nccl_.group_end());
  }
  void move(std::span<std::byte> message, bool sends) {
    const int peer = 1 - traffic_.rank;
    nccl_.check(sends ? nccl_.send(message.data(), message.size(), ncclInt8, peer, comm_, traffic_.stream)
                      : nccl_.recv(message.data(), message.size(), ncclInt8, peer, comm_, traffic_.stream));
  }
  const Nccl& nccl_;
  Comm comm_;
};

}  // namespace

std::unique_ptr<Exchange> make_nccl_exchange(const Traffic& traffic, std::string& why_not) {
  const Nccl* const nccl = load(why_not);
  return nccl == nullptr ? nullptr : std::make_unique<NcclExchange>(traffic, *nccl);
}

}  // namespace penstock::bench
