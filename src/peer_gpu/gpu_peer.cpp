// SPDX-License-Identifier: Apache-2.0
#include "peer_gpu/gpu_peer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "device/gpu.hpp"
#include "device/gpu/driver.hpp"
#include "device/gpu/memory.hpp"
#include "gpu/gpus.hpp"
#include "peer/handshake.hpp"
#include "peer/peer.hpp"
#include "peer_gpu/device_plan.hpp"
#include "peer_gpu/exposed_memory.hpp"
#include "peer_gpu/gates.hpp"
#include "peer_gpu/gpu_shares.hpp"
#include "peer_gpu/pair_batch.hpp"
#include "peer_gpu/pair_records.hpp"
#include "peer_gpu/shape.hpp"

namespace penstock::peer_gpu {

using base::Error;
using base::ErrorKind;
using gpu::Devices, gpu::LaunchStep, gpu::PackedMessage, gpu::PinnedPool, gpu::Report,
    gpu::export_memory;

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

// Where our kernels find a message.
struct KernelBuffer {
  std::byte* buffer;
  std::size_t span_bytes;                 // from there on
  Rows rows;                              // how it lies there
  std::shared_ptr<PackedMessage> packed;  // null: the buffer is the program's
};

}  // namespace

class GpuPeer final : public transport::Transport {
 public:
  GpuPeer(const base::Settings& settings, group::World& world, peer::Peer& host,
          std::shared_ptr<Gpus> gpus)
      : settings_(settings),
        world_(world),
        host_(host),
        gpus_(std::move(gpus)),
        shares_(std::make_shared<GpuShares>(settings.cuda_waits)),
        gates_(settings, world.rank(), host, gpus_->devices()),
        remote_(world.rank(), gpus_->devices()) {
    gpus_->share_devices([this](int device) { return places_on(device); });
  }
  // Halves that were given up in the order of a stream end on the driver's threads.
  ~GpuPeer() override {
    gpus_->share_devices({});
    gpus_->finish();
    shares_->leave();
  }

  std::string name() const override { return "peer-" PENSTOCK_GPU_KEY; }
  transport::WireRecord address() override { return shares_->address(host_); }
  void add_peers(std::span<const transport::WireRecord> addresses) override {
    shares_->add_peers(world_, host_, addresses);
  }
  void prepare(device::Stream& stream) override;

  transport::Verdict usable() const override;
  transport::Verdict can_serve(const transport::Message& message) const override;
  std::unique_ptr<transport::Offer> offer(const transport::Message& send) override;
  std::unique_ptr<transport::Acceptance> accept(const transport::Message& receive,
                                                const transport::Message& send,
                                                std::span<const std::byte> offer) override;

 private:
  class GpuOffer;
  class GpuAcceptance;

  KernelBuffer kernel_buffer(const transport::Message& message, std::size_t bytes,
                             std::uint64_t eager_max) {
    auto* const buffer = static_cast<std::byte*>(message.buffer);
    if (const auto rows = rows_in_place(message, bytes, eager_max))
      return {buffer, message.span_bytes(), *rows, nullptr};
    const auto arena = gpus_->devices().arena(device::gpu::region_of(buffer).device);
    auto packed = std::make_shared<PackedMessage>(*arena, message, bytes, arena->allocate(bytes));
    return {packed->room(), bytes, {}, std::move(packed)};
  }
  // Our half: private words, and the words that the peer stores into.
  DevicePair prepare_pair(int peer, KernelBuffer buffer, std::size_t words_bytes, EndRecord& end,
                          bool always_at_gates);
  // The other half's memory, as our device addresses it.
  std::byte* reach(int rank, DevicePair& pair, int device, const DevicePlace& place) {
    pair.imports.push_back(remote_.reach(rank, pair.arena->device(), device, place));
    return pair.imports.back().get();
  }
  std::shared_ptr<WaitPlaces> places_on(int device) {
    const Devices& devices = gpus_->devices();
    return shares_->places(devices.identity(device), devices.processors(device),
                           gates_.use_on(device) != GateUse::none);
  }
  // What is left once both halves have their words and our buffer is known: what the receiver has
  // chosen for this message, and what lies at the other end.
  void complete(DevicePair& device_pair, int rank, const transport::Message& send,
                const AnswerRecord& choice, const EndRecord& theirs, std::uint64_t eager_max) {
    Pair& pair = device_pair.pair;
    pair.bytes = send.bytes;
    pair.mode = send.mode;
    pair.path = choice.path;
    pair.parts = static_cast<std::uint16_t>(choice.parts);
    pair.share = share_of(pair.path, pair.bytes, pair.parts);
    if (is_ring(pair.path)) {
      pair.units = static_cast<std::uint32_t>(units_for(pair.path, pair.bytes));
    } else {
      pair.other = reach(rank, device_pair, theirs.buffer.device, theirs.buffer.place);
      pair.other_rows = theirs.rows;
    }
    pair.native_atomics = choice.native_atomics != 0;
    pair.checks_ready = choice.checks_ready != 0;
    device_pair.our_end = reinterpret_cast<EndWords*>(host_.map(rank, theirs.host_words));
    device_pair.path = describe_path(device_pair, pair.bytes > eager_max);
  }
  std::unique_ptr<transport::Plan> make_plan(DevicePair pair) {
    return std::make_unique<DevicePlan>(std::move(pair), gpus_->watchdog(), settings_.cuda_blocks);
  }

