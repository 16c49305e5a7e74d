// SPDX-License-Identifier: Apache-2.0
#include "enqueued/gpu/device_lanes.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "device/gpu/runtime.hpp"
#include "transport/wire_record.hpp"

namespace penstock::enqueued {

using base::Error;
using base::ErrorKind;

namespace {

bool all_show(std::span<const Cell> cells, Word64 flag) noexcept {
  return std::all_of(cells.begin(), cells.end(),
                     [flag](const Cell& cell) { return shows(cell, flag); });
}

}  // namespace

GpuLaneMemory::OnDevice& GpuLaneMemory::on(int device) {
  const std::lock_guard lock(mutex_);
  OnDevice& on = devices_[device];
  if (!on.arena) on.arena = std::make_shared<gpu::DeviceArena>(device);
  if (on.copies == nullptr) {
    const device::gpu::DeviceGuard guard(device);
    const device::gpu::RelaxedCaptures relaxed;
    device::gpu::check(cudaStreamCreateWithFlags(&on.copies, cudaStreamNonBlocking),
                       "cudaStreamCreate");
  }
  return on;
}

// ---- Receives

bool ReceiveLanes::lacks(std::uint64_t bytes) const noexcept {
  if (begun_ || no_more_) return false;
  const int count = count_.load(std::memory_order_relaxed);
  if (count == 0) return true;
  const std::uint64_t has = lanes_[static_cast<std::size_t>(count) - 1].slot_bytes();
  return count < LaneUse::most_lanes && has < std::min(bytes, most_);
}

void ReceiveLanes::begin(GpuLaneMemory& memory, const peer::LaneShape& shape) {
  no_more_ = true;  // unless all goes well
  devices_ = &memory.devices();
  const GpuLaneMemory::OnDevice& on = memory.on(device_);
  arena_ = on.arena.get();
  copies_ = on.copies;
  begun_ = arena_->begin_allocate(DeviceLane::bytes_for(shape));
  begun_shape_ = shape;
  no_more_ = false;
}

std::optional<ReceiveLanes::Made> ReceiveLanes::finish() {
  if (!begun_ || !arena_->idle()) return std::nullopt;
  no_more_ = true;  // unless all goes well
  const std::shared_ptr<std::byte> block = std::exchange(begun_, nullptr);
  const LaneRecord record{
      peer_gpu::expose(*devices_, block.get(), DeviceLane::bytes_for(begun_shape_)),
      last_told_ + 1};
  const auto place = static_cast<std::size_t>(count_.load(std::memory_order_relaxed));
  owners_[place] = block;
  lanes_[place] = DeviceLane(block.get(), begun_shape_);
  count_.store(static_cast<int>(place) + 1, std::memory_order_release);
  no_more_ = false;
  return Made{begun_shape_, record};
}

void ReceiveLanes::use(LaneUse& lane, Number number) noexcept {
  last_told_ = std::max(last_told_, number);
  lane.number = number;
  const int count = count_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    lane.place[i] = lanes_[i].place_of(number);
    lane.slots[i] = lanes_[i].slots();
  }
}

void ReceiveLanes::copy(void* to, const void* from, std::uint64_t bytes) {
  const device::gpu::DeviceGuard guard(device_);
  const device::gpu::RelaxedCaptures relaxed;
  device::gpu::check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, copies_),
                     "cudaMemcpyAsync");
  device::gpu::check(cudaStreamSynchronize(copies_), "cudaStreamSynchronize");
}

std::optional<ReceiveLanes::Head> ReceiveLanes::find(Number number) {
  const int count = count_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    const DeviceLane& lane = lanes_[i];
    Head head;
    head.place = lane.place_of(number);
    copy(&head.cells, head.place.head, sizeof head.cells);
    const Word64 flag = protocol::lane::flag_of(number, lane.slots(), lane_flag_bits);
    if (!all_show(head.cells, flag) || !is_of(head.cells[0], number)) continue;
    head.bytes = bytes_of(head.cells[0]);
    if (head.bytes > small_bytes && !all_show(cells_behind(head), flag)) continue;
    return head;
  }
  return std::nullopt;
}

std::vector<Cell> ReceiveLanes::cells_behind(const Head& head) {
  std::vector<Cell> cells(cells_for(head.bytes));
  copy(cells.data(), head.place.behind_head(), cells.size() * sizeof(Cell));
  return cells;
}

std::optional<std::uint64_t> ReceiveLanes::look(Number number) {
  const auto head = find(number);
  if (!head) return std::nullopt;
  return head->bytes;
}

void ReceiveLanes::take(Number number, std::byte* to, std::uint64_t bytes) {
  const auto head = find(number);
  if (!head) throw Error(ErrorKind::internal, "a message has left its lane");
  std::vector<Word64> values;
  const auto add = [&](const Cell& cell) { values.push_back(value_of(cell)); };
  if (head->bytes <= small_bytes)
    std::for_each(std::begin(head->cells) + 1, std::end(head->cells), add);
  else
    std::ranges::for_each(cells_behind(*head), add);
  copy(to, values.data(), std::min(bytes, head->bytes));
  copy(head->place.taken, &number, sizeof number);
}

// ---- Sends

void SendLanes::add(GpuLaneMemory& memory, int owner, const peer::LaneEntry& entry) {
  static_assert(sizeof(LaneRecord) <= sizeof(entry.record));
  const auto record =
      transport::from_wire<LaneRecord>(std::span(entry.record).first(sizeof(LaneRecord)));
  const peer_gpu::MemoryRecord& theirs = record.memory;
  if (!memory.devices().reach(device_, theirs.device_identity).possible)
    throw Error(ErrorKind::transport, "the two GPUs cannot address each other's memory (no P2P)");
  const auto place = static_cast<std::size_t>(count_);
  owners_[place] = memory.remote().reach(owner, device_, theirs.device, theirs.place);
  arena_ = memory.on(device_).arena.get();
  words_[place] = arena_->begin_allocate(entry.shape.slots * sizeof(SenderWords));
  lanes_[place] = DeviceLane(owners_[place].get(), entry.shape);
  firsts_[place] = record.first;
  ++count_;
}

bool SendLanes::use(LaneUse& lane, Number number, std::uint64_t bytes,
                    const std::shared_ptr<QueueWords>& queue, std::uint64_t bundle) {
  if (usable_ < count_ && arena_->idle()) usable_ = count_;
  if (usable_ == 0) return false;
  if (user_ != queue) {
    if (user_ && load(user_->triggered) < bundle_) return false;
    user_ = queue;
    bundle_ = 0;
  }
  if (bundle_ != bundle) {
    bundle_ = bundle;
    first_of_bundle_ = number;
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(usable_); ++i) {
    const DeviceLane& one = lanes_[i];
    if (bytes > one.slot_bytes() || number < firsts_[i]) continue;
    if (number - first_of_bundle_ >= one.slots()) return false;
    lane.number = number;
    lane.place[0] = one.place_of(number);
    lane.slots[0] = one.slots();
    lane.sender = reinterpret_cast<SenderWords*>(words_[i].get());
    lane.cells = one.cells_behind_head();
    return true;
  }
  return false;
}

}  // namespace penstock::enqueued
