// SPDX-License-Identifier: Apache-2.0
// One library's side of a row on a CUDA stream.
#pragma once

#include <optional>

#include "device.hpp"
#include "device_memory.hpp"
#include "stream.hpp"

namespace penstock::bench {

class CudaSide final : public Side {
 public:
  CudaSide(std::string name, std::unique_ptr<Exchange> exchange, cudaStream_t stream,
           const Options& options);

  std::string transport() const override { return exchange_->transport(); }
  std::string algorithm() const override { return exchange_->algorithm(); }
  std::span<const Message> messages() const override { return exchange_->messages(); }
  TripTime run_round(int trips) override;
  CheckResult checked() const override;
  // Nothing in graphs, and for a library that is not driven by streams.
  std::optional<CallCosts> call_costs() override;
  std::optional<unsigned> blocks() const override { return blocks_; }

 private:
  void enqueue(int trips);
  void run(int trips);
  double enqueue_once();
  void add_packing();
  void add_checks();
  void wait_where_the_host_sends();

  std::unique_ptr<Exchange> exchange_;
  cudaStream_t stream_;
  std::optional<Memory> scratch_;
  std::optional<Memory> tallies_;  // one for each peer
  std::optional<CudaGraph> graph_;
  std::optional<unsigned> blocks_;
};

}  // namespace penstock::bench