  const base::Settings& settings_;
  group::World& world_;
  peer::Peer& host_;
  const std::shared_ptr<Gpus> gpus_;
  const std::shared_ptr<GpuShares> shares_;
  Gates gates_;
  RemoteMemory remote_;
};

// The sender's half until the answer has come.
class GpuPeer::GpuOffer final : public transport::Offer {
 public:
  GpuOffer(GpuPeer& owner, const transport::Message& send) : owner_(owner), send_(send) {
    record_.eager_max = owner.settings_.cuda_eager_max;
    record_.checks_ready = owner.settings_.check;
    record_.native_atomics = owner.settings_.cuda_atomics;
    KernelBuffer buffer = owner.kernel_buffer(send, send.bytes, record_.eager_max);
    record_.end.buffer = expose(owner.gpus_->devices(), buffer.buffer, buffer.span_bytes);
    record_.gates = owner.gates_.use_on(record_.end.buffer.device);
    pair_ = owner.prepare_pair(send.peer, std::move(buffer), sizeof(SenderWords), record_.end,
                               owner.gates_.may_be_always(send.peer, record_.end.buffer.device));
    pair_.pair.sender = reinterpret_cast<SenderWords*>(record_.end.words.address);
  }

  transport::WireRecord record() const override { return transport::to_wire(record_); }

  std::unique_ptr<transport::Plan> connect(std::span<const std::byte> answer) override {
    const auto theirs = transport::from_wire<AnswerRecord>(answer);
    const int device = theirs.end.buffer.device;
    pair_.always_at_gates = theirs.always_at_gates != 0;
    owner_.gates_.join(send_.peer, pair_, record_.end, theirs.end);
    Pair& pair = pair_.pair;
    pair.receiver =
        reinterpret_cast<ReceiverWords*>(owner_.reach(send_.peer, pair_, device, theirs.end.words));
    pair.sends = true;
    owner_.complete(pair_, send_.peer, send_, theirs, theirs.end, record_.eager_max);
    return owner_.make_plan(std::move(pair_));
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
    const bool self = rank == owner.world_.rank();
    KernelBuffer buffer = owner.kernel_buffer(receive, send.bytes, offer.eager_max);
    record_.end.buffer = expose(owner.gpus_->devices(), buffer.buffer, buffer.span_bytes);
    const MemoryRecord& ours = record_.end.buffer;
    const MemoryRecord& theirs = offer.end.buffer;
    const Devices::DeviceReach reach =
        owner.gpus_->devices().reach(ours.device, theirs.device_identity);
    if (!reach.possible)
      throw Error(ErrorKind::transport, "the two GPUs cannot address each other's memory (no P2P)");
    const bool always = owner.gates_.always(rank, offer, ours);
    const bool exported = self || (ours.exported != 0 && theirs.exported != 0);
    const Path path = send.bytes > offer.eager_max && exported ? Path::rendezvous
                      : reach.whole_lines && send.bytes >= owner.settings_.cuda_wide_lines
                          ? Path::wide_ring
                          : Path::ring;
    const std::size_t ring_bytes =
        is_ring(path) ? ring_slots * slot_cells(path, send.bytes) * sizeof(Cell) : 0;

    pair_ = owner.prepare_pair(rank, std::move(buffer), sizeof(ReceiverWords) + ring_bytes,
                               record_.end, always);
    owner.gates_.join(rank, pair_, record_.end, offer.end);
    Pair& pair = pair_.pair;
    pair.receiver = reinterpret_cast<ReceiverWords*>(record_.end.words.address);
    pair.sender =
        reinterpret_cast<SenderWords*>(owner.reach(rank, pair_, theirs.device, offer.end.words));

    record_.checks_ready = offer.checks_ready != 0 || owner.settings_.check;
    record_.path = path;
    record_.always_at_gates = always;
    record_.parts = parts_for(path, send.bytes, owner.settings_.cuda_blocks);
    record_.native_atomics =
        reach.native_atomics && offer.native_atomics != 0 && owner.settings_.cuda_atomics;
    owner.complete(pair_, rank, send, record_, offer.end, offer.eager_max);
    // Its thread may not start, which the sender must hear of by the answer.
    owner.gpus_->watchdog();
  }

