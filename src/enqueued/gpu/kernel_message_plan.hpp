// SPDX-License-Identifier: Apache-2.0
// A queue's enqueued messages as a GPU's stream starts them and waits for them, by a kernel each:
// the engine's thread looks for what the stream has triggered, and tells what is complete.
#pragma once

#include <optional>
#include <string>

#include "enqueued/engine.hpp"
#include "enqueued/gpu/copy_work.hpp"
#include "enqueued/gpu/device_staging.hpp"
#include "enqueued/queue_messages.hpp"
#include "gpu/kernel_plan.hpp"

namespace penstock::enqueued {

class KernelMessagePlan final : public gpu::KernelPlan {
 public:
  // Throws base::Error.
  KernelMessagePlan(DeviceStaging& staging, QueueMessages& messages, MessageEngine& engine);
  ~KernelMessagePlan() override { leave_watch(); }

  void check_stream(const device::Stream&) const override {}
  void start(device::Stream& stream, transport::Sink& sink) override;
  void wait(device::Stream& stream, transport::Sink& sink) override;
  using gpu::KernelPlan::close;
  void close() override {}
  transport::PairState pair_state(transport::Epoch) const noexcept override {
    return transport::PairState::serves;  // a failure of its is the queue's
  }
  std::string path() const override { return "MPI"; }
  std::string describe() const override { return messages_.describe_wait(); }
  const char* advice() const noexcept override { return QueueMessages::advice(); }

  // The engine sees to dead peers.
  void look_for_lost_cause() noexcept override {}
  base::Error error_of(gpu::Failure) const override {
    return too_long_ ? *too_long_ : messages_.why_failed();
  }
  void poison() noexcept override {
    staging_.stream_has_ended();
    engine_.give_up(messages_, messages_.why_failed());
  }
  bool needs(int device) const noexcept override { return device == staging_.device(); }
  bool untouched() const noexcept override { return engine_.untouched(messages_); }
  void follow(const gpu::KernelQueue& failed) noexcept override {
    if (!used_on(failed) || messages_.broken()) return;
    if (load(words_.too_long) != 0) too_long_ = engine_.too_long_for_kernel(messages_);
    const base::Error* const reason = failed.aborted_by();
    engine_.give_up(messages_, reason ? *reason : error_of(gpu::Failure::given_up));
  }
  protocol::Epoch awaited_epoch() const noexcept override { return load(words_.awaited); }
  protocol::Epoch epoch_at_gate() const noexcept override { return load(words_.taken) + 1; }
  void open_gate() noexcept override { messages_.let_waits_pass(); }

 private:
  BundleStep step() const noexcept;
  void note_engines_share(const Bundle& bundle) noexcept;
  bool needs_kernel(const Bundle& bundle) const noexcept;
  void end_close(void (*ended)(void*), void* argument) noexcept override { ended(argument); }

  DeviceStaging& staging_;
  QueueMessages& messages_;
  MessageEngine& engine_;
  QueueWords& words_;
  std::shared_ptr<std::byte> arrivals_;
  std::uint32_t id_ = 0;
  // Bundles: the last one of which the engine has a share, and up to which a wait asks for that.
  std::uint64_t engines_ = 0;
  std::uint64_t awaited_ = 0;
  std::uint64_t told_ = 0;    // up to which a wait's kernel has been enqueued
  std::uint64_t untold_ = 0;  // the same, where the next kernel is to tell the host; 0: it need not
  std::optional<base::Error> too_long_;
};

}  // namespace penstock::enqueued
