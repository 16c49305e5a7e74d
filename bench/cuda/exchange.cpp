// SPDX-License-Identifier: Apache-2.0
#include "exchange.hpp"

#include <dlfcn.h>

#include <penstock/penstock.hpp>
#include <vector>

#include "measurement.hpp"

namespace penstock::bench {

Exchange::Exchange(const Traffic& traffic)
    : messages(traffic.stride() * static_cast<std::size_t>(traffic.count)),
      answer(traffic.answer_bytes),
      traffic_(traffic) {}

namespace {

class PenstockExchange final : public Exchange {
 public:
  PenstockExchange(const Traffic& traffic, const Options& options)
      : Exchange(traffic), queue_(PST_QUEUE_CUDA, &traffic_.stream) {
    const bool sends = traffic.rank == 0;
    for (int i = 0; i < traffic.count; ++i)
      requests_.add(sends ? send_init(message(i), 1, 0, MPI_COMM_WORLD, options.mode)
                          : recv_init(message(i), 0, 0, MPI_COMM_WORLD));
    requests_.add(sends ? recv_init(answer.all(), 1, 1, MPI_COMM_WORLD)
                        : send_init(answer.all(), 0, 1, MPI_COMM_WORLD, options.mode));
    match(requests_);
    require_transport(options, requests_[0].transport());
  }

  void round_trip(bool first, bool last) override {
    if (traffic_.order == Order::sequential)
      sequential();
    else
      preposted(first, last);
  }

 private:
  std::span<MPI_Request> there() { return requests_.all().first(requests_.size() - 1); }
  std::span<MPI_Request> back() { return requests_.all().last(1); }
  std::span<MPI_Request> both() { return requests_.all(); }

  void sequential() {
    if (traffic_.rank == 0) {
      prepare();
      queue_.start(there());
      queue_.wait(there());
      queue_.start(back());
      queue_.wait(back());
      use();
    } else {
      queue_.start(there());
      queue_.wait(there());
      use();
      prepare();
      queue_.start(back());
      queue_.wait(back());
    }
  }

  // Every receive is started with the send before it, and waited for with it: one start and one wait a round trip.
  void preposted(bool first, bool last) {
    if (traffic_.rank == 0) {
      prepare();
      queue_.start(both());
      queue_.wait(both());
      use();
    } else {
      if (first) queue_.start(there());
      queue_.wait(first ? there() : both());
      use();
      prepare();
      queue_.start(last ? back() : both());
      if (last) queue_.wait(back());
    }
  }

  Requests requests_;
  Queue queue_;
};

// The host drives MPI: it waits for the stream before a send, and for the message before the stream goes on.
class MpiExchange final : public Exchange {
 public:
  explicit MpiExchange(const Traffic& traffic) : Exchange(traffic) {}
  bool on_stream() const override { return false; }
  void round_trip(bool, bool) override {
    if (traffic_.rank == 0) {
      ready_to_send();
      for (int i = 0; i < traffic_.count; ++i) start(message(i), true);
      finish();
      start(answer.all(), false);
      finish();
      use();
    } else {
      for (int i = 0; i < traffic_.count; ++i) start(message(i), false);
      finish();
      use();
      ready_to_send();
      start(answer.all(), true);
      finish();
    }
  }

 private:
  static constexpr int tag = 2;
  void ready_to_send() const {
    prepare();
    if (before_send) CHECK_CUDA(cudaStreamSynchronize(traffic_.stream));
  }
  void start(std::span<std::byte> message, bool sends) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int bytes = static_cast<int>(message.size());
    if (sends)
      MPI_Isend(message.data(), bytes, MPI_BYTE, 1 - traffic_.rank, tag, MPI_COMM_WORLD, &request);
    else
      MPI_Irecv(message.data(), bytes, MPI_BYTE, 1 - traffic_.rank, tag, MPI_COMM_WORLD, &request);
    open_.push_back(request);
  }
  void finish() {
    MPI_Waitall(static_cast<int>(open_.size()), open_.data(), MPI_STATUSES_IGNORE);
    open_.clear();
  }
  std::vector<MPI_Request> open_;
};

}  // namespace

std::unique_ptr<Exchange> make_penstock_exchange(const Traffic& traffic, const Options& options) {
  return std::make_unique<PenstockExchange>(traffic, options);
}

std::unique_ptr<Exchange> make_mpi_exchange(const Traffic& traffic, std::string& why_not) {
  const auto query = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support"));
  if (query == nullptr || query() == 0) {
    why_not = "this MPI does not take device memory";
    return nullptr;
  }
  return std::make_unique<MpiExchange>(traffic);
}

}  // namespace penstock::bench
