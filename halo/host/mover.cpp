// SPDX-License-Identifier: Apache-2.0
#include "../mover.hpp"

#include <atomic>
#include <deque>

#include "loops.hpp"

namespace penstock::halo {
namespace {

// What one function of the stream is to do. Records are used again: the stream gives them back when
// it has run them.
struct Call {
  const Table* table = nullptr;
  Reduction reduction = Reduction::replace;
  bool packs = false;
  std::byte* messages = nullptr;
  std::array<std::byte*, detail::max_arrays> arrays{};
  std::atomic<Call*>* returned = nullptr;
  Call* next = nullptr;
};

void run(const Call& call, std::uint32_t first, std::uint32_t end) {
  const std::vector<Part>& parts = call.table->parts;
  for (std::uint32_t i = first; i < end; ++i) {
    const Box& box = call.table->boxes[i];
    if (call.packs) {
      pack_box(box, parts[box.first_part], call.arrays[box.array], call.messages);
    } else {
      unpack_box(box, &parts[box.first_part], call.reduction, call.arrays[box.array],
                 call.messages);
    }
  }
}

void run_all(const Call& call) {
  run(call, 0, static_cast<std::uint32_t>(call.table->boxes.size()));
}

class HostMover final : public Mover {
 public:
  HostMover(PST_Stream stream, const Steering& steering) : stream_(stream), steering_(steering) {}

  std::byte* allocate(std::uint64_t bytes) override {
    void* memory = nullptr;
    penstock::detail::check(PST_Alloc_mem(static_cast<MPI_Aint>(bytes), MPI_INFO_NULL, &memory),
                            "PST_Alloc_mem");
    return static_cast<std::byte*>(memory);
  }
  void free(std::byte* memory) noexcept override { PST_Free_mem(memory); }

  void pack(Direction direction, std::span<const Array> arrays, std::byte* outgoing) override {
    enqueue(steering_.pack[static_cast<std::size_t>(direction)], Reduction::replace, true, arrays,
            outgoing);
  }

  void unpack(Direction direction, Reduction reduction, std::span<const Array> arrays,
              const std::byte* incoming) override {
    enqueue(steering_.unpack[static_cast<std::size_t>(direction)], reduction, false, arrays,
            const_cast<std::byte*>(incoming));
  }

  // Of halos that the host drives: on the calling thread.
  void unpack_from(std::size_t neighbour, std::span<const Array> arrays,
                   const std::byte* incoming) override {
    const Table& table = steering_.unpack[0];
    Call call;
    fill(call, table, Reduction::replace, false, arrays, const_cast<std::byte*>(incoming));
    run(call, table.first_box[neighbour], table.first_box[neighbour + 1]);
  }

  void synchronize() override {
    if (stream_ != PST_STREAM_NULL) StreamView(stream_).synchronize();
  }

 private:
  void enqueue(const Table& table, Reduction reduction, bool packs, std::span<const Array> arrays,
               std::byte* messages) {
    if (stream_ == PST_STREAM_NULL) {
      Call call;
      fill(call, table, reduction, packs, arrays, messages);
      return run_all(call);
    }
    Call* call = take();
    fill(*call, table, reduction, packs, arrays, messages);
    StreamView(stream_).launch(&run_and_return, call);
  }

  static void fill(Call& call, const Table& table, Reduction reduction, bool packs,
                   std::span<const Array> arrays, std::byte* messages) {
    call.table = &table;
    call.reduction = reduction;
    call.packs = packs;
    call.messages = messages;
    for (std::size_t a = 0; a < arrays.size(); ++a)
      call.arrays[a] = static_cast<std::byte*>(arrays[a].data);
  }

  static void run_and_return(void* argument) {
    auto* call = static_cast<Call*>(argument);
    run_all(*call);
    std::atomic<Call*>& returned = *call->returned;
    call->next = returned.load(std::memory_order_relaxed);
    // Release: whoever takes the record sees that this run has ended.
    while (!returned.compare_exchange_weak(call->next, call, std::memory_order_release,
                                           std::memory_order_relaxed)) {
    }
  }

  // All that have come back are taken at once, so that no record can come back between a look at
  // the list and its end.
  Call* take() {
    if (free_ == nullptr) free_ = returned_.exchange(nullptr, std::memory_order_acquire);
    if (free_ == nullptr) {
      calls_.emplace_back().returned = &returned_;
      return &calls_.back();
    }
    return std::exchange(free_, free_->next);
  }

  PST_Stream stream_;
  const Steering& steering_;
  std::deque<Call> calls_;
  Call* free_ = nullptr;
  std::atomic<Call*> returned_{nullptr};
};

}  // namespace

std::unique_ptr<Mover> make_host_mover(PST_Stream stream, const Steering& steering) {
  return std::make_unique<HostMover>(stream, steering);
}

}  // namespace penstock::halo
