// SPDX-License-Identifier: Apache-2.0
// All streams and queues that the program has made, behind their handles.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/trace.hpp"
#include "core/handle_table.hpp"
#include "core/queue.hpp"
#include "device/host/stream.hpp"

namespace penstock::base {
class TraceFile;
}

namespace penstock::core {

// A host stream that the program made, and how many queues use it.
struct HostStream {
  HostStream(std::chrono::microseconds spin, int most_spinning, base::trace::StreamTrace* traced)
      : trace(traced), stream(spin, most_spinning, traced ? &traced->functions : nullptr) {}
  // 0: nothing is traced.
  std::uint64_t number() const noexcept { return trace ? trace->number : 0; }
  struct Close {
    void operator()(base::trace::StreamTrace* trace) const noexcept { trace->close(); }
  };
  const std::unique_ptr<base::trace::StreamTrace, Close> trace;  // closed when the stream has ended
  device::host::Stream stream;
  std::atomic<int> queues{0};
  std::atomic<std::uintptr_t> own_queue{0};  // the last that was made; it may have been freed
};

// Throws Error(stream) on the worker of any stream, which `call` would keep from what it waits for.
void refuse_on_workers(const char* call);

class Queues {
 public:
  explicit Queues(base::TraceFile* trace = nullptr) noexcept : trace_(trace) {}

  HandleTable<HostStream>& streams() noexcept { return streams_; }
  HandleTable<Queue>& queues() noexcept { return queues_; }

  // Throws Error(resources).
  std::uintptr_t create_stream(std::chrono::microseconds spin, int most_spinning);
  // Frees its own queue, too, whose error it returns, if communication has failed on it. Throws
  // Error(stream), Error(in_use), and then both are as they were.
  std::optional<base::Error> free_stream(std::uintptr_t handle,
                                         const std::function<bool()>& meanwhile);
  // Throws Error(stream), Error(resources).
  std::uintptr_t create_queue(std::uintptr_t stream,
                              std::function<void(const base::Error&)> when_failed);
  // The one queue that belongs to a stream and is freed with it; 0 if it is not there. The second
  // makes it unless another thread has. Throws as create_queue.
  std::uintptr_t own_queue(std::uintptr_t stream) noexcept;
  std::uintptr_t make_own_queue(std::uintptr_t stream,
                                std::function<void(const base::Error&)> when_failed);
  // The same of a stream of a GPU, by the number that it alone has; make() makes it. The program
  // may destroy the stream, and the queue stays until the end.
  template <class Make>
  std::uintptr_t own_queue_of_gpu(std::uint64_t stream, Make make) {
    const std::lock_guard lock(own_queues_mutex_);
    std::uintptr_t& own = own_queues_of_gpus_[stream];
    if (queues_.find(own) == nullptr) {
      own = make();
      queues_.find(own)->set_implicit();
    }
    return own;
  }
  // Over a stream that the program made by other means; the transports have prepared it. Throws
  // Error(resources).
  std::uintptr_t create_queue(std::shared_ptr<device::Stream> stream,
                              std::function<void(const base::Error&)> when_failed);
  // The queue's own error, if communication has failed on it. Throws Error for everything else, and
  // then the queue is as it was.
  std::optional<base::Error> free_queue(std::uintptr_t handle,
                                        const std::function<bool()>& meanwhile);

  template <class Visit>
  void for_each(Visit&& visit) {
    queues_.for_each(visit);
  }

 private:
  std::optional<base::Error> free_own_queue(HostStream& stream,
                                            const std::function<bool()>& meanwhile);
  std::uintptr_t add(std::shared_ptr<device::Stream> stream, std::uint64_t host_stream,
                     std::shared_ptr<void> lease,
                     std::function<void(const base::Error&)> when_failed);

  base::TraceFile* const trace_;
  HandleTable<HostStream> streams_{1};
  HandleTable<Queue> queues_{2};
  std::mutex own_queues_mutex_;
  std::map<std::uint64_t, std::uintptr_t> own_queues_of_gpus_;
  std::atomic<std::uint64_t> numbers_{0};
  std::atomic<std::uint64_t> stream_numbers_{0};
};

}  // namespace penstock::core
