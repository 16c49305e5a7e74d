// SPDX-License-Identifier: Apache-2.0
// Host streams: a round is enqueued whole behind a gate and timed on the stream, or made by the
// host.
#pragma once

#include "device.hpp"
#include "request_exchange.hpp"
#include "support/stream_clock.hpp"

namespace penstock::bench {

struct HostStream {
  HostStream() : queue(stream) {}

  Stream stream;
  Queue queue;
  tool::Gate gate;
};

class HostSide final : public Side {
 public:
  HostSide(std::string name, std::unique_ptr<Exchange> exchange, HostStream& host, bool check);

  std::string transport() const override { return exchange_->transport(); }
  std::string algorithm() const override { return exchange_->algorithm(); }
  std::span<const Message> messages() const override { return exchange_->messages(); }
  TripTime run_round(int trips) override;
  CheckResult checked() const override { return check_result_; }

 private:
  void make_trips(int warm_up, int trips);
  void mark(tool::Stamp& stamp);
  template <void (HostSide::*work)() noexcept>
  std::function<void()> on_stream();
  std::span<std::byte> packed_of(const Message& message) noexcept;
  void fill() noexcept;
  void verify() noexcept;

  std::unique_ptr<Exchange> exchange_;
  HostStream& host_;
  tool::Stamp begin_, end_;
  std::vector<std::uint64_t> filled_, verified_;  // messages to and from each rank
  std::vector<std::byte> packed_;
  CheckResult check_result_;
};

// Page-aligned and zeroed, ordinary or from PST_Alloc_mem: no page is new in a timed round.
Memory host_memory(std::size_t bytes, MemoryKind kind);

// Trips by Penstock's requests or by MPI's. `more`: what the calls need beside the messages.
template <class Calls, class... More>
auto make_host_exchange(const Options& options, const Traffic& traffic, MemoryKind memory, int tag,
                        More&&... more) {
  const MemorySource source{64, [memory](std::size_t bytes) { return host_memory(bytes, memory); }};
  const Ahead ahead = options.order == Order::preposted ? Ahead::apart
                      : options.order == Order::run     ? Ahead::run
                                                        : Ahead::no;
  return std::make_unique<RequestExchange<Calls>>(traffic, source, ahead, tag,
                                                  std::forward<More>(more)...);
}

}  // namespace penstock::bench
