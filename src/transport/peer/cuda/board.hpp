// SPDX-License-Identifier: Apache-2.0
// What the CUDA form keeps for one queue: the pairs of the enqueue call under way, which one kernel will serve, and the
// memory in which the queue's kernels report.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <optional>

#include "device/cuda/stream.hpp"
#include "transport/peer/cuda/batch.hpp"
#include "transport/peer/cuda/kernels.hpp"
#include "transport/plan.hpp"

namespace penstock::transport::peer::cuda {

class DevicePlan;
class Watch;

class Board final : public device::cuda::Attachment {
 public:
  struct Memory {
    std::shared_ptr<void> report;  // pinned
    std::shared_ptr<std::byte> sticky;
  };
  Board(const device::cuda::Stream& stream, Memory memory, bool dependent_launch, Watch& watch);
  ~Board() override;

  // Enqueue calls. The kernel is launched when the gathered pairs fill one, and by flush().
  void start(const Pair& pair, Sink& sink) noexcept { gather(starts_, pair, sink); }
  void wait(const Pair& pair, Sink& sink) noexcept { gather(waits_, pair, sink); }
  void flush() noexcept override;
  void synchronized() noexcept override;

  // Ends every wait of the queue; the first error counts. Any thread.
  void abort(const base::Error& error) noexcept;

 private:
  friend class Watch;
  struct Gathered {
    std::size_t count = 0;
    std::array<Pair, largest_batch> pair;
  };

  void gather(Gathered& to, const Pair& pair, Sink& sink) noexcept;
  // Passes on what the kernels have reported. Under the watch's lock.
  void look() noexcept;
  void look_at_waits() noexcept;
  void change_blocked(DevicePlan* plan) noexcept;
  base::Error error_of(Failure failure, const DevicePlan* plan);

  cudaStream_t stream_;
  int device_;
  void* context_;
  Memory memory_;
  bool dependent_launch_;
  Watch& watch_;
  Sink* sink_ = nullptr;
  Gathered starts_;
  Gathered waits_;
  DevicePlan* blocked_ = nullptr;  // what the sink has been told of
  bool failed_ = false;            // and whether
  std::mutex error_mutex_;
  std::optional<base::Error> abort_error_;
};

}  // namespace penstock::transport::peer::cuda
