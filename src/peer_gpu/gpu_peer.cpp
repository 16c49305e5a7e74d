// SPDX-License-Identifier: Apache-2.0
#include "peer_gpu/gpu_peer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "device/gpu.hpp"
#include "device/gpu/driver.hpp"
#include "device/gpu/memory.hpp"
#include "peer/handshake.hpp"
#include "peer_gpu/halves.hpp"
#include "peer_gpu/pair_batch.hpp"
#include "peer_gpu/rally_batch.hpp"
#include "peer_gpu/rally_offer.hpp"
#include "peer_gpu/shape.hpp"
#include "peer_gpu/window.hpp"
#include "peer_gpu/window_batch.hpp"
#include "peer_gpu/window_kernels.hpp"

namespace penstock::peer_gpu {

using base::Error;
using base::ErrorKind;
using gpu::Devices, gpu::LaunchStep;

namespace {

std::string describe(const Pair& pair, bool staged) {
  if (pair.path == Path::rendezvous)
    return fmt::format("rendezvous, claim by {}", pair.native_atomics ? "exchange" : "flags");
  return fmt::format("{}{}", staged ? "whole message staged as memory is not exported" : "ring",
                     pair.path == Path::wide_ring ? ", 128-byte lines" : "");
}

std::string describe_path(const DevicePair& pair, bool staged) {
  return describe(pair.pair, staged) + (pair.packed ? ", packed" : "") +
         (pair.always_at_gates ? ", waits by value" : "");
}

}  // namespace

class GpuPeer final : public transport::Transport {
 public:
  GpuPeer(const base::Settings& settings, group::World& world, peer::Peer& host,
          std::shared_ptr<Gpus> gpus)
      : halves_(settings, world, host, std::move(gpus)) {}

  std::string name() const override { return "peer-" PENSTOCK_GPU_KEY; }
  transport::WireRecord address() override { return halves_.shares().address(halves_.host()); }
  void add_peers(std::span<const transport::WireRecord> addresses) override {
    halves_.shares().add_peers(halves_.world(), halves_.host(), addresses);
  }
  void prepare(device::Stream& stream) override;

  transport::Verdict usable() const override;
  transport::Verdict can_serve(const transport::Message& message) const override;
  std::unique_ptr<transport::Offer> offer(const transport::Message& send) override;
  std::unique_ptr<transport::Acceptance> accept(const transport::Message& receive,
                                                const transport::Message& send,
                                                std::span<const std::byte> offer) override;
  transport::Verdict can_serve_window(const transport::WindowMemory& ours, int peer) const override;
  std::unique_ptr<transport::WindowOffer> open_window(const transport::WindowMemory& ours,
                                                      int peer) override;
  transport::Verdict can_serve_group(const transport::GroupMessage& ours) const override;
  std::size_t fastest_directly(const transport::GroupMessage& ours) const override;
  transport::Verdict can_connect_group(
      std::span<const transport::WireRecord> records) const override;
  std::unique_ptr<transport::GroupOffer> open_group(const transport::GroupMessage& ours) override;
  transport::Verdict can_share(const void* memory, std::size_t bytes) const override;
  transport::SharedMemory share(const void* memory, std::size_t bytes) override;
  std::shared_ptr<std::byte> open_shared(int owner, std::span<const std::byte> record) override;

 private:
  class GpuOffer;
  class GpuAcceptance;

  KernelBuffer kernel_buffer(const transport::Message& message, std::size_t bytes,
                             std::uint64_t eager_max);
  // What is left once both halves have their words and our buffer is known: what the receiver has
  // chosen for this message, and what lies at the other end.
  void complete(DevicePair& device_pair, int rank, const transport::Message& send,
                const AnswerRecord& choice, const EndRecord& theirs, std::uint64_t eager_max);

