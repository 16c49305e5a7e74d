// SPDX-License-Identifier: Apache-2.0
#include "peer_gpu/window.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "device/gpu/memory.hpp"
#include "device/gpu/runtime.hpp"
#include "peer_gpu/window_item.hpp"

namespace penstock::peer_gpu {

using base::Error;
using base::ErrorKind;
using transport::WindowEnds;
using transport::WindowMemory;

namespace {

int device_of(const WindowMemory& ours) {
  if (ours.bytes != 0) return device::gpu::region_of(ours.base).device;
  int current = 0;
  device::gpu::check(cudaGetDevice(&current), "cudaGetDevice");
  return current;
}

}  // namespace

bool can_expose(const WindowMemory& memory) {
  return memory.bytes == 0 || device::gpu::look_at(memory.base).exportable;
}

GpuWindow::GpuWindow(Halves& halves, const WindowMemory& ours, int peer)
    : halves_(halves), peer_(peer), device_(device_of(ours)) {
  const void* base = ours.base;
  std::size_t bytes = ours.bytes;
  if (bytes == 0) {
    bytes = gpu::device_line;
    nothing_ = halves.devices().arena(device_)->allocate(bytes);
    base = nothing_.get();
  }
  record_.bytes = ours.bytes;
  record_.native_atomics = halves.settings().cuda_atomics;
  record_.gates = halves.gates().use_on(device_);
  record_.origin.buffer = record_.target.buffer = expose(halves.devices(), base, bytes);
  origin_ = half(record_.origin, sizeof(SenderWords));
  origin_.pair.sender = reinterpret_cast<SenderWords*>(record_.origin.words.address);
  origin_.pair.sends = true;
  record_.data_cells = std::max<std::uint32_t>(
      cells_for(std::min(halves.host().window_eager_max(), most_window_eager)), 1);
  target_ = half(record_.target, sizeof(ReceiverWords) +
                                     ring_slots * sizeof(Cell) * (head_cells + record_.data_cells));
  target_.pair.receiver = reinterpret_cast<ReceiverWords*>(record_.target.words.address);
  target_.pair.buffer = static_cast<std::byte*>(ours.base);
  target_.pair.units = static_cast<std::uint32_t>(record_.data_cells);
}

GpuWindow::~GpuWindow() {
  if (!told_) return;
  for (DevicePair* pair : {&origin_, &target_})
    if (pair->holding.block() != nullptr)
      pair->retired->add(std::move(pair->holding), &pair->peer_end->gone, pair->peer_dead);
}

transport::WireRecord GpuWindow::record() const {
  told_ = true;
  return transport::to_wire(record_);
}

DevicePair GpuWindow::half(EndRecord& end, std::size_t words_bytes) {
  DevicePair pair = halves_.prepare(peer_, {nullptr, 0, {}, nullptr}, words_bytes, end,
                                    halves_.gates().may_be_always(peer_, device_));
  pair.pair.path = Path::window;
  pair.pair.parts = most_window_parts;
  pair.path = "window";
  return pair;
}

// As Gates::always, but both members decide it, each from the same two records.
bool GpuWindow::always_at_gates(const WindowRecord& theirs) const {
  if (record_.origin.has_gate == 0 || theirs.origin.has_gate == 0) return false;
  return halves_.gates().always(peer_, record_.gates, record_.origin.buffer, theirs.gates,
                                theirs.origin.buffer);
}

void GpuWindow::join(DevicePair& pair, const EndRecord& ours, const EndRecord& theirs,
                     bool always) {
  pair.always_at_gates = always;
  halves_.gates().join(peer_, pair, ours, theirs);
  pair.our_end = halves_.end_words(peer_, theirs);
}

WindowEnds GpuWindow::connect(std::span<const std::byte> theirs, transport::OperationLists& lists) {
  const auto record = transport::from_wire<WindowRecord>(theirs);
  const MemoryRecord& memory = record.target.buffer;
  const auto reach = halves_.devices().reach(device_, memory.device_identity);
  if (!reach.possible)
    throw Error(ErrorKind::transport,
                fmt::format("the GPUs of this rank and rank {} cannot address each other's memory "
                            "(no P2P)",
                            peer_));
  const bool always = always_at_gates(record);
  WindowEnds ends;
  ends.reach.direct = true;
  ends.reach.gpu = device_;
  ends.reach.atomic =
      reach.native_atomics && record_.native_atomics != 0 && record.native_atomics != 0;

  join(origin_, record_.origin, record.target, always);
  origin_.lists = &lists;
  Pair& origin = origin_.pair;
  origin.receiver = reinterpret_cast<ReceiverWords*>(
      halves_.reach(peer_, origin_, memory.device, record.target.words));
  origin.units = static_cast<std::uint32_t>(record.data_cells);
  origin_.eager_max = halves_.host().window_eager_max();
  origin.other = halves_.reach(peer_, origin_, memory.device, memory.place);
  if (record.bytes != 0) ends.reach.address = origin.other;

  join(target_, record_.target, record.origin, always);
  target_.pair.sender = reinterpret_cast<SenderWords*>(
      halves_.reach(peer_, target_, memory.device, record.origin.words));

  ends.origin = halves_.make_plan(std::move(origin_));
  try {
    ends.target = halves_.make_plan(std::move(target_));
  } catch (...) {
    ends.origin->close();
    throw;
  }
  return ends;
}

}  // namespace penstock::peer_gpu
