// SPDX-License-Identifier: Apache-2.0
#include "common/lane.hpp"

#include <stdexcept>

#include "common/gpu/gpu.hpp"
#include "support/agreement.hpp"

namespace penstock::apps {
namespace {

// Of work that is done when its call returns.
class ThreadMark final : public Mark {
 public:
  void set() override {}
  void await() override {}
};

class ThreadLane final : public Lane {
 public:
  void launch(const Kernel& kernel) override { kernel(); }
  void synchronize() override {}
  void settle() override {}
  std::unique_ptr<Mark> make_mark() override { return std::make_unique<ThreadMark>(); }
  QueueView queue() override { throw std::logic_error("a thread has no queue"); }
  std::unique_ptr<Replay> capture(const std::function<void()>&) override {
    throw std::logic_error("a thread has no graph");
  }
};

class HostLane final : public Lane {
 public:
  HostLane() : queue_(stream_) {}
  void launch(const Kernel& kernel) override { stream_.launch(std::ref(kernel)); }
  void synchronize() override { queue_.synchronize(); }
  void settle() override { stream_.synchronize(); }
  std::unique_ptr<Mark> make_mark() override {
    throw std::logic_error("a stream of the host has no marks");
  }
  QueueView queue() override { return queue_; }
  std::unique_ptr<Replay> capture(const std::function<void()>&) override {
    throw std::logic_error("a stream of the host is not captured");
  }
  PST_Stream host_stream() const override { return stream_.get(); }

 private:
  Stream stream_;
  Queue queue_;
};

}  // namespace

std::unique_ptr<Lane> make_lane(DeviceKind device, Comm comm) {
  if (device == DeviceKind::gpu) return gpu::make_lane(!is_host_driven(comm));
  if (is_host_driven(comm)) return std::make_unique<ThreadLane>();
  return std::make_unique<HostLane>();
}

void choose_device(DeviceKind device) {
  if (device == DeviceKind::gpu) tool::together(gpu::choose_device);
}

}  // namespace penstock::apps