  mutable Halves halves_;
};

KernelBuffer GpuPeer::kernel_buffer(const transport::Message& message, std::size_t bytes,
                                    std::uint64_t eager_max) {
  auto* const buffer = static_cast<std::byte*>(message.buffer);
  if (const auto rows = rows_in_place(message, bytes, eager_max))
    return {buffer, message.span_bytes(), *rows, nullptr};
  const auto arena = halves_.devices().arena(device::gpu::region_of(buffer).device);
  auto packed = std::make_shared<PackedMessage>(*arena, message, bytes, arena->allocate(bytes));
  return {packed->room(), bytes, {}, std::move(packed)};
}

void GpuPeer::complete(DevicePair& device_pair, int rank, const transport::Message& send,
                       const AnswerRecord& choice, const EndRecord& theirs,
                       std::uint64_t eager_max) {
  Pair& pair = device_pair.pair;
  pair.bytes = send.bytes;
  pair.mode = send.mode;
  pair.path = choice.path;
  pair.parts = static_cast<std::uint16_t>(choice.parts);
  pair.share = share_of(pair.path, pair.bytes, pair.parts);
  if (is_ring(pair.path)) {
    pair.units = static_cast<std::uint32_t>(units_for(pair.path, pair.bytes));
  } else {
    pair.other = halves_.reach(rank, device_pair, theirs.buffer.device, theirs.buffer.place);
    pair.other_rows = theirs.rows;
  }
  pair.native_atomics = choice.native_atomics != 0;
  pair.checks_ready = choice.checks_ready != 0;
  device_pair.our_end = halves_.end_words(rank, theirs);
  device_pair.path = describe_path(device_pair, pair.bytes > eager_max);
}

// The sender's half until the answer has come.
class GpuPeer::GpuOffer final : public transport::Offer {
 public:
  GpuOffer(GpuPeer& owner, const transport::Message& send) : owner_(owner), send_(send) {
    record_.eager_max = owner.halves_.settings().cuda_eager_max;
    record_.checks_ready = owner.halves_.settings().check;
    record_.native_atomics = owner.halves_.settings().cuda_atomics;
    KernelBuffer buffer = owner.kernel_buffer(send, send.bytes, record_.eager_max);
    record_.end.buffer = expose(owner.halves_.devices(), buffer.buffer, buffer.span_bytes);
    record_.gates = owner.halves_.gates().use_on(record_.end.buffer.device);
    pair_ = owner.halves_.prepare(
        send.peer, std::move(buffer), sizeof(SenderWords), record_.end,
        owner.halves_.gates().may_be_always(send.peer, record_.end.buffer.device));
    pair_.pair.sender = reinterpret_cast<SenderWords*>(record_.end.words.address);
  }

  transport::WireRecord record() const override { return transport::to_wire(record_); }

  std::unique_ptr<transport::Plan> connect(std::span<const std::byte> answer) override {
    const auto theirs = transport::from_wire<AnswerRecord>(answer);
    const int device = theirs.end.buffer.device;
    pair_.always_at_gates = theirs.always_at_gates != 0;
    owner_.halves_.gates().join(send_.peer, pair_, record_.end, theirs.end);
    Pair& pair = pair_.pair;
    pair.receiver = reinterpret_cast<ReceiverWords*>(
        owner_.halves_.reach(send_.peer, pair_, device, theirs.end.words));
    pair.sends = true;
    owner_.complete(pair_, send_.peer, send_, theirs, theirs.end, record_.eager_max);
    return owner_.halves_.make_plan(std::move(pair_));
  }

