// SPDX-License-Identifier: Apache-2.0
// Every environment variable that Penstock reads, in one place.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace penstock::base {

// The names of the transports.
inline constexpr std::string_view peer_transport = "peer";
inline constexpr std::string_view ofi_transport = "ofi";
inline constexpr std::string_view proxy_transport = "proxy";
inline constexpr std::array transport_names{peer_transport, ofi_transport,
                                            proxy_transport};  // best first

// How pairs of two processes wait on a GPU. kernel: a kernel looks again and again. value: the
// stream itself waits until there is something for a kernel to find. automatic: value where the
// processes take turns on one GPU, kernel elsewhere.
enum class CudaWait { automatic, kernel, value };

enum class LogLevel { off, error, warn, info, debug };

// When deferred operations are posted that the provider had no entries for.
enum class Throttle {
  adaptive,    // each as soon as entries are free
  batches,     // PENSTOCK_OFI_THROTTLE=static: the next ones when all earlier ones have completed
  application  // entries are free again only after PST_Queue_wait
};

// Whether `ofi` gives the network memory of a GPU (FI_HMEM).
enum class NetworkGpuMemory {
  automatic,  // where the provider promises not to call the GPU's runtime for it
  never,      // PENSTOCK_OFI_HMEM=0
  always      // PENSTOCK_OFI_HMEM=1: without that promise too
};

// Who moves large messages of plain MPI calls. exact: the library, where receives are as long as
// their messages.
enum class Overlap { off, exact };

// When the library's thread pulls such a message, and the program's own calls do not.
enum class OverlapPolicy { adaptive, always, never };

struct Settings {
  std::vector<std::string> transports;  // PENSTOCK_TRANSPORT: allowed, best first; empty: all
  std::size_t eager_max = 8192;         // PENSTOCK_EAGER_MAX: largest message of the ring, bytes
  // PENSTOCK_RMA_EAGER: bytes of an epoch's operations that a slot of a window's pair holds.
  std::size_t window_eager_max = 32768;
  bool attach_windows = false;  // PENSTOCK_RMA: windows take streams from their creation on
  bool merge_windows = true;    // PENSTOCK_RMA_MERGE: one kernel for what stands together
  bool channel_words = true;    // PENSTOCK_CHANNEL_WORDS: words for units where memory is shared
  std::size_t cuda_eager_max = 1048576;  // PENSTOCK_CUDA_EAGER_MAX: as PENSTOCK_EAGER_MAX, of GPUs
  // PENSTOCK_CUDA_WIDE_LINES: from so many bytes on, kernels copy in lines of 128 bytes.
  std::size_t cuda_wide_lines = 262144;
  unsigned cuda_blocks = 64;  // PENSTOCK_CUDA_BLOCKS: blocks that a message's copy takes at most
  bool cuda_dependent_launch = true;  // PENSTOCK_CUDA_DEPENDENT_LAUNCH: where GPU and code have it
  bool cuda_atomics = true;  // PENSTOCK_CUDA_ATOMICS: claims by exchange, where the link has it
  unsigned cuda_waits = 48;  // PENSTOCK_CUDA_WAITS: kernels that may wait on a GPU at once
  CudaWait cuda_wait{};      // PENSTOCK_CUDA_WAIT: of pairs of two processes
  bool cross_memory = true;  // PENSTOCK_CMA: kernel copies between address spaces
  std::size_t ofi_eager_max = 16384;    // PENSTOCK_OFI_EAGER_MAX: the same on ofi
  std::optional<unsigned> ofi_entries;  // PENSTOCK_OFI_ENTRIES: deferred operations at once; unset:
                                        // the provider's limit
  Throttle ofi_throttle = Throttle::adaptive;  // PENSTOCK_OFI_THROTTLE
  // PENSTOCK_OFI_COUNTER_LIMIT: tests set it; unset: the provider's limit.
  std::optional<std::uint64_t> ofi_counter_limit;
  NetworkGpuMemory ofi_gpu_memory{};  // PENSTOCK_OFI_HMEM
  std::string ofi_provider;   // PENSTOCK_OFI_PROVIDER: the only one of libfabric that may be taken
  std::string ofi_interface;  // PENSTOCK_OFI_INTERFACE: the only one, by name, address or network
  unsigned slots = 2;         // PENSTOCK_SLOTS: messages a ring or buffered send can hold, >= 2
  // PENSTOCK_SPIN_US: unset: 20, or 0 when threads outnumber cores.
  std::optional<std::chrono::microseconds> spin;
  std::chrono::milliseconds timeout{0};  // PENSTOCK_TIMEOUT: seconds, may be fractional; 0: never
  bool check = false;                    // PENSTOCK_CHECK: verify the promise of ready sends
  bool thread_multiple = false;          // PENSTOCK_THREAD_MULTIPLE
  bool gpu_aware_mpi = false;            // PENSTOCK_GPU_AWARE_MPI: proxy gives MPI memory of a GPU
  // PENSTOCK_QUEUE_STAGING: pinned memory of a queue for enqueued messages in memory of a GPU.
  std::size_t queue_staging = std::size_t{64} << 20;
  std::string collective_algorithms;  // PENSTOCK_COLL: "allreduce:doubling,alltoall:pairwise"
  std::string tuning_file;            // PENSTOCK_TUNE: which algorithm is fastest where
  unsigned collective_groups = 4;     // PENSTOCK_COLL_GROUPS: groups or leaders of a node at most
  // PENSTOCK_NODE_RANKS: so many ranks of a host that follow each other are one node to
  // collectives; 0: all of them.
  unsigned node_ranks = 0;
  Overlap overlap{};                    // PENSTOCK_OVERLAP
  std::size_t overlap_min = 65536;      // PENSTOCK_OVERLAP_MIN: bytes of a large message
  OverlapPolicy overlap_policy{};       // PENSTOCK_OVERLAP_POLICY
  LogLevel log_level = LogLevel::warn;  // PENSTOCK_LOG
  std::string log_file;    // PENSTOCK_LOG_FILE: %h host, %p process id; empty: standard error
  std::string trace_file;  // PENSTOCK_TRACE: the same of a trace; empty: none

  // Reads the environment; an empty variable is as unset. Throws Error(setting) that names the
  // variable and its valid values.
  static Settings from_environment();
  bool allows(std::string_view transport) const noexcept;  // by PENSTOCK_TRANSPORT
  // Name and value of each, for `penstock info`.
  std::vector<std::pair<std::string, std::string>> table() const;
};

// What a variable of the environment whose name begins with PENSTOCK_ is to the library.
struct VariableVerdict {
  enum class Is {
    valid,
    invalid,
    unknown,   // no setting: it is ignored
    elsewhere  // read by tests (PENSTOCK_TEST_...), or where Penstock is looked for when building
  };
  Is is{};
  std::string name, value;
  std::string why;      // of one that is invalid: the valid values
  std::string nearest;  // of one that is unknown: the setting that may be meant, or empty
  bool for_tests = false;
};

// All of them, by name. Reads the environment.
std::vector<VariableVerdict> judge_environment();

// Those that are unknown, each with the setting whose name is nearest.
std::vector<std::pair<std::string, std::string>> unknown_settings();

}  // namespace penstock::base
