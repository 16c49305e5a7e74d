// SPDX-License-Identifier: Apache-2.0
// What benchmarks and applications need of NCCL. The declarations are those of its stable C
// interface.
#pragma once

#include <cstddef>
#include <gpu_runtime.hpp>
#include <stdexcept>
#include <string>

namespace penstock::tool {

struct NcclId {
  char internal[128];
};
using NcclComm = void*;
constexpr int ncclInt8 = 0, ncclFloat64 = 8;  // types
constexpr int ncclSum = 0;

struct Nccl {
  int (*get_unique_id)(NcclId*);
  int (*comm_init_rank)(NcclComm*, int, NcclId, int);
  int (*group_start)();
  int (*group_end)();
  int (*send)(const void*, std::size_t, int type, int peer, NcclComm, cudaStream_t);
  int (*recv)(void*, std::size_t, int type, int peer, NcclComm, cudaStream_t);
  int (*all_reduce)(const void*, void*, std::size_t, int type, int op, NcclComm, cudaStream_t);
  int (*reduce_scatter)(const void*, void*, std::size_t, int type, int op, NcclComm, cudaStream_t);
  int (*all_gather)(const void*, void*, std::size_t, int type, NcclComm, cudaStream_t);
  int (*broadcast)(const void*, void*, std::size_t, int type, int root, NcclComm, cudaStream_t);
  int (*reduce)(const void*, void*, std::size_t, int type, int op, int root, NcclComm,
                cudaStream_t);
  const char* (*error_string)(int);

  void check(int code) const {
    if (code != 0) throw std::runtime_error(std::string("NCCL: ") + error_string(code));
  }
};

// Null, with the reason, where there is none.
const Nccl* load_nccl(std::string& why_not);

// Of all ranks, one for the process: making one takes a second or so. Collective.
NcclComm nccl_communicator(const Nccl& nccl);

}  // namespace penstock::tool
