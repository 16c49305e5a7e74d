// SPDX-License-Identifier: Apache-2.0
#include "overlap_side.hpp"

#include <cstdlib>

#include "device.hpp"
#include "host_device.hpp"
#include "pattern.hpp"

namespace penstock::bench {
namespace {

// Of two messages of a step none has the bytes of the other.
std::uint64_t writer_of(int rank, const Traffic::Part& part) {
  return static_cast<std::uint64_t>(rank) << 32 | static_cast<std::uint64_t>(part.tag);
}

MemorySource memory_of(MemoryKind kind) {
  return {64, [kind](std::size_t bytes) { return host_memory(bytes, kind); }};
}

bool is_set(const char* variable, const char* value) {
  const char* const text = std::getenv(variable);
  return text != nullptr && std::string(text) == value;
}

class MpiOverlap final : public OverlapSide {
 public:
  MpiOverlap(const Traffic& traffic, CallsOf calls)
      : OverlapSide(traffic, memory_of(MemoryKind::malloc)),
        calls_(messages(), tags::nonblocking, calls),
        by_penstock_(calls == CallsOf::program) {}

  // MPICH's thread that makes progress is on for a whole run, or off.
  std::string name() const override {
    if (by_penstock_) return "overlap";
    return is_set("MPIR_CVAR_ASYNC_PROGRESS", "1") ? "mpi-async" : "mpi";
  }
  void start() override { calls_.start({0, messages().size()}); }
  void test() override { calls_.test(); }
  void wait() override { calls_.wait({0, messages().size()}); }

 private:
  NonblockingCalls calls_;
  const bool by_penstock_;
};

class StreamOverlap final : public OverlapSide {
 public:
  explicit StreamOverlap(const Traffic& traffic)
      : OverlapSide(traffic, memory_of(MemoryKind::alloc)),
        calls_(messages(), tags::penstock, host_.queue) {}

  std::string name() const override { return "streams"; }
  void start() override {
    calls_.start({0, messages().size()});
    calls_.wait({0, messages().size()});
  }
  void wait() override { host_.queue.synchronize(); }

 private:
  HostStream host_;
  QueueCalls calls_;
};

}  // namespace

void OverlapSide::fill(std::uint64_t step) const {
  for (const Message& each : sent())
    fill_pattern(each.bytes, writer_of(traffic().rank, each.part), step);
}

std::size_t OverlapSide::count_wrong(std::uint64_t step) const {
  std::size_t wrong = 0;
  for (const Message& each : received())
    wrong += bench::count_wrong(each.bytes, writer_of(each.part.peer, each.part), step);
  return wrong;
}

std::unique_ptr<OverlapSide> make_mpi_overlap(const Traffic& traffic) {
  return std::make_unique<MpiOverlap>(traffic, CallsOf::mpi);
}

std::unique_ptr<OverlapSide> make_engine_overlap(const Traffic& traffic) {
  if (!is_set("PENSTOCK_OVERLAP", "exact")) return nullptr;
  return std::make_unique<MpiOverlap>(traffic, CallsOf::program);
}

std::unique_ptr<OverlapSide> make_stream_overlap(const Traffic& traffic) {
  return std::make_unique<StreamOverlap>(traffic);
}

}  // namespace penstock::bench
