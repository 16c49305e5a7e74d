// SPDX-License-Identifier: Apache-2.0
#include <penstock/penstock.hpp>

#include "exchange.hpp"
#include "measurement.hpp"

namespace penstock::bench {
namespace {

class PenstockExchange final : public Exchange {
 public:
  PenstockExchange(const Traffic& traffic, const Options& options)
      : Exchange(traffic), stream_(traffic.stream), queue_(PST_QUEUE_CUDA, &stream_) {
    for (const Message& message : sent())
      requests_.add(send_init(message.bytes, message.peer, tag, MPI_COMM_WORLD, options.mode));
    for (const Message& message : received())
      requests_.add(recv_init(message.bytes, message.peer, tag, MPI_COMM_WORLD));
    match(requests_);
    require_transport(options, requests_[0].transport());
  }

  std::string transport() const override { return requests_[0].transport(); }

  void round(bool first, bool last) override {
    if (traffic_.order == Order::preposted && traffic_.shape == Traffic::Shape::there_and_back)
      preposted(first, last);
    else
      Exchange::round(first, last);
  }

 private:
  static constexpr int tag = 0;
  std::span<MPI_Request> sends() { return requests_.all().first(sent().size()); }
  std::span<MPI_Request> receives() { return requests_.all().last(received().size()); }
  std::span<MPI_Request> both() { return requests_.all(); }

  void move(bool sending, bool receiving) override {
    if (sending && receiving) {
      start_both();
      wait_both();
    } else if (sending) {
      start_sends();
      wait_sends();
    } else {
      start_receives();
      wait_receives();
    }
  }

  void start_both() {
    timed("start all", [&] { queue_.start(both()); });
  }
  void wait_both() {
    timed("wait all", [&] { queue_.wait(both()); });
  }
  void start_sends() {
    timed("start send", [&] { queue_.start(sends()); });
  }
  void wait_sends() {
    timed("wait send", [&] { queue_.wait(sends()); });
  }
  void start_receives() {
    timed("start receive", [&] { queue_.start(receives()); });
  }
  void wait_receives() {
    timed("wait receive", [&] { queue_.wait(receives()); });
  }

  // Every receive is started with the send before it, and waited for with it: one start and one
  // wait a round trip.
  void preposted(bool first, bool last) {
    if (traffic_.leads) {
      prepare();
      start_both();
      wait_both();
      use();
      return;
    }
    if (first) start_receives();
    if (first)
      wait_receives();
    else
      wait_both();
    use();
    prepare();
    if (!last) return start_both();
    start_sends();
    wait_sends();
  }

  cudaStream_t stream_;
  Requests requests_;
  Queue queue_;
};

}  // namespace

std::unique_ptr<Exchange> make_penstock_exchange(const Traffic& traffic, const Options& options) {
  return std::make_unique<PenstockExchange>(traffic, options);
}

}  // namespace penstock::bench