  transport::WireRecord record() const override { return transport::to_wire(record_); }
  std::unique_ptr<transport::Plan> confirm() override { return owner_.make_plan(std::move(pair_)); }

 private:
  GpuPeer& owner_;
  DevicePair pair_;
  AnswerRecord record_;
};

transport::Verdict GpuPeer::usable() const {
  if (const transport::Verdict host = host_.usable(); !host.yes) return host;
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
  return host_.reaches(message.peer);
}

std::unique_ptr<transport::Offer> GpuPeer::offer(const transport::Message& send) {
  host_.retired().sweep();
  return std::make_unique<GpuOffer>(*this, send);
}

std::unique_ptr<transport::Acceptance> GpuPeer::accept(const transport::Message& receive,
                                                       const transport::Message& send,
                                                       std::span<const std::byte> offer) {
  host_.retired().sweep();
  return std::make_unique<GpuAcceptance>(*this, receive, send,
                                         transport::from_wire<OfferRecord>(offer));
}

void GpuPeer::prepare(device::Stream& stream) {
  if (stream.kind() != device::StreamKind::cuda) return;
  auto& on_device = static_cast<device::gpu::Stream&>(stream);
  gpus_->equip<PairBatch>(on_device, LaunchStep::peer, load_kernels);
  gpus_->equip_packing(on_device);
}

DevicePair GpuPeer::prepare_pair(int peer, KernelBuffer buffer, std::size_t words_bytes,
                                 EndRecord& end, bool always_at_gates) {
  const int device = end.buffer.device;
  DevicePair pair;
  pair.peer = peer;
  pair.peer_dead = &world_.dead(peer);
  pair.pair.buffer = buffer.buffer;
  pair.pair.rows = end.rows = buffer.rows;
  pair.packed = std::move(buffer.packed);
  pair.arena = gpus_->devices().arena(device);
  pair.private_words = pair.arena->allocate(sizeof(PrivateWords));
  pair.pair.words = reinterpret_cast<PartWords*>(pair.private_words.get());
  static_assert(sizeof(HostNotice) <= PinnedPool::piece && sizeof(Report) <= PinnedPool::piece);
  pair.notice = gpus_->pinned().take();
  pair.pair.notice = static_cast<HostNotice*>(pair.notice.get());
  pair.retired = &host_.retired();
  // All that the peer's kernels store into or copy from: it outlives the pair until the peer is gone.
  struct Kept {
    std::shared_ptr<PackedMessage> packed;
    std::shared_ptr<std::byte> words;
    std::shared_ptr<Gate> gate;
  };
  const auto kept = std::make_shared<Kept>();
  kept->packed = pair.packed;
  kept->words = pair.arena->allocate(words_bytes);
  end.words = export_memory(kept->words.get());
  pair.always_at_gates = always_at_gates;
  if (gates_.use_on(device) != GateUse::none) {
    pair.wait_place = places_on(device)->take_for_pair();
    end.needs_gate = !pair.wait_place;
    if (always_at_gates || !pair.wait_place) kept->gate = gates_.take(end);
    pair.gate = kept->gate.get();
  }
  pair.holding = host_.hold(sizeof(EndWords), kept);
  pair.peer_end = reinterpret_cast<EndWords*>(pair.holding.block());
  end.host_words = pair.holding.place();
  return pair;
}

std::unique_ptr<transport::Transport> make_transport(const base::Settings& settings,
                                                     group::World& world, peer::Peer& host,
                                                     std::shared_ptr<Gpus> gpus) {
  return std::make_unique<GpuPeer>(settings, world, host, std::move(gpus));
}

}  // namespace penstock::peer_gpu
