// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "common/gpu/check.hpp"
#include "common/gpu/gpu.hpp"

namespace penstock::apps::gpu {
namespace {

#if PENSTOCK_HIP
constexpr PST_Queue_type queue_type = PST_QUEUE_HIP;
#else
constexpr PST_Queue_type queue_type = PST_QUEUE_CUDA;
#endif

class GpuStream {
 public:
  explicit GpuStream(int priority) {
    CHECK_GPU(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, priority));
  }
  ~GpuStream() { (void)cudaStreamDestroy(stream_); }
  GpuStream(const GpuStream&) = delete;
  GpuStream& operator=(const GpuStream&) = delete;
  cudaStream_t get() const { return stream_; }
  cudaStream_t* address() { return &stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  Event() { CHECK_GPU(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
  ~Event() { (void)cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(cudaStream_t stream) const { CHECK_GPU(cudaEventRecord(event_, stream)); }
  void synchronize() const { CHECK_GPU(cudaEventSynchronize(event_)); }
  // What `second` is given from now on waits for what `first` has been given.
  void order(cudaStream_t first, cudaStream_t second) const {
    record(first);
    CHECK_GPU(cudaStreamWaitEvent(second, event_, 0));
  }

 private:
  cudaEvent_t event_ = nullptr;
};

class GpuMark final : public Mark {
 public:
  explicit GpuMark(cudaStream_t stream) : stream_(stream) {}
  void set() override { event_.record(stream_); }
  void await() override { event_.synchronize(); }

 private:
  cudaStream_t stream_;
  Event event_;
};

class GraphReplay final : public Replay {
 public:
  GraphReplay(cudaStream_t stream, const std::function<void()>& program) : stream_(stream) {
    CHECK_GPU(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    program();
    CHECK_GPU(cudaStreamEndCapture(stream, &graph_));
    // With the priorities of the streams that the work was captured from. Otherwise all of it has
    // that of the stream which the graph is launched on, and what runs beside the messages holds
    // them up.
    CHECK_GPU(cudaGraphInstantiate(&executable_, graph_, cudaGraphInstantiateFlagUseNodePriority));
    CHECK_GPU(cudaGraphUpload(executable_, stream));
    CHECK_GPU(cudaStreamSynchronize(stream));
  }
  ~GraphReplay() override {
    if (executable_ != nullptr) (void)cudaGraphExecDestroy(executable_);
    if (graph_ != nullptr) (void)cudaGraphDestroy(graph_);
  }
  GraphReplay(const GraphReplay&) = delete;
  GraphReplay& operator=(const GraphReplay&) = delete;
  void launch() override { CHECK_GPU(cudaGraphLaunch(executable_, stream_)); }

 private:
  cudaStream_t stream_;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

struct Priorities {
  int least = 0;
  int greatest = 0;
  Priorities() { CHECK_GPU(cudaDeviceGetStreamPriorityRange(&least, &greatest)); }
};

// Messages go by a stream of the highest priority, so that what runs beside them does not hold them
// up.
class GpuLane final : public Lane {
 public:
  explicit GpuLane(bool with_queue) : main_(Priorities().greatest), side_(Priorities().least) {
    if (with_queue) queue_.emplace(queue_type, main_.address());
  }

  void launch(const Kernel& kernel) override { kernel(); }
  void fork() override { fork_.order(main_.get(), side_.get()); }
  void launch_beside(const Kernel& kernel) override {
    is_beside_ = true;
    kernel();
    is_beside_ = false;
  }
  void join() override { join_.order(side_.get(), main_.get()); }
  bool runs_beside() const override { return true; }

  void synchronize() override {
    if (queue_)
      queue_->synchronize();
    else
      settle();
  }
  void settle() override { CHECK_GPU(cudaStreamSynchronize(main_.get())); }
  std::unique_ptr<Mark> make_mark() override { return std::make_unique<GpuMark>(main_.get()); }

  QueueView queue() override { return queue_.value(); }
  void* gpu_stream() const override { return is_beside_ ? side_.get() : main_.get(); }
  std::unique_ptr<Replay> capture(const std::function<void()>& program) override {
    return std::make_unique<GraphReplay>(main_.get(), program);
  }

 private:
  GpuStream main_;
  GpuStream side_;
  Event fork_;
  Event join_;
  std::optional<Queue> queue_;
  bool is_beside_ = false;
};

}  // namespace

std::unique_ptr<Lane> make_lane(bool with_queue) {
  return std::make_unique<GpuLane>(with_queue);
}

}  // namespace penstock::apps::gpu
