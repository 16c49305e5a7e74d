// SPDX-License-Identifier: Apache-2.0
#include "ofi/ofi.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "device/gpu.hpp"
#include "ofi/engine.hpp"
#include "ofi/gpu_memory.hpp"
#include "ofi/handshake.hpp"
#include "ofi/job_layout.hpp"
#include "ofi/provider.hpp"
#include "ofi/reach.hpp"
#include "ofi/window.hpp"
#include "plan/engine_plan.hpp"

namespace penstock::ofi {

using base::Error;
using base::ErrorKind;
using base::NetworkGpuMemory;

namespace {

// What a provider's queue of deferred work holds where it does not say: a network card's.
constexpr unsigned entries_unless_told = 500;

using OfiPlan = plan::EnginePlan<OfiEngine, PairEnd>;

class OfiOffer final : public transport::Offer {
 public:
  OfiOffer(OfiEngine& engine, std::shared_ptr<PairEnd> end) noexcept
      : engine_(engine), end_(std::move(end)) {}
  ~OfiOffer() override {
    if (end_) engine_.release(end_);
  }
  transport::WireRecord record() const override {
    return transport::to_wire(end_->memory().offer());
  }
  std::unique_ptr<transport::Plan> connect(std::span<const std::byte> answer) override {
    end_->memory().connect(transport::from_wire<AnswerRecord>(answer));
    const std::shared_ptr<PairEnd> end = end_;
    engine_.enroll(end);
    try {
      return std::make_unique<OfiPlan>(engine_, std::move(end_));
    } catch (...) {
      engine_.close(*end, 1);
      throw;
    }
  }

 private:
  OfiEngine& engine_;
  std::shared_ptr<PairEnd> end_;
};

// Its plan is made before the sender has connected, so that nothing is left to fail.
class OfiAcceptance final : public transport::Acceptance {
 public:
  OfiAcceptance(OfiEngine& engine, const std::shared_ptr<PairEnd>& end)
      : engine_(engine), end_(end), plan_(std::make_unique<OfiPlan>(engine, end)) {}
  transport::WireRecord record() const override {
    return transport::to_wire(end_.lock()->memory().answer());
  }
  bool needs_confirmation() const override { return false; }
  std::unique_ptr<transport::Plan> confirm() override {
    engine_.enroll(end_.lock());
    return std::move(plan_);
  }

 private:
  OfiEngine& engine_;
  std::weak_ptr<PairEnd> end_;  // the plan's, who gives it back
  std::unique_ptr<transport::Plan> plan_;
};

class Ofi final : public transport::Transport {
 public:
  Ofi(const base::Settings& settings, group::World& world, std::chrono::microseconds spin,
      std::function<bool()> needed, bool for_gpus)
      : settings_(settings),
        world_(world),
        spin_(spin),
        needed_(std::move(needed)),
        for_gpus_(for_gpus) {}

  std::string name() const override { return std::string(base::ofi_transport); }

  transport::WireRecord address() override { return transport::to_wire(open_network()); }

  // A peer that cannot be reached is not served: that is no failure of the job.
  void add_peers(std::span<const transport::WireRecord> addresses) override {
    peers_.resize(addresses.size());
    for (std::size_t rank = 0; rank < addresses.size(); ++rank) {
      transport::Verdict verdict;
      try {
        const auto theirs = transport::from_wire<AddressRecord>(addresses[rank]);
        if (theirs.usable != 0) anybody_ = true;
        verdict = judge(static_cast<int>(rank), theirs);
      } catch (const Error& error) {
        verdict = {false, error.what()};
      }
      peers_[rank] = {verdict.yes, texts_.share(verdict.why)};
    }
  }

  transport::Verdict usable() const override {
    if (!engine_) return {false, why_not_};
    std::string how =
        fmt::format("deferred operations of libfabric's provider {}", engine_->provider());
    if (for_gpus_) {
      const transport::Verdict gpus = takes_gpu_memory();
      how += gpus.yes ? ", also from and to memory of GPUs (FI_HMEM)"
                      : "; memory of GPUs is staged: " + gpus.why;
    }
    return {true, how};
  }

