// SPDX-License-Identifier: Apache-2.0
#include "collective_exchange.hpp"

#include <penstock/collectives.hpp>
#include <utility>

#include "collective_call.hpp"
#include "device.hpp"

namespace penstock::bench {
namespace {

Request made_collective(Kind kind, const Exchange& exchange, const std::string& algorithm) {
  const detail::AlgorithmInfo info(algorithm);
  MPI_Request request = MPI_REQUEST_NULL;
  detail::check(CollectiveCall<PenstockInits>(kind, exchange)(info.get(), &request),
                about(kind).command);
  return Request(request);
}

class QueueCollective final : public LibraryExchange<QueueCollective> {
 public:
  QueueCollective(Kind kind, const Traffic& traffic, const MemorySource& source, QueueView queue)
      : LibraryExchange(traffic, source),
        request_(made_collective(kind, *this, traffic.algorithm)),
        queue_(queue) {
    match(request_);
  }

  std::string transport() const override { return request_.transport(); }
  std::string algorithm() const override { return algorithm_of(request_); }
  void move(bool, bool) {
    timed("run", [&] { queue_.run(request_); });
  }

 private:
  Request request_;
  QueueView queue_;
};

// What the host waits for, behind the stream.
class MpiCollective final : public LibraryExchange<MpiCollective> {
 public:
  MpiCollective(Kind kind, const Traffic& traffic, const MemorySource& source,
                std::function<void()> synchronize)
      : LibraryExchange(traffic, source),
        call_(kind, *this),
        synchronize_(std::move(synchronize)) {}

  bool on_stream() const override { return false; }
  void move(bool, bool) {
    synchronize_();
    detail::check_mpi(call_(), "the collective of MPI");
  }

 private:
  const CollectiveCall<MpiFunctions> call_;
  const std::function<void()> synchronize_;
};

}  // namespace

// Every rank is refused alike, so that this may be caught.
std::unique_ptr<Exchange> make_queue_collective(Kind kind, const Traffic& traffic,
                                                const MemorySource& source, QueueView queue,
                                                std::string& why_not) {
  try {
    return std::make_unique<QueueCollective>(kind, traffic, source, queue);
  } catch (const Error& error) {
    if (error.kind() != PST_ERROR_UNSUPPORTED) throw;
    why_not = error.what();
    return nullptr;
  }
}

std::unique_ptr<Exchange> make_mpi_collective(Kind kind, const Traffic& traffic,
                                              const MemorySource& source,
                                              std::function<void()> synchronize) {
  return std::make_unique<MpiCollective>(kind, traffic, source, std::move(synchronize));
}

}  // namespace penstock::bench
