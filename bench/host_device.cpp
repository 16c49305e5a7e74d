// SPDX-License-Identifier: Apache-2.0
#include "host_device.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <utility>

#include "collective_exchange.hpp"
#include "mpi_epochs.hpp"
#include "put_collective.hpp"
#include "rows.hpp"
#include "support/promised_comm.hpp"
#if PENSTOCK_OFI_CHAIN
#include "ofi_chain/chain.hpp"
#endif

namespace penstock::bench {
namespace {

#if !PENSTOCK_OFI_CHAIN
std::unique_ptr<Side> make_chain_side(const std::string&, const Traffic&, bool,
                                      std::string& why_not) {
  why_not = "it needs libfabric, and a build with -DPENSTOCK_BUILD_RESEARCH=ON";
  return nullptr;
}
#endif

class HostDevice final : public Device {
 public:
  explicit HostDevice(const Options& options) : options_(options) {}

  std::string description() const override { return "host streams"; }
  std::vector<std::string> libraries() const override { return host_libraries(options_.kind); }
  std::unique_ptr<Side> make_side(const std::string& library, const Traffic& traffic,
                                  std::string& why_not) override {
    std::unique_ptr<Exchange> exchange;
    if (is_collective(options_.kind))
      exchange = make_collective(library, traffic, why_not);
    else if (is_one_sided(library))
      exchange = make_one_sided(library, traffic);
    else if (library == "penstock" || library == two_sided)
      exchange = make_host_exchange<QueueCalls>(options_, traffic, options_.memory, tags::penstock,
                                                stream_.queue);
    else if (library == "mpi")
      exchange = make_host_exchange<MpiCalls>(options_, traffic, MemoryKind::malloc, tags::mpi);
    else if (library == contiguous || library == packed)
      exchange = make_without_gaps(library, traffic);
    else if (library == nonblocking)
      exchange = make_host_exchange<NonblockingCalls>(options_, traffic, MemoryKind::malloc,
                                                      tags::nonblocking);
    else if (library == enqueued || library == promised)
      exchange = make_enqueued_exchange(library, traffic, why_not);
    else
      return make_chain_side(library, traffic, options_.check, why_not);
    if (!exchange) return nullptr;
    require_transport(options_, exchange->transport());
    return std::make_unique<HostSide>(library, std::move(exchange), stream_, options_.check);
  }

  void copy(std::span<std::byte> to, std::span<const std::byte> from) override {
    std::memcpy(to.data(), from.data(), from.size());
  }

