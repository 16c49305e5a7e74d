// SPDX-License-Identifier: Apache-2.0
// One half of a pair of a host transport, for streams of both kinds: on a host stream the host plan
// does it all; on a CUDA stream kernels ring and wait, and the relay runs the host plan.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "gpu/gpus.hpp"
#include "gpu/kernel_plan.hpp"
#include "gpu/packed_message.hpp"
#include "plan/host_plan.hpp"
#include "relay/access.hpp"
#include "relay/gpu/host_pair_ends.hpp"
#include "relay/gpu/post.hpp"
#include "relay/relay.hpp"

namespace penstock::relay {

using gpu::Failure;
using gpu::Gpus;

struct Approach {
  Access access = Access::host;
  std::string why_staged;
  base::Verdict on_blocking_streams = base::accepted();
};

struct Equipment {
  std::shared_ptr<Gpus> gpus;
  std::shared_ptr<Relay> relay;
  std::shared_ptr<HostPairEnds> host_pair_ends;
};

class RelayedPlan final : public gpu::KernelPlan {
 public:
  // `message` with the program's buffer, `bytes`: what the pair moves. Throws Error.
  RelayedPlan(const Equipment& equipment, const transport::Message& message, std::size_t bytes,
              Approach approach);
  ~RelayedPlan() override;

  std::byte* staging() const noexcept { return staging_.get(); }
  // The matched plan. Throws Error, then it has been closed.
  void serve_by(std::unique_ptr<transport::Plan> plan);
  void take_words();  // what a CUDA stream and the relay share. Throws Error(resources)

  void check_stream(const device::Stream& stream) const override;
  void start(device::Stream& stream, transport::Sink& sink) override;
  void wait(device::Stream& stream, transport::Sink& sink) override;
  void hand_over(device::Stream* last, device::Stream& next) override;
  void wait_flushed(device::Stream& stream) noexcept override;
  void close(device::Stream& stream, void (*ended)(void*), void* argument) override;
  void close() override;
  transport::PairState pair_state(protocol::Epoch epoch) const noexcept override {
    return host_->pair_state(epoch);
  }
  void cancel_wait(const base::Error& error) noexcept override;
  std::string describe() const override { return host_->describe(); }
  std::string path() const override;
  void set_label(std::string label) override;
  void set_traced(const base::trace::TracedMessage& message) override;

  // The relay looks for lost causes itself, and a hopeless wait ends by the pair's word.
  void look_for_lost_cause() noexcept override {}
  base::Error error_of(Failure failure) const override;
  void poison() noexcept override;
  bool needs(int device) const noexcept override { return device == device_; }
  // What is staged moves in memory of the library.
  bool untouched() const noexcept override {
    return access_ == Access::staged || !pair_ || pair_->untouched();
  }
  void follow(const gpu::KernelQueue& failed) noexcept override;
  protocol::Epoch awaited_epoch() const noexcept override;
  protocol::Epoch epoch_at_gate() const noexcept override;
  void open_gate() noexcept override;

 private:
  void check_cuda_stream(const device::Stream& stream) const;
  void prepare_pair();
  void end_close(void (*ended)(void*), void* argument) noexcept override;

  const Equipment equipment_;
  const Approach approach_;
  const Access access_;
  int device_ = -1;  // of the buffer, where it is not the host's
  std::shared_ptr<std::byte> staging_;
  std::shared_ptr<std::byte> arrivals_;
  std::optional<gpu::PackedMessage> packed_;  // its kernels do what the posts' copies do elsewhere
  std::unique_ptr<plan::HostPlan> host_;
  Post post_;
  // They are used on GPU streams only.
  std::shared_ptr<void> words_;
  std::unique_ptr<RelayedPair> pair_;
  std::optional<device::StreamKind> used_on_;
  bool replayed_ = false;
};

}  // namespace penstock::relay
