// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernel_plan.hpp"

#include <fmt/format.h>

#include <exception>

#include "gpu/board.hpp"
#include "gpu/watch.hpp"

namespace penstock::gpu {

using base::Error;

std::uint32_t KernelPlan::enter(Watch& watch) {
  watch_ = &watch;
  return watch.add(*this);
}

void KernelPlan::leave_watch() noexcept {
  if (watch_ != nullptr) watch_->remove(*this);
}

Board& KernelPlan::board_on(device::Stream& stream, transport::Sink& sink) noexcept {
  auto& cuda_stream = static_cast<device::gpu::Stream&>(stream);
  end_on(cuda_stream).enqueued(cuda_stream);
  auto& board = static_cast<Board&>(*cuda_stream.attachment());
  board_.store(&board, std::memory_order_relaxed);
  board.report_to(sink);
  return board;
}

void KernelPlan::hand_over(device::Stream* last, device::Stream& next) {
  if (last == nullptr) return;
  try {
    auto& next_stream = static_cast<device::gpu::Stream&>(next);
    end_on(next_stream).order(static_cast<device::gpu::Stream&>(*last), next_stream);
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{}: {}", label(), error.text()));
  }
}

void KernelPlan::wait_flushed(device::Stream& stream) noexcept {
  const auto& cuda_stream = static_cast<device::gpu::Stream&>(stream);
  end_on(cuda_stream).record(cuda_stream);
}

void KernelPlan::release(const Error& error) noexcept {
  Board* const board = board_.load(std::memory_order_relaxed);
  if (board == nullptr) return;
  board->abort(base::error_by(error.kind(), [&] { return fmt::format("{}: {}", label(), error.text()); }));
}

void KernelPlan::forget(const Board& board) noexcept {
  if (used_on(board)) board_.store(nullptr, std::memory_order_relaxed);
}

}  // namespace penstock::gpu