 private:
  GpuPeer& owner_;
  transport::Message send_;
  DevicePair pair_;
  OfferRecord record_;
};

// The receiver's half until the sender has confirmed.
class GpuPeer::GpuAcceptance final : public transport::Acceptance {
 public:
  GpuAcceptance(GpuPeer& owner, const transport::Message& receive, const transport::Message& send,
                const OfferRecord& offer)
      : owner_(owner) {
    const int rank = receive.peer;
    const bool self = rank == owner.halves_.own_rank();
    KernelBuffer buffer = owner.kernel_buffer(receive, send.bytes, offer.eager_max);
    record_.end.buffer = expose(owner.halves_.devices(), buffer.buffer, buffer.span_bytes);
    const MemoryRecord& ours = record_.end.buffer;
    const MemoryRecord& theirs = offer.end.buffer;
    const Devices::DeviceReach reach =
        owner.halves_.devices().reach(ours.device, theirs.device_identity);
    if (!reach.possible)
      throw Error(ErrorKind::transport, "the two GPUs cannot address each other's memory (no P2P)");
    const bool always = owner.halves_.gates().always(rank, offer, ours);
    const bool exported = self || (ours.exported != 0 && theirs.exported != 0);
    const Path path = send.bytes > offer.eager_max && exported ? Path::rendezvous
                      : reach.whole_lines && send.bytes >= owner.halves_.settings().cuda_wide_lines
                          ? Path::wide_ring
                          : Path::ring;
    const std::size_t ring_bytes =
        is_ring(path) ? ring_slots * slot_cells(path, send.bytes) * sizeof(Cell) : 0;

    pair_ = owner.halves_.prepare(rank, std::move(buffer), sizeof(ReceiverWords) + ring_bytes,
                                  record_.end, always);
    owner.halves_.gates().join(rank, pair_, record_.end, offer.end);
    Pair& pair = pair_.pair;
    pair.receiver = reinterpret_cast<ReceiverWords*>(record_.end.words.address);
    pair.sender = reinterpret_cast<SenderWords*>(
        owner.halves_.reach(rank, pair_, theirs.device, offer.end.words));

    record_.checks_ready = offer.checks_ready != 0 || owner.halves_.settings().check;
    record_.path = path;
    record_.always_at_gates = always;
    record_.parts = parts_for(path, send.bytes, owner.halves_.settings().cuda_blocks);
    record_.native_atomics =
        reach.native_atomics && offer.native_atomics != 0 && owner.halves_.settings().cuda_atomics;
    owner.complete(pair_, rank, send, record_, offer.end, offer.eager_max);
    // Its thread may not start, which the sender must hear of by the answer.
    owner.halves_.gpus().watchdog();
  }

  transport::WireRecord record() const override { return transport::to_wire(record_); }
  std::unique_ptr<transport::Plan> confirm() override {
    return owner_.halves_.make_plan(std::move(pair_));
  }

