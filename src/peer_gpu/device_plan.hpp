// SPDX-License-Identifier: Apache-2.0
// One half of a pair whose messages are moved by kernels.
#pragma once

#include <atomic>
#include <span>
#include <string>
#include <vector>

#include "device/gpu.hpp"
#include "gpu/device_arena.hpp"
#include "gpu/kernel_plan.hpp"
#include "gpu/packed_message.hpp"
#include "peer/holding.hpp"
#include "peer_gpu/batch.hpp"
#include "peer_gpu/device_half.hpp"
#include "peer_gpu/gate.hpp"
#include "transport/operations.hpp"

namespace penstock::peer_gpu {

using gpu::DeviceArena, gpu::Failure, gpu::KernelPlan, gpu::KernelQueue, gpu::KernelWatchdog;

// Everything fixed at match.
struct DevicePair {
  Pair pair;      // without id
  int peer = -1;  // world rank
  const std::atomic<bool>* peer_dead = nullptr;
  std::shared_ptr<DeviceArena> arena;
  std::shared_ptr<std::byte> private_words;  // ours, on the device
  std::vector<std::shared_ptr<std::byte>> imports;
  std::shared_ptr<gpu::PackedMessage> packed;  // null: kernels move the message where it lies
  // Of a window's origin: what it moves in each epoch.
  transport::OperationLists* lists = nullptr;
  std::size_t eager_max = 0;     // of these, in bytes
  std::shared_ptr<void> notice;  // pinned
  peer::Holding holding;         // host words, and the memory that the peer's kernels store into
  Gate* gate = nullptr;          // ours; kept by the holding. Null: there are no gates here
  Gate* peer_gate = nullptr;
  bool always_at_gates = false;
  std::shared_ptr<void> wait_place;  // the half waits by kernels, unless always_at_gates
  peer::Retired* retired = nullptr;
  EndWords* our_end = nullptr;   // in the peer's memory
  EndWords* peer_end = nullptr;  // in ours
  std::string path;
};

class DevicePlan final : public KernelPlan {
 public:
  DevicePlan(DevicePair pair, KernelWatchdog& watchdog, unsigned most_blocks);
  ~DevicePlan() override;

  void check_stream(const device::Stream& stream) const override;
  void start(device::Stream& stream, transport::Sink& sink) override;
  void wait(device::Stream& stream, transport::Sink& sink) override;
  void enter_kernels(device::Stream& stream, transport::Sink& sink, unsigned wait_blocks,
                     std::span<std::byte> handle) override;
  using KernelPlan::close;
  void close() override;
  transport::PairState pair_state(protocol::Epoch epoch) const noexcept override;
  std::string describe() const override;
  std::string path() const override { return "peer-" PENSTOCK_GPU_KEY " (" + fixed_.path + ")"; }

  void look_for_lost_cause() noexcept override;
  base::Error error_of(Failure failure) const override;
  void note_death() noexcept override;
  void give_up_if_peer_is_dead() noexcept override;
  void poison() noexcept override;
  bool needs(int device) const noexcept override { return device == fixed_.arena->device(); }
  // Tells the peer's host of a pair that our kernels have given up.
  void follow(const KernelQueue& failed) noexcept override;
  protocol::Epoch awaited_epoch() const noexcept override;
  protocol::Epoch epoch_at_gate() const noexcept override;
  void open_gate() noexcept override;

 private:
  const char* why_no_handle() const noexcept;  // null: kernels of the program's may have one
  void settle_before_kernels(KernelQueue& queue);
  void clear_life() noexcept;
  DeviceHalf handle_on(const KernelQueue& queue, unsigned wait_blocks) const noexcept;
  bool peer_closed(protocol::Epoch epoch) const noexcept;
  bool peer_dead() const noexcept { return fixed_.peer_dead->load(std::memory_order_acquire); }
  HostNotice& notice() const noexcept { return *static_cast<HostNotice*>(fixed_.notice.get()); }
  bool of_window() const noexcept { return fixed_.pair.path == Path::window; }
  void wait_in_window(KernelQueue& queue, bool gated) noexcept;
  std::uint32_t eager_cells(std::span<const transport::Operation> list) const noexcept;
  Gating gating(bool starts) const noexcept;
  bool at_gates(KernelQueue& queue, const device::Stream& stream) const noexcept;
  void close_at(protocol::Epoch first_not_served) noexcept;
  void leave_at(protocol::Epoch first_not_served) noexcept;
  // The last epoch is known to the device alone: it is copied to the host.
  bool prepare_close(device::gpu::Stream& stream) noexcept override;
  void end_close(void (*ended)(void*), void* argument) noexcept override;
  protocol::Epoch first_not_served(const PartWords& words) const noexcept;

  DevicePair fixed_;
  Pair start_;  // for its kernel, if a start needs one
  Pair wait_;
  Gating start_gating_;  // empty where the call never waits, or there are no gates
  Gating wait_gating_;
  const unsigned most_blocks_;
  bool starts_by_kernel_;
  bool waits_by_kernel_;
  Word64 life_ = 0;                           // in handles; 0: there are none
  std::vector<KernelQueue::Memory> reports_;  // of the queues of handles, which may go before them
  std::atomic<bool> closed_{false};
  std::atomic<bool> given_up_by_host_{false};
};

}  // namespace penstock::peer_gpu
