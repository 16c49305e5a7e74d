// SPDX-License-Identifier: Apache-2.0
// NVSHMEM as a baseline: put-with-signal and a wait for the signal, on streams, from and to its
// symmetric memory. The declarations follow the interface of NVSHMEM 3 (docs.nvidia.com/nvshmem:
// "Library Setup", "Signaling Operations"), of which the host library exports the functions; the
// layouts of what it is started with carry a version and a size.
#include <mpi.h>

#include <cstdint>
#include <cstdlib>
#include <exception>

#include "cuda_libraries.hpp"
#include "support/cuda/library.hpp"

namespace penstock::bench {
namespace {

constexpr int versioned(std::size_t bytes) {
  return (1 << 16) + static_cast<int>(bytes);
}

struct NvshmemId {
  int version = versioned(128);
  char internal[124] = {};
};
static_assert(sizeof(NvshmemId) == 128);

struct NvshmemIdArguments {
  int version = versioned(24);
  NvshmemId* id = nullptr;
  int rank = -1;
  int ranks = -1;
};
static_assert(sizeof(NvshmemIdArguments) == 24);

struct InitArguments {
  int version = versioned(128);
  NvshmemIdArguments unique_id;
  char reserved[96] = {};
};
static_assert(sizeof(InitArguments) == 128);

struct InitAttributes {
  int version = versioned(144);
  void* mpi_comm = nullptr;
  InitArguments arguments;
};
static_assert(sizeof(InitAttributes) == 144);

constexpr unsigned init_with_unique_id = 1 << 3;
constexpr int signal_set = 9;
constexpr int signal_add = 10;
constexpr int equals = 0;

struct Nvshmem {
  int (*get_unique_id)(NvshmemId*);
  int (*set_attributes)(int, int, const NvshmemId*, InitAttributes*);
  int (*init)(unsigned, InitAttributes*);
  void (*finalize)();
  void* (*allocate)(std::size_t);
  void (*free)(void*);
  void (*put)(void*, const void*, std::size_t, int, cudaStream_t);
  void (*quiet)(cudaStream_t);
  void (*put_signal)(void*, const void*, std::size_t, std::uint64_t*, std::uint64_t, int, int,
                     cudaStream_t);
  void (*wait)(std::uint64_t*, int, std::uint64_t, cudaStream_t);
  bool is_open = false;
};
Nvshmem nvshmem;

bool load_nvshmem(std::string& why_not) {
  static tool::Library library("libnvshmem_host.so.3");
  static const bool complete =
      library.find("nvshmemx_get_uniqueid", nvshmem.get_unique_id) &&
      library.find("nvshmemx_set_attr_uniqueid_args", nvshmem.set_attributes) &&
      library.find("nvshmemx_hostlib_init_attr", nvshmem.init) &&
      library.find("nvshmemx_hostlib_finalize", nvshmem.finalize) &&
      library.find("nvshmem_malloc", nvshmem.allocate) &&
      library.find("nvshmem_free", nvshmem.free) &&
      library.find("nvshmemx_putmem_on_stream", nvshmem.put) &&
      library.find("nvshmemx_quiet_on_stream", nvshmem.quiet) &&
      library.find("nvshmemx_putmem_signal_on_stream", nvshmem.put_signal) &&
      library.find("nvshmemx_signal_wait_until_on_stream", nvshmem.wait);
  why_not = library.why_not();
  return complete;
}

void check(int code, const char* call) {
  if (code != 0)
    throw std::runtime_error(std::string("NVSHMEM: ") + call + " failed: " + std::to_string(code));
}

// Once for the process, on its device.
void open(const Traffic& traffic) {
  if (nvshmem.is_open) return;
  // Neither is needed between the GPUs of one host; what the user has set stays.
  setenv("NVSHMEM_REMOTE_TRANSPORT", "none", 0);
  setenv("NVSHMEM_DISABLE_NVLS", "1", 0);
  NvshmemId id;
  if (traffic.rank == 0) check(nvshmem.get_unique_id(&id), "nvshmemx_get_uniqueid");
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  InitAttributes attributes;
  check(nvshmem.set_attributes(traffic.rank, traffic.ranks, &id, &attributes),
        "nvshmemx_set_attr_uniqueid_args");
  check(nvshmem.init(init_with_unique_id, &attributes), "nvshmemx_hostlib_init_attr");
  nvshmem.is_open = true;
}

// Of the same size on all ranks, which allocate and free together. After an error the others may
// not come.
Memory symmetric(std::size_t bytes) {
  unsigned long long most = bytes;
  MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_UNSIGNED_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
  void* const memory = nvshmem.allocate(most);
  if (memory == nullptr)
    throw std::runtime_error("NVSHMEM: no symmetric memory for " + std::to_string(most) + " bytes");
  Memory all(memory, most, [](void* address) {
    if (std::uncaught_exceptions() == 0) nvshmem.free(address);
  });
  CHECK_CUDA(cudaMemset(memory, 0, most));
  return all;
}

// The signals of a chain. In streams they count on. In a graph, whose values are fixed when it is
// captured, they count from 1 and the last one adds what brings the word back to 0, so that a
// replay finds it as the capture did.
class Signals {
 public:
  Signals(bool adds, bool graph) : adds_(adds), graph_(graph) {}
  void next(bool first, bool last) {
    if (graph_ && first) count_ = 0;
    ++count_;
    turns_back_ = graph_ && last;
  }
  int operation() const { return adds_ ? signal_add : signal_set; }
  std::uint64_t sent() const { return adds_ ? (turns_back_ ? 1 - count_ : 1) : count_; }
  std::uint64_t awaited() const { return turns_back_ ? 0 : count_; }

