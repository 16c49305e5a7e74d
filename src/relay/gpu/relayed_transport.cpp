// SPDX-License-Identifier: Apache-2.0
#include "relay/gpu/relayed_transport.hpp"

#include <utility>

#include "device/gpu.hpp"
#include "device/gpu/driver.hpp"
#include "relay/gpu/post_batch.hpp"
#include "relay/gpu/relayed_plan.hpp"

namespace penstock::relay {

using gpu::KernelQueue;
using gpu::LaunchStep;

namespace {

class RelayedOffer final : public transport::Offer {
 public:
  RelayedOffer(std::unique_ptr<RelayedPlan> plan, std::unique_ptr<transport::Offer> host)
      : plan_(std::move(plan)), host_(std::move(host)) {}
  transport::WireRecord record() const override { return host_->record(); }
  std::unique_ptr<transport::Plan> connect(std::span<const std::byte> answer) override {
    plan_->serve_by(host_->connect(answer));
    return std::move(plan_);
  }

 private:
  std::unique_ptr<RelayedPlan> plan_;
  std::unique_ptr<transport::Offer> host_;
};

class RelayedAcceptance final : public transport::Acceptance {
 public:
  RelayedAcceptance(std::unique_ptr<RelayedPlan> plan, std::unique_ptr<transport::Acceptance> host)
      : plan_(std::move(plan)), host_(std::move(host)) {}
  transport::WireRecord record() const override { return host_->record(); }
  bool needs_confirmation() const override { return host_->needs_confirmation(); }
  std::unique_ptr<transport::Plan> confirm() override {
    plan_->serve_by(host_->confirm());
    return std::move(plan_);
  }

 private:
  std::unique_ptr<RelayedPlan> plan_;
  std::unique_ptr<transport::Acceptance> host_;
};

}  // namespace

class Relayed final : public transport::Transport {
 public:
  Relayed(std::unique_ptr<transport::Transport> host, Equipment equipment)
      : host_(std::move(host)), equipment_(std::move(equipment)) {}
  // Halves that were given up in the order of a stream are closed by the relay, while the host
  // transport is there.
  ~Relayed() override {
    equipment_.gpus->finish();
    equipment_.relay->stop();
  }

  std::string name() const override { return host_->name(); }
  transport::WireRecord address() override { return host_->address(); }
  void add_peers(std::span<const transport::WireRecord> addresses) override {
    host_->add_peers(addresses);
  }
  void peers_added() override { host_->peers_added(); }
  void prepare(device::Stream& stream) override;

  void queue_waited() noexcept override { host_->queue_waited(); }

  transport::Verdict usable() const override { return host_->usable(); }
  transport::Counts counts() const override { return host_->counts(); }
  transport::Verdict can_serve(const transport::Message& message) const override;
  std::unique_ptr<transport::Offer> offer(const transport::Message& send) override;
  std::unique_ptr<transport::Acceptance> accept(const transport::Message& receive,
                                                const transport::Message& send,
                                                std::span<const std::byte> offer) override;
  std::unique_ptr<transport::Offer> invite(const transport::Message& receive) override {
    return concerns_us(receive) ? nullptr : host_->invite(receive);
  }
  std::unique_ptr<transport::Acceptance> accept_invitation(
      const transport::Message& send, const transport::Message& receive,
      std::span<const std::byte> invitation) override {
    if (concerns_us(send))
      throw base::Error(base::ErrorKind::transport, "a stream of a " PENSTOCK_GPU " may be used");
    return host_->accept_invitation(send, receive, invitation);
  }
  // In memory of the host, and on its streams: the host transport does it alone.
  transport::Verdict can_serve_window(const transport::WindowMemory& ours,
                                      int peer) const override {
    return host_->can_serve_window(ours, peer);
  }
  transport::Verdict can_share(const void* memory, std::size_t bytes) const override {
    return host_->can_share(memory, bytes);
  }
  transport::SharedMemory share(const void* memory, std::size_t bytes) override {
    return host_->share(memory, bytes);
  }
  std::shared_ptr<std::byte> open_shared(int owner, std::span<const std::byte> record) override {
    return host_->open_shared(owner, record);
  }
  std::unique_ptr<transport::WindowOffer> open_window(const transport::WindowMemory& ours,
                                                      int peer) override {
    return host_->open_window(ours, peer);
  }
  transport::Verdict can_serve_group(const transport::GroupMessage& ours) const override {
    return host_->can_serve_group(ours);
  }
  std::size_t fastest_directly(const transport::GroupMessage& ours) const override {
    return host_->fastest_directly(ours);
  }
  transport::Verdict can_connect_group(
      std::span<const transport::WireRecord> records) const override {
    return host_->can_connect_group(records);
  }
  std::unique_ptr<transport::GroupOffer> open_group(const transport::GroupMessage& ours) override {
    return host_->open_group(ours);
  }