  transport::Counts counts() const override {
    if (!engine_) return {};
    const Statistics seen = engine_->statistics();
    return {{"entries", entries()},
            {"entries_in_use", seen.in_use},
            {"most_entries_in_use", seen.most_in_use},
            {"starts_posted", seen.posted},
            {"starts_throttled", seen.throttled},
            {"starts_carried_out", seen.taken_over}};
  }

  transport::Verdict can_serve(const transport::Message& message) const override {
    if (message.memory != device::MemoryKind::host)
      if (auto gpu = takes_gpu_memory(message); !gpu.yes) return gpu;
    if (!message.described()) return {false, transport::undescribed_text};
    return peers_[static_cast<std::size_t>(message.peer)].verdict();
  }

  transport::Verdict serves_blocking_streams() const override {
    if (!engine_ || engine_->moves_without_gpu_runtime().yes) return base::accepted();
    return base::refused(
        "the network's own copies may wait for this stream, which would wait for them: use a "
        "stream made with cudaStreamNonBlocking, or set PENSTOCK_OFI_HMEM=auto");
  }

  std::unique_ptr<transport::Offer> offer(const transport::Message& send) override {
    return std::make_unique<OfiOffer>(engine(),
                                      engine().add(send, send.mode, engine().cut_for(send)));
  }

  std::unique_ptr<transport::Acceptance> accept(const transport::Message& receive,
                                                const transport::Message& send,
                                                std::span<const std::byte> offer) override {
    const auto theirs = transport::from_wire<OfferRecord>(offer);
    auto end = engine().add(receive, send.mode, theirs.cut);
    end->memory().connect(theirs);
    return std::make_unique<OfiAcceptance>(engine(), std::move(end));
  }

  transport::Verdict can_serve_window(const transport::WindowMemory& ours,
                                      int peer) const override {
    if (ours.memory != device::MemoryKind::host) return {false, "the window is not in host memory"};
    if (engine_ && engine_->needs_registered_sources())
      return {false, "the provider moves what has been registered alone (FI_MR_LOCAL)"};
    return peers_[static_cast<std::size_t>(peer)].verdict();
  }

  std::unique_ptr<transport::WindowOffer> open_window(const transport::WindowMemory& ours,
                                                      int peer) override {
    return std::make_unique<OfiWindow>(engine(), ours, peer);
  }

  void queue_waited() noexcept override {
    if (engine_ && settings_.ofi_throttle == base::Throttle::application) engine_->reclaim();
  }
  // The end of an engine is collective: all take part if anybody has one.
  ~Ofi() override {
    if (engine_ || !anybody_ || world_.given_up()) return;
    const auto began = std::chrono::steady_clock::now();
    world_.end_together([] { return true; },
                        [&] {
                          const auto waited = std::chrono::steady_clock::now() - began;
                          return !world_.anybody_dead() &&
                                 (settings_.timeout.count() == 0 || waited <= settings_.timeout);
                        });
  }

 private:
  OfiEngine& engine() {
    if (!engine_) throw Error(ErrorKind::transport, why_not_);
    return *engine_;
  }
  AddressRecord open_network() {
    AddressRecord ours;
    std::memset(static_cast<void*>(&ours), 0, sizeof(ours));  // padding travels too
    ours.version = handshake_version;
    // Collective: whatever the settings of one process are, all are here.
    const JobLayout layout = layout_of_job(world_, own_place(device::current_gpu()));
    if (!settings_.allows(base::ofi_transport)) return ours;
    if (!needed_()) {
      why_not_ =
          "shared memory reaches every process of the job "
          "(PENSTOCK_TRANSPORT=ofi,... opens the network)";
      return ours;
    }
    try {
      FabricInfo provider = choose_provider(settings_, layout);
      const std::string name = provider->fabric_attr->prov_name;
      open_with_gpu_memory(*provider);
      if (!engine_) open(std::move(provider));
      const std::vector<std::byte> endpoint = engine_->name();
      if (endpoint.size() > sizeof(ours.name) || name.size() >= sizeof(ours.provider))
        throw Error(ErrorKind::transport, fmt::format("ofi: addresses of {} are too long", name));
      std::memcpy(ours.provider, name.data(), name.size());
      std::memcpy(ours.name, endpoint.data(), endpoint.size());
      ours.name_bytes = static_cast<std::uint32_t>(endpoint.size());
      ours.usable = 1;
    } catch (const Error& error) {
      engine_.reset();
      why_not_ = error.text();
    }
    return ours;
  }

