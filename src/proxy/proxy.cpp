// SPDX-License-Identifier: Apache-2.0
#include "proxy/proxy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "group/mpi_communicator.hpp"
#include "plan/engine_plan.hpp"
#include "proxy/engine.hpp"
#include "proxy/mpi_call.hpp"
#include "proxy/window.hpp"
#include "transport/wire_record.hpp"

namespace penstock::proxy {

using base::Error;
using base::ErrorKind;
using group::ThreadLevel;

namespace {

struct ProxyAddressRecord {
  ThreadLevel level = ThreadLevel::single;
  bool allowed = false;
};

using ProxyPlan = plan::EnginePlan<ProxyEngine, PairEnd>;

class ProxyOffer final : public transport::Offer {
 public:
  ProxyOffer(ProxyEngine& engine, const transport::Message& send) : engine_(engine), send_(send) {}
  transport::WireRecord record() const override { return {}; }
  std::unique_ptr<transport::Plan> connect(std::span<const std::byte> answer) override {
    auto end = engine_.add_sender(send_, transport::from_wire<AnswerRecord>(answer));
    try {
      return std::make_unique<ProxyPlan>(engine_, end);
    } catch (...) {
      engine_.destroy(*end);
      throw;
    }
  }

 private:
  ProxyEngine& engine_;
  transport::Message send_;
};

class ProxyAcceptance final : public transport::Acceptance {
 public:
  ProxyAcceptance(ProxyEngine& engine, std::shared_ptr<PairEnd> end,
                  std::unique_ptr<transport::Plan> plan) noexcept
      : engine_(engine), end_(std::move(end)), plan_(std::move(plan)) {}
  ~ProxyAcceptance() override {
    if (plan_) engine_.destroy(*end_);
  }
  transport::WireRecord record() const override {
    AnswerRecord name;
    std::memset(static_cast<void*>(&name), 0, sizeof(name));  // padding travels too
    name.pair = end_->pair;
    name.tag = end_->tag;
    return transport::to_wire(name);
  }
  std::unique_ptr<transport::Plan> confirm() override { return std::move(plan_); }

 private:
  ProxyEngine& engine_;
  std::shared_ptr<PairEnd> end_;
  // It is made before the sender has connected, so that nothing is left to fail.
  std::unique_ptr<transport::Plan> plan_;
};

class Proxy final : public transport::Transport {
 public:
  Proxy(const base::Settings& settings, group::World& world, std::chrono::microseconds spin)
      : world_(world),
        allowed_(settings.allows(base::proxy_transport)),
        gpu_aware_(settings.gpu_aware_mpi),
        window_eager_max_(settings.window_eager_max),
        options_{.progress = {settings.check, spin, settings.timeout},
                 .slots = settings.slots,
                 .last_tag = group::last_tag()} {}

  std::string name() const override { return std::string(base::proxy_transport); }

  transport::WireRecord address() override {
    ProxyAddressRecord ours;
    std::memset(static_cast<void*>(&ours), 0, sizeof(ours));  // padding travels too
    ours.level = level();
    ours.allowed = allowed_;
    return transport::to_wire(ours);
  }

  void add_peers(std::span<const transport::WireRecord> addresses) override {
    bool anybody = false;
    for (const transport::WireRecord& record : addresses) {
      const auto theirs = transport::from_wire<ProxyAddressRecord>(record);
      levels_.push_back(theirs.level);
      anybody = anybody || (theirs.allowed && theirs.level == ThreadLevel::multiple);
    }
    // Making the communicators is collective, and so is the engine's end: all take part if one can
    // use it.
    if (anybody) engine_ = std::make_unique<ProxyEngine>(options_, world_);
  }

  transport::Verdict usable() const override {
    if (level() == ThreadLevel::multiple)
      return {true, "MPI messages, moved by a thread of this process"};
    return {
        false,
        fmt::format(
            "MPI was initialised with {}; proxy needs MPI_THREAD_MULTIPLE: call MPI_Init_thread, "
            "or set PENSTOCK_THREAD_MULTIPLE=1",
            group::name_of(level())),
        ErrorKind::thread_level};
  }

  transport::Verdict can_serve(const transport::Message& message) const override {
    if (message.memory != device::MemoryKind::host && !gpu_aware_)
      return {false, "MPI is not given memory of a GPU (PENSTOCK_GPU_AWARE_MPI)"};
    if (message.memory != device::MemoryKind::host &&
        message.direction == transport::Direction::send && message.mode == protocol::Mode::buffered)
      return {false, "buffered sends are copied by the processor"};
    return reaches(message.peer);
  }

  transport::Verdict can_serve_window(const transport::WindowMemory& ours,
                                      int peer) const override {
    if (ours.memory != device::MemoryKind::host) return {false, "the window is not in host memory"};
    if (const auto verdict = usable(); !verdict.yes) return verdict;
    return reaches(peer);
  }

  transport::Verdict serves_blocking_streams() const override {
    return base::refused(
        "MPI's own copies may wait for this stream, which would wait for them: use "
        "a stream made with cudaStreamNonBlocking, or set PENSTOCK_GPU_AWARE_MPI=0");
  }

  std::unique_ptr<transport::Offer> offer(const transport::Message& send) override {
    return std::make_unique<ProxyOffer>(engine(), send);
  }

  std::unique_ptr<transport::WindowOffer> open_window(const transport::WindowMemory& ours,
                                                      int peer) override {
    return std::make_unique<ProxyWindow>(engine(), ours, peer, window_eager_max_);
  }

  std::unique_ptr<transport::Acceptance> accept(const transport::Message& receive,
                                                const transport::Message& send,
                                                std::span<const std::byte>) override {
    ProxyEngine& progress = engine();
    transport::Message ours = receive;
    if (ours.described()) ours.bytes = send.bytes;  // which are no more
    auto end = progress.add_receiver(ours, send.mode);
    try {
      auto plan = std::make_unique<ProxyPlan>(progress, end);
      return std::make_unique<ProxyAcceptance>(progress, end, std::move(plan));
    } catch (...) {
      progress.destroy(*end);
      throw;
    }
  }

 private:
  ProxyEngine& engine() {
    if (!engine_ || level() != ThreadLevel::multiple)
      throw Error(ErrorKind::thread_level, usable().why);
    return *engine_;
  }
  ThreadLevel level() const { return world_.thread_level(); }
  transport::Verdict reaches(int peer) const {
    const ThreadLevel theirs = levels_[static_cast<std::size_t>(peer)];
    if (theirs == ThreadLevel::multiple) return {true, "MPI carries every datatype and size"};
    return {
        false,
        fmt::format(
            "rank {} was initialised with {}; proxy needs MPI_THREAD_MULTIPLE on both ends: call "
            "MPI_Init_thread there, or set PENSTOCK_THREAD_MULTIPLE=1",
            peer, group::name_of(theirs)),
        ErrorKind::thread_level};
  }

  group::World& world_;
  const bool allowed_;  // by PENSTOCK_TRANSPORT
  const bool gpu_aware_;
  const std::size_t window_eager_max_;
  const ProxyEngine::ProxyOptions options_;
  std::vector<ThreadLevel> levels_;  // by world rank
  std::unique_ptr<ProxyEngine> engine_;
};

}  // namespace

std::unique_ptr<transport::Transport> make_transport(const base::Settings& settings,
                                                     group::World& world,
                                                     std::chrono::microseconds spin) {
  return std::make_unique<Proxy>(settings, world, spin);
}

}  // namespace penstock::proxy
