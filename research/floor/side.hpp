// SPDX-License-Identifier: Apache-2.0
// One way of making the ping-pong: its memory, its kernels, its graph, and the times that it took.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cuda/device_memory.hpp"
#include "cuda/stream.hpp"
#include "ends.hpp"
#include "host_word.hpp"
#include "launch.hpp"

namespace penstock::bench::floor {

struct Setup {
  std::size_t bytes = 8;
  Way way = Way::lines;
  Step step = Step::least;
  Handover handover = Handover::early;
  Caller caller = Caller::runtime;
  bool dependent = true;
  bool graph = false;
  bool check = false;
};

class Side {
 public:
  Side(const Setup& setup, int rank, cudaStream_t stream);

  const Setup& setup() const { return setup_; }
  const Shape& shape() const { return shape_; }                    // of the sending kernel
  const std::vector<double>& samples() const { return samples_; }  // us, half round trips

  void run_round(int trips);
  // What the launches of a round trip cost the caller, in us.
  double enqueue_cost();
  // Throws where a checked message was wrong.
  void require_right() const;

 private:
  void enqueue(int trips);
  void enqueue_trips(int trips);
  Least lines(Cell* ring, std::byte* buffer, Word64 epoch) const;
  void trip(Word64 out, Word64 in, int trips, bool leads);
  void send();
  void wait();
  void run(int trips);

  Setup setup_;
  int rank_;
  cudaStream_t stream_;
  Ends ends_;
  Memory outbox_;
  Memory tally_;
  HostWord abort_;
  Kernel sends_;
  Kernel waits_;
  Kernel trips_;
  Shape shape_;
  Shape wait_shape_;
  Word64 epoch_ = 0;
  std::optional<CudaGraph> graph_;
  std::vector<double> samples_;
};

}  // namespace penstock::bench::floor