 private:
  GpuPeer& owner_;
  DevicePair pair_;
  AnswerRecord record_;
};

transport::Verdict GpuPeer::usable() const {
  if (const transport::Verdict host = halves_.host().usable(); !host.yes) return host;
  // A match of host memory must not start a driver that the program does not use.
  if (!device::gpu::driver_is_loaded()) return {false, "no " PENSTOCK_GPU " driver is loaded"};
  if (const base::Verdict here = device::gpu::usable(); !here.yes) return here;
  return {true, PENSTOCK_GPU " memory, mapped between processes"};
}

transport::Verdict GpuPeer::can_serve(const transport::Message& message) const {
  if (message.memory != device::MemoryKind::cuda)
    return {false, "buffer is not in " PENSTOCK_GPU " memory"};
  if (!message.described()) return {false, transport::undescribed_text};
  if (message.mode == protocol::Mode::buffered)
    return {false, "buffered sends are not served from " PENSTOCK_GPU " memory"};
  return halves_.host().reaches(message.peer);
}

std::unique_ptr<transport::Offer> GpuPeer::offer(const transport::Message& send) {
  halves_.host().retired().sweep();
  return std::make_unique<GpuOffer>(*this, send);
}

std::unique_ptr<transport::Acceptance> GpuPeer::accept(const transport::Message& receive,
                                                       const transport::Message& send,
                                                       std::span<const std::byte> offer) {
  halves_.host().retired().sweep();
  return std::make_unique<GpuAcceptance>(*this, receive, send,
                                         transport::from_wire<OfferRecord>(offer));
}

transport::Verdict GpuPeer::can_serve_window(const transport::WindowMemory& ours, int peer) const {
  if (ours.memory != device::MemoryKind::cuda)
    return {false, "the window is not in " PENSTOCK_GPU " memory"};
  if (!can_expose(ours))
    return {false, "other processes cannot map this " PENSTOCK_GPU
                   " memory: allocate the window with cudaMalloc"};
  return halves_.host().reaches(peer);
}

std::unique_ptr<transport::WindowOffer> GpuPeer::open_window(const transport::WindowMemory& ours,
                                                             int peer) {
  halves_.host().retired().sweep();
  return std::make_unique<GpuWindow>(halves_, ours, peer);
}

transport::Verdict GpuPeer::can_serve_group(const transport::GroupMessage& ours) const {
  for (const int member : ours.members) {
    if (member == halves_.own_rank()) continue;
    if (const auto reached = halves_.host().reaches(member); !reached.yes) return reached;
  }
  return can_rally(ours);
}

// Of two members on H100 and H200 (docs/results/collectives.md); with more, others send less or
// hold less memory. What is not combined on its way is copied once by messages, and twice by slots.
// Whether the other member is on a GPU that this process sees is not known yet.
std::size_t GpuPeer::fastest_directly(const transport::GroupMessage& ours) const {
  constexpr std::size_t in_cells = 256 << 10, moved_in_lines = 4 << 20,
                        combined_in_lines = 16 << 20;
  if (!can_rally_in_lines(ours) || halves_.settings().cuda_wide_lines > in_cells ||
      !halves_.devices().sees_whole_lines(ours.gpu))
    return in_cells;
  return ours.combination ? combined_in_lines : moved_in_lines;
}

transport::Verdict GpuPeer::can_connect_group(
    std::span<const transport::WireRecord> records) const {
  return can_rally_together(records);
}

std::unique_ptr<transport::GroupOffer> GpuPeer::open_group(const transport::GroupMessage& ours) {
  halves_.host().retired().sweep();
  return std::make_unique<RallyOffer>(halves_, ours);
}

transport::Verdict GpuPeer::can_share(const void* memory, std::size_t bytes) const {
  const device::gpu::MemoryRegion region = device::gpu::look_at(memory);
  if (!region.on_device) return {false, "it is not in " PENSTOCK_GPU " memory"};
  const std::uint64_t end = reinterpret_cast<std::uintptr_t>(memory) + bytes;
  if (region.exportable && end <= region.base + region.bytes) return {true, ""};
  return {false, "other processes cannot map this " PENSTOCK_GPU
                 " memory, or not all of it: allocate it with cudaMalloc"};
}

transport::SharedMemory GpuPeer::share(const void* memory, std::size_t bytes) {
  const MemoryRecord record = expose(halves_.devices(), memory, bytes);
  if (record.exported == 0)
    throw Error(ErrorKind::unsupported,
                "its " PENSTOCK_GPU " memory is mapped from another process, which owns it");
  return {transport::to_wire(record), nullptr};
}

// Closed before the owner may free it, so not kept as what pairs map is.
std::shared_ptr<std::byte> GpuPeer::open_shared(int owner, std::span<const std::byte> record) {
  for (const transport::Verdict& verdict : {usable(), halves_.host().reaches(owner)})
    if (!verdict.yes)
      throw Error(ErrorKind::unsupported,
                  fmt::format("it does not reach the memory of rank {}: {}", owner, verdict.why));
  const auto theirs = transport::from_wire<MemoryRecord>(record);
  const int device = halves_.devices().device_with(theirs.device_identity);
  if (device < 0)
    throw Error(ErrorKind::unsupported,
                fmt::format("it does not see the GPU of rank {}, in whose memory the team's buffer "
                            "is: make that GPU visible to all ranks of the team",
                            owner));
  auto opened = halves_.remote().reach(owner, device, theirs.device, theirs.place);
  std::byte* const address = opened.get();
  return {address, [this, opened = std::move(opened)](std::byte*) mutable {
            opened.reset();
            halves_.remote().close_unused();
          }};
}

void GpuPeer::prepare(device::Stream& stream) {
  if (stream.kind() != device::StreamKind::cuda) return;
  auto& on_device = static_cast<device::gpu::Stream&>(stream);
  halves_.gpus().equip<PairBatch>(on_device, LaunchStep::peer, load_kernels);
  halves_.gpus().equip<WindowBatch>(on_device, LaunchStep::window, load_window_kernels,
                                    halves_.settings().merge_windows);
  halves_.gpus().equip<RallyBatch>(on_device, LaunchStep::rally, load_rally_kernels);
  halves_.gpus().equip_packing(on_device);
}

std::unique_ptr<transport::Transport> make_transport(const base::Settings& settings,
                                                     group::World& world, peer::Peer& host,
                                                     std::shared_ptr<Gpus> gpus) {
  return std::make_unique<GpuPeer>(settings, world, host, std::move(gpus));
}

}  // namespace penstock::peer_gpu