 private:
  bool adds_;
  bool graph_;
  bool turns_back_ = false;
  std::uint64_t count_ = 0;
};

class NvshmemExchange final : public LibraryExchange<NvshmemExchange> {
 public:
  NvshmemExchange(const Traffic& traffic, bool adds, bool graph, cudaStream_t stream)
      : LibraryExchange(traffic, {gpu_line, symmetric}),
        stream_(stream),
        signal_(symmetric(sizeof(std::uint64_t))),
        signals_(adds, graph) {
    CHECK_CUDA(cudaDeviceSynchronize());
    MPI_Barrier(MPI_COMM_WORLD);
  }

  void trip(bool first, bool last) {
    signals_.next(first, last);
    LibraryExchange::trip(first, last);
  }

  void move(bool sends, bool /*receives*/) {
    if (sends)
      timed("put", [&] { put(); });
    else
      timed("wait", [&] { nvshmem.wait(signal_word(), equals, signals_.awaited(), stream_); });
  }

 private:
  // The last message carries the signal; the others are there before.
  void put() {
    for (std::size_t i = 0; i + 1 < sent().size(); ++i)
      nvshmem.put(there(sent()[i]), sent()[i].bytes.data(), sent()[i].bytes.size(),
                  sent()[i].part.peer, stream_);
    if (sent().size() > 1) nvshmem.quiet(stream_);
    const Message& last = sent().back();
    nvshmem.put_signal(there(last), last.bytes.data(), last.bytes.size(), signal_word(),
                       signals_.sent(), signals_.operation(), last.part.peer, stream_);
  }

  // The peer's receives have the order of these sends, and symmetric addresses are named by our
  // own.
  std::byte* there(const Message& message) const {
    return incoming().data() + (message.bytes.data() - outgoing().data());
  }
  std::uint64_t* signal_word() const { return reinterpret_cast<std::uint64_t*>(signal_.data()); }

  cudaStream_t stream_;
  Memory signal_;
  Signals signals_;
};

}  // namespace

std::unique_ptr<Exchange> make_nvshmem_exchange(const Traffic& traffic, bool adds, bool graph,
                                                cudaStream_t stream, std::string& why_not) {
  if (traffic.shape == Traffic::Shape::at_once) {
    why_not = "it is measured by bench latency and bench bw";
    return nullptr;
  }
  if (!load_nvshmem(why_not)) return nullptr;
  open(traffic);
  // A signal that is set may be copied from the caller's stack, where a replay would find something
  // else.
  return std::make_unique<NvshmemExchange>(traffic, adds || graph, graph, stream);
}

void close_nvshmem() {
  if (nvshmem.is_open) nvshmem.finalize();
  nvshmem.is_open = false;
}

}  // namespace penstock::bench