  // Enough for a round to last some milliseconds: shorter ones measure where the scheduler happened
  // to put the threads.
  int trips_for(const Row& row) const override {
    if (options_.iterations > 0) return options_.iterations;
    if (options_.kind == Kind::latency) return row.bytes <= 8192 ? 10000 : 1000;
    if (options_.kind == Kind::rma)
      return row.bytes <= 8192 ? 3000 : row.bytes <= 262144 ? 500 : 50;
    const bool of_all = is_collective(options_.kind);
    const std::size_t bytes = std::max<std::size_t>(1, of_all ? row.moved : row.bytes);
    const auto within = [bytes](std::size_t volume, std::size_t fewest, std::size_t most) {
      return static_cast<int>(std::clamp(volume / bytes, fewest, most));
    };
    if (options_.kind == Kind::halo) return within(std::size_t{512} << 20, 100, 2000);
    if (of_all) return within(std::size_t{256} << 20, 50, 3000);
    return within(std::size_t{256} << 20, 1000, 100'000) / static_cast<int>(row.messages) + 1;
  }

 private:
  std::unique_ptr<Exchange> make_collective(const std::string& library, const Traffic& traffic,
                                            std::string& why_not) {
    const bool ours = library == "penstock";
    const MemoryKind memory = ours ? options_.memory : MemoryKind::malloc;
    const MemorySource source{1,
                              [memory](std::size_t bytes) { return host_memory(bytes, memory); }};
    if (ours) return make_queue_collective(options_.kind, traffic, source, stream_.queue, why_not);
    if (is_put_collective(library))
      return make_put_collective(library, traffic, source,
                                 [this] { stream_.stream.synchronize(); });
    const bool alone = library == mpi_alone;
    return make_mpi_collective(options_.kind, traffic, source, [this, alone] {
      if (!alone) stream_.stream.synchronize();
    });
  }

  // As many bytes by Penstock, with nothing done about rows, or packed on the stream.
  std::unique_ptr<Exchange> make_without_gaps(const std::string& library, Traffic traffic) {
    for (auto* const parts : {&traffic.sends, &traffic.receives})
      for (Traffic::Part& part : *parts) part.layout = {};
    const int first_tag = library == packed ? tags::packed : tags::contiguous;
    auto exchange = make_host_exchange<QueueCalls>(options_, traffic, options_.memory, first_tag,
                                                   stream_.queue);
    if (library == packed)
      pack_rows(*exchange, stream_.stream, options_.layout, options_.memory, options_.check);
    return exchange;
  }

  std::unique_ptr<Exchange> make_enqueued_exchange(const std::string& library,
                                                   const Traffic& traffic, std::string& why_not) {
    if (!can_enqueue(why_not)) return nullptr;
    if (library == promised && !promised_) promised_.emplace();
    return make_host_exchange<EnqueuedCalls>(
        options_, traffic, options_.memory, tags::enqueued, stream_.queue,
        library == promised ? promised_->get() : MPI_COMM_WORLD);
  }

  bool is_one_sided(const std::string& library) const {
    if (library == "penstock") return options_.kind == Kind::rma;
    return library == windows || library == windows_batch || library == mpi_windows ||
           library == mpi_fence || library == mpi_lock;
  }
  std::unique_ptr<Exchange> make_one_sided(const std::string& library, const Traffic& traffic) {
    const bool ahead = options_.order == Order::preposted;
    if (library == mpi_windows)
      return make_window_exchange<MpiEpochs>(traffic, ahead, tags::mpi_windows);
    if (library == mpi_fence)
      return make_window_exchange<FenceEpochs>(traffic, false, tags::mpi_fence);
    if (library == mpi_lock)
      return make_window_exchange<LockEpochs>(traffic, false, tags::mpi_lock);
    if (library == windows_batch)
      return make_window_exchange<StreamEpochs>(traffic, true, tags::windows_batch, stream_.queue);
    return make_window_exchange<StreamEpochs>(traffic, ahead && library == windows, tags::windows,
                                              stream_.queue);
  }
  // MPI's windows are over memory of MPI's own where Penstock's are over the library's.
  template <class Epochs, class... More>
  std::unique_ptr<Exchange> make_window_exchange(const Traffic& traffic, bool ahead, int tag,
                                                 More&&... more) {
    const MemoryKind memory = options_.memory;
    const auto allocate = [memory](std::size_t bytes) {
      return Epochs::on_stream || memory == MemoryKind::malloc ? host_memory(bytes, memory)
                                                               : mpi_window_memory(bytes);
    };
    return std::make_unique<WindowExchange<Epochs>>(traffic, MemorySource{64, allocate}, ahead, tag,
                                                    std::forward<More>(more)...);
  }

  const Options& options_;
  std::optional<tool::PromisedComm> promised_;  // outlives the queue
  HostStream stream_;
};

// The first, then the other, which may be none.
std::function<void()> both(std::function<void()> first, std::function<void()> second) {
  if (!second) return first;
  return [first = std::move(first), second = std::move(second)] {
    first();
    second();
  };
}

}  // namespace

HostSide::HostSide(std::string name, std::unique_ptr<Exchange> exchange, HostStream& host,
                   bool check)
    : Side(std::move(name)), exchange_(std::move(exchange)), host_(host) {
  if (!check) return;
  for (const Message& message : exchange_->messages())
    packed_.resize(std::max(packed_.size(), message.part.bytes));
  filled_.resize(static_cast<std::size_t>(exchange_->traffic().ranks));
  verified_ = filled_;
  exchange_->before_send = both(on_stream<&HostSide::fill>(), exchange_->before_send);
  exchange_->after_receive = both(on_stream<&HostSide::verify>(), exchange_->after_receive);
}

template <void (HostSide::*work)() noexcept>
std::function<void()> HostSide::on_stream() {
  if (!exchange_->on_stream()) return [this] { (this->*work)(); };
  return [this] {
    host_.stream.launch([](void* side) { (static_cast<HostSide*>(side)->*work)(); }, this);
  };
}

// The bytes of a message without gaps: its own, or room for a copy of one in rows.
std::span<std::byte> HostSide::packed_of(const Message& message) noexcept {
  if (!message.part.layout.has_gaps()) return message.bytes;
  return std::span(packed_).first(message.part.bytes);
}

// What a message holds depends on who sends it to whom, and on how many this pair has had before.
void HostSide::fill() noexcept {
  const auto [rank, ranks] = std::pair(exchange_->traffic().rank, exchange_->traffic().ranks);
  for (const Message& each : exchange_->sent()) {
    const auto peer = static_cast<std::size_t>(each.part.peer);
    const auto sender = static_cast<std::uint64_t>(rank * ranks + each.part.peer);
    fill_pattern(packed_of(each), sender, filled_[peer]++);
    if (each.part.layout.has_gaps()) scatter_rows(each.bytes, packed_of(each), each.part.layout);
  }
}

void HostSide::verify() noexcept {
  const auto [rank, ranks] = std::pair(exchange_->traffic().rank, exchange_->traffic().ranks);
  for (const Message& each : exchange_->received()) {
    const auto peer = static_cast<std::size_t>(each.part.peer);
    const auto sender = static_cast<std::uint64_t>(each.part.peer * ranks + rank);
    const std::span<std::byte> bytes = packed_of(each);
    if (each.part.layout.has_gaps()) gather_rows(bytes, each.bytes, each.part.layout);
    check_result_.add(bytes, sender, verified_[peer]++);
  }
}

void HostSide::mark(tool::Stamp& stamp) {
  if (exchange_->on_stream())
    stamp.enqueue(host_.stream);
  else
    stamp.take();
}

void HostSide::make_trips(int warm_up, int trips) {
  const int total = warm_up + trips;
  exchange_->make_trips(0, warm_up, total);
  mark(begin_);
  exchange_->make_trips(warm_up, total, total);
  mark(end_);
}

// The stream waits at the gate until both ranks have enqueued everything; meanwhile the host
// sleeps. MPI does not let the program begin later than it is called: the barrier comes before it.
TripTime HostSide::run_round(int trips) {
  const bool ahead = exchange_->on_stream();
  const int warm_up = std::max(1, trips / 10);
  exchange_->begin();
  if (ahead) {
    host_.stream.synchronize();
    host_.gate.enqueue(host_.stream);
  }
  const double begin = tool::now_us();
  if (ahead) make_trips(warm_up, trips);
  const double call_us = tool::now_us() - begin;
  MPI_Barrier(MPI_COMM_WORLD);
  if (ahead) {
    host_.gate.open();
    host_.queue.synchronize();
  } else {
    make_trips(warm_up, trips);
  }
  return {(end_.us() - begin_.us()) / trips, ahead ? call_us / (warm_up + trips) : 0};
}

Memory host_memory(std::size_t bytes, MemoryKind kind) {
  if (kind == MemoryKind::alloc) {
    const auto shared = std::make_shared<Buffer<std::byte>>(bytes);
    return {shared->data(), bytes, [shared](void*) {}};
  }
  constexpr std::align_val_t page{4096};
  return {new (page) std::byte[bytes](), bytes,
          [](void* memory) { operator delete[](memory, page); }};
}

std::vector<std::string> host_libraries(Kind kind) {
  if (is_collective(kind)) return {"penstock"};
  if (kind != Kind::rma) return {"penstock", "mpi"};
  return {"penstock", windows_batch, two_sided, "mpi", mpi_windows, mpi_fence, mpi_lock};
}

std::unique_ptr<Device> make_host_device(const Options& options) {
  return std::make_unique<HostDevice>(options);
}

}  // namespace penstock::bench