 private:
  std::unique_ptr<RelayedPlan> make_plan(const transport::Message& message, std::size_t bytes,
                                         Access access, std::string why) const;
  // A process that has not loaded the driver has no stream of a GPU: then the host plan does it
  // alone.
  static bool concerns_us(const transport::Message& message) noexcept {
    return message.memory == device::MemoryKind::cuda ||
           (!message.on_host_streams && device::gpu::driver_is_loaded());
  }

  const std::unique_ptr<transport::Transport> host_;
  const Equipment equipment_;
};

void Relayed::prepare(device::Stream& stream) {
  host_->prepare(stream);
  if (stream.kind() != device::StreamKind::cuda) return;
  equipment_.relay->begin();
  equipment_.host_pair_ends->equip();
  auto& on_device = static_cast<device::gpu::Stream&>(stream);
  equipment_.gpus->equip<PostBatch>(on_device, LaunchStep::relay, load_kernels);
  equipment_.gpus->equip_packing(on_device);
}

transport::Verdict Relayed::can_serve(const transport::Message& message) const {
  if (best_access(*host_, message) != Access::staged) return host_->can_serve(message);
  if (!message.described()) return {false, transport::undescribed_text};
  return host_->can_serve(on_host(message, nullptr, message.bytes));
}

std::unique_ptr<RelayedPlan> Relayed::make_plan(const transport::Message& message,
                                                std::size_t bytes, Access access,
                                                std::string why) const {
  Approach approach{access, std::move(why),
                    access == Access::direct ? host_->serves_blocking_streams() : base::accepted()};
  return std::make_unique<RelayedPlan>(equipment_, message, bytes, std::move(approach));
}

std::unique_ptr<transport::Offer> Relayed::offer(const transport::Message& send) {
  if (!concerns_us(send)) return host_->offer(send);
  return try_access(*host_, send, [&](Access access, std::string why) {
    auto plan = make_plan(send, send.bytes, access, std::move(why));
    auto offer =
        host_->offer(access == Access::staged ? on_host(send, plan->staging(), send.bytes) : send);
    return std::make_unique<RelayedOffer>(std::move(plan), std::move(offer));
  });
}

std::unique_ptr<transport::Acceptance> Relayed::accept(const transport::Message& receive,
                                                       const transport::Message& send,
                                                       std::span<const std::byte> offer) {
  if (!concerns_us(receive)) return host_->accept(receive, send, offer);
  return try_access(*host_, receive, [&](Access access, std::string why) {
    auto plan = make_plan(receive, send.bytes, access, std::move(why));
    const transport::Message ours =
        access == Access::staged ? on_host(receive, plan->staging(), send.bytes) : receive;
    auto acceptance = host_->accept(ours, send, offer);
    return std::make_unique<RelayedAcceptance>(std::move(plan), std::move(acceptance));
  });
}

std::unique_ptr<transport::Transport> relayed(std::unique_ptr<transport::Transport> host,
                                              std::shared_ptr<Gpus> gpus,
                                              std::shared_ptr<Relay> relay) {
  return std::make_unique<Relayed>(std::move(host), Equipment{std::move(gpus), std::move(relay),
                                                              std::make_shared<HostPairEnds>()});
}

}  // namespace penstock::relay
