// SPDX-License-Identifier: Apache-2.0
// One member's part of a direct exchange between GPUs.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "device/gpu.hpp"
#include "gpu/device_arena.hpp"
#include "gpu/kernel_plan.hpp"
#include "gpu/kernel_watchdog.hpp"
#include "peer/holding.hpp"
#include "peer_gpu/rally_item.hpp"

namespace penstock::peer_gpu {

using gpu::DeviceArena, gpu::Failure, gpu::KernelQueue, gpu::KernelWatchdog;

// What a member has to say to another one's host, and the other way.
struct RallyMember {
  int rank = -1;  // world rank
  const std::atomic<bool>* dead = nullptr;
  EndWords* told = nullptr;   // in its memory; null: we ourselves
  EndWords* tells = nullptr;  // in ours
};

// Everything fixed at match.
struct RallyParts {
  RallyItem item;  // without id
  std::vector<RallyMember> members;
  std::shared_ptr<DeviceArena> arena;
  std::shared_ptr<std::byte> state;  // on the device, as the routes
  std::shared_ptr<std::byte> routes;
  std::vector<std::shared_ptr<std::byte>> imports;
  std::shared_ptr<void> notice;      // pinned
  std::shared_ptr<void> wait_place;  // its waits are kernels, whatever queue they are on
  peer::Holding holding;             // host words, and the slots that the members' kernels fill
  peer::Retired* retired = nullptr;
};

class RallyPlan final : public gpu::KernelPlan {
 public:
  RallyPlan(RallyParts parts, KernelWatchdog& watchdog);
  ~RallyPlan() override;

  void check_stream(const device::Stream& stream) const override;
  void expect_run(bool run) noexcept override { runs_ = run; }
  void start(device::Stream& stream, transport::Sink& sink) override;
  void wait(device::Stream& stream, transport::Sink& sink) override;
  using KernelPlan::close;
  void close() override;
  transport::PairState pair_state(protocol::Epoch epoch) const noexcept override;
  std::string describe() const override;
  std::string path() const override { return "peer-" PENSTOCK_GPU_KEY " (direct exchange)"; }

  protocol::Epoch awaited_epoch() const noexcept override;
  void look_for_lost_cause() noexcept override;
  base::Error error_of(Failure failure) const override;
  void follow(const KernelQueue& failed) noexcept override;
  void poison() noexcept override;
  bool needs(int device) const noexcept override { return device == parts_.arena->device(); }

 private:
  RallyNotice& notice() const noexcept { return *static_cast<RallyNotice*>(parts_.notice.get()); }
  RallyState& state() const noexcept { return *reinterpret_cast<RallyState*>(parts_.state.get()); }
  const RallyMember* closed_member(protocol::Epoch epoch) const noexcept;  // null: none
  const RallyMember* dead_member() const noexcept;
  void close_at(protocol::Epoch first_not_served) noexcept;
  void leave_at(protocol::Epoch first_not_served) noexcept;
  // The last epoch is known to the device alone: it is copied to the host.
  bool prepare_close(device::gpu::Stream& stream) noexcept override;
  void end_close(void (*ended)(void*), void* argument) noexcept override;

  RallyParts parts_;
  bool runs_ = false;  // the wait comes in the same call as its start, and in one kernel
  bool left_ = false;
  std::atomic<bool> closed_{false};
};

}  // namespace penstock::peer_gpu
