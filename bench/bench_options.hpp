// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <penstock/penstock.hpp>
#include <string>
#include <vector>

#include "support/session.hpp"

namespace penstock::bench {

enum class MemoryKind { alloc, malloc };

// Whether a receive is started right before its wait, or one iteration ahead, before the message
// that lets the peer send. Ready sends need the latter.
enum class Order { sequential, preposted };

enum class DeviceKind { host, cuda };

// Who exchanges with whom.
enum class Pairs { neighbours, all };

struct Options {
  DeviceKind device = DeviceKind::host;
  std::size_t min_bytes = 8;
  std::size_t max_bytes = std::size_t{1} << 20;
  int rounds = 9;
  int iterations = 0;  // 0: by size
  int window = 64;
  MemoryKind memory = MemoryKind::alloc;
  Mode mode = Mode::standard;
  Order order = Order::sequential;
  bool check = false;
  bool as_json = false;
  std::vector<std::string> baselines;  // cuda: nccl, nvshmem, nvshmem-add, mpi; host:
                                       // mpi-nonblocking, chains of libfabric
  std::vector<std::size_t> halo{64};   // halo, exchange without sizes: edges of cubes of doubles
  // CUDA only, but for sizes.
  bool graph = false;               // the program is captured once, and its graph launched
  bool pack = false;                // a kernel before each send and one behind each receive
  std::vector<std::size_t> sizes;   // instead of min to max
  Pairs pairs = Pairs::neighbours;  // exchange
  std::string transport;
};

// The sizes asked for, or min, then powers of two up to max.
std::vector<std::size_t> message_sizes(const Options& options);

const char* name_of(MemoryKind kind) noexcept;
const char* name_of(Mode mode) noexcept;
const char* name_of(Order order) noexcept;

int run_latency(const Options& options, const tool::Session& session);
int run_bandwidth(const Options& options, const tool::Session& session);
int run_multi_pair(const Options& options, const tool::Session& session);
int run_message_rate(const Options& options, const tool::Session& session);
int run_halo(const Options& options, const tool::Session& session);
int run_cuda_latency(const Options& options, const tool::Session& session);
int run_cuda_bandwidth(const Options& options, const tool::Session& session);
int run_cuda_multi_pair(const Options& options, const tool::Session& session);
int run_cuda_exchange(const Options& options, const tool::Session& session);
int run_cuda_message_rate(const Options& options, const tool::Session& session);
int run_cuda_halo(const Options& options, const tool::Session& session);

}  // namespace penstock::bench