  void open(FabricInfo provider) {
    engine_ = std::make_unique<OfiEngine>(
        OfiEngine::OfiOptions{.progress = {settings_.check, spin_, settings_.timeout},
                              .slots = settings_.slots,
                              .eager_max = settings_.ofi_eager_max,
                              .window_eager_max = settings_.window_eager_max,
                              .throttle = settings_.ofi_throttle,
                              .entries = entries(),
                              .counter_limit = settings_.ofi_counter_limit},
        world_, std::move(provider));
  }

  // Where the provider has it and it will be used: it may cost other messages something.
  void open_with_gpu_memory(const fi_info& provider) {
    if (!for_gpus_ || settings_.ofi_gpu_memory == NetworkGpuMemory::never) return;
    FabricInfo more = with_gpu_memory(provider);
    if (!more) return;
    try {
      open(std::move(more));
      if (settings_.ofi_gpu_memory == NetworkGpuMemory::automatic)
        why_not_gpu_memory_ = engine_->moves_without_gpu_runtime().why;
    } catch (const Error& error) {
      why_not_gpu_memory_ = error.text();
    }
    if (!why_not_gpu_memory_.empty()) engine_.reset();
  }

  // Whether the provider is given memory of GPUs.
  transport::Verdict takes_gpu_memory() const {
    if (settings_.ofi_gpu_memory == NetworkGpuMemory::never)
      return base::refused("PENSTOCK_OFI_HMEM=0");
    if (!why_not_gpu_memory_.empty()) return base::refused(why_not_gpu_memory_);
    if (!engine_ || !engine_->takes_gpu_memory())
      return base::refused("the provider does not take memory of GPUs (FI_HMEM)");
    return base::accepted();
  }
  transport::Verdict takes_gpu_memory(const transport::Message& message) const {
    if (auto provider = takes_gpu_memory(); !provider.yes) return provider;
    return device::network_reaches(message.buffer,
                                   message.direction == transport::Direction::receive);
  }

  unsigned entries() const noexcept { return settings_.ofi_entries.value_or(entries_unless_told); }

  transport::Verdict judge(int rank, const AddressRecord& theirs) {
    if (!engine_) return {false, why_not_};
    if (theirs.usable == 0) return {false, "the peer has no provider that can defer work"};
    if (engine_->provider() != theirs.provider)
      return {false, fmt::format("the peer uses the provider {}", theirs.provider)};
    engine_->add_peer(rank, std::span(theirs.name, theirs.name_bytes));
    return {true, fmt::format("deferred operations over {}", theirs.provider)};
  }

  const base::Settings& settings_;
  group::World& world_;
  const std::chrono::microseconds spin_;
  const std::function<bool()> needed_;
  const bool for_gpus_;
  std::string why_not_ = "not in PENSTOCK_TRANSPORT";
  std::string why_not_gpu_memory_;  // of a provider that has it
  bool anybody_ = false;
  base::SharedTexts texts_;
  std::vector<Reach> peers_;  // by world rank
  std::unique_ptr<OfiEngine> engine_;
};

}  // namespace

std::unique_ptr<transport::Transport> make_transport(const base::Settings& settings,
                                                     group::World& world,
                                                     std::chrono::microseconds spin,
                                                     std::function<bool()> needed, bool for_gpus) {
  return std::make_unique<Ofi>(settings, world, spin, std::move(needed), for_gpus);
}

}  // namespace penstock::ofi
