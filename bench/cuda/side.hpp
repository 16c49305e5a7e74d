// SPDX-License-Identifier: Apache-2.0
// One library's side of a measurement.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exchange.hpp"
#include "stream.hpp"

namespace penstock::bench {

class Side {
 public:
  Side(std::string name, std::unique_ptr<Exchange> exchange, const Traffic& traffic,
       const Options& options);

  const std::string& name() const { return name_; }
  std::string transport() const { return exchange_->transport(); }  // Penstock's
  // Us a round trip, or an exchange.
  const std::vector<double>& samples() const { return samples_; }

  void run_round(int trips);
  // What the calls of one round trip cost the caller, in us: together, and each kind by itself.
  // Nothing in graphs, and for a library that is not driven by streams.
  struct Costs {
    double together = 0;
    std::vector<CallCost> calls;
  };
  std::optional<Costs> enqueue_costs();
  // The blocks of the library's largest kernel, which is how many SMs it takes; known in graphs.
  std::optional<unsigned> blocks() const { return blocks_; }
  // Throws where a checked message was wrong.
  void require_right(std::size_t bytes) const;

 private:
  void enqueue(int trips);
  void run(int trips);
  void add_packing();
  void add_checks(const Traffic& traffic);

  std::string name_;
  std::unique_ptr<Exchange> exchange_;
  bool several_pairs_;  // which end at different times
  cudaStream_t stream_;
  std::optional<DeviceMemory> scratch_;
  std::optional<DeviceMemory> tallies_;  // one for each peer
  std::optional<CudaGraph> graph_;
  std::optional<unsigned> blocks_;
  std::vector<double> samples_;
};

}  // namespace penstock::bench
