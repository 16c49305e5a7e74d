// SPDX-License-Identifier: Apache-2.0
// Trips inside one kernel, by handles of the requests (penstock/device.cuh).
#pragma once

#include <penstock/device_request.h>

#include <cstddef>
#include <gpu_runtime.hpp>

#include "exchange.hpp"
#include "penstock/penstock.hpp"

namespace penstock::bench {

struct InsideTrips {
  PST_Device_request send, receive;
  int trips = 1;
  bool leads = true;
};

void enqueue_trips(cudaStream_t stream, const InsideTrips& trips, unsigned blocks,
                   unsigned threads);

// Ping-pong with one message each way. A block answers when its share has come.
class InsideExchange final : public Exchange {
 public:
  InsideExchange(const Traffic& traffic, const MemorySource& source, int tag, QueueView queue,
                 cudaStream_t stream);
  void make_trips(int from, int to, int total) override;
  std::string transport() const override { return requests_[0].transport(); }

 private:
  const cudaStream_t stream_;
  Requests requests_;
  InsideTrips trips_;
  unsigned blocks_;
  unsigned threads_;
};

}  // namespace penstock::bench
