// SPDX-License-Identifier: Apache-2.0
// A wait that lasts tells the host so, and looks now and then what the host, and other waits, ask
// of it.
#pragma once

#include "gpu/reports.cuh"

namespace penstock::gpu {

// What a wait that lasts is asked: to go on; to leave its place, as more blocks wait on the device
// than there is room for; to end, as the host says.
enum class Request : std::uint32_t { go_on, leave, end };

// One thread's. Time is what counts, not polls; but the clock is read only every so many polls,
// since it costs more.
//
// What is asked for lies in the host's memory, across the bus, where the reads of one word stand in
// a row. When each warp of a large wait read it every 100 us, a wait that had lasted so long lasted
// as long again for these reads. So did the peer's wait for the answer, with its own reads, and so
// on: one delay made every later message slow (docs/performance.md). So the first warp of a block
// asks often, and the others seldom and at different times: they matter only where the first one
// has found what it waits for.
class PollTimer {
 public:
  // `awaited`: a word of the plan's own in the host's memory, for the epoch of a wait that lasts.
  __device__ PollTimer(const Reports& reports, std::uint32_t id, Word64& awaited, Word64 epoch)
      : report_(&reports.report), awaited_(&awaited), id_(id), epoch_(epoch) {}

  static constexpr unsigned polls_between = 16;

  // Called after every polls_between polls that have found nothing.
  __device__ Request late() {
    const Word64 now = nanoseconds();
    if (since_ == 0) since_ = last_ = now;
    // In blocks of programs, rows and layers too.
    const unsigned warp =
        (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) / 32;
    if (now - last_ < (warp == 0 ? interval : (64 + warp) * interval)) return Request::go_on;
    last_ = now;
    if (SystemWord(report_->abort).load(::cuda::memory_order_relaxed) != 0) return Request::end;
    if (now - since_ >= worth_a_line) tell();
    return Request::go_on;
  }

  // Likewise in a block that leaves where there is no room, which its first thread finds out for
  // all of them. They share `request`, go_on at first.
  __device__ Request late(std::uint32_t& request) {
    volatile std::uint32_t& shared = request;
    const Request own = late();
    if (own == Request::end) return own;
    if (threadIdx.x == 0 && last_ != asked_) {
      asked_ = last_;
      shared = static_cast<std::uint32_t>(crowded() ? Request::leave : Request::go_on);
    }
    return static_cast<Request>(shared);
  }

  __device__ void ended() {
    if (counts_) DeviceWord(*report_->crowd).fetch_add(~Word64{0}, ::cuda::memory_order_relaxed);
    if (told_ && SystemWord(report_->waiting).load(::cuda::memory_order_relaxed) == id_ + 1u)
      SystemWord(report_->waiting).store(0, ::cuda::memory_order_relaxed);
    counts_ = told_ = false;
  }

 private:
  static constexpr Word64 interval = 100'000;
  static constexpr Word64 worth_a_line = 1'000'000;

  // Of several pairs that are waited for, one is named: which one, where two do so at a time, does
  // not matter.
  __device__ void tell() {
    SystemWord waiting(report_->waiting);
    if (waiting.load(::cuda::memory_order_relaxed) != 0) return;
    SystemWord(*awaited_).store(epoch_, ::cuda::memory_order_relaxed);
    waiting.store(id_ + 1u, ::cuda::memory_order_release);  // the epoch comes first
    told_ = true;
  }

  // Whether more blocks wait for long than there is room for.
  __device__ bool crowded() {
    const DeviceWord crowd(*report_->crowd);
    if (!counts_) {
      crowd.fetch_add(1, ::cuda::memory_order_relaxed);
      counts_ = true;
    }
    return crowd.load(::cuda::memory_order_relaxed) >
           ::cuda::atomic_ref<std::uint32_t, ::cuda::thread_scope_system>(report_->room)
               .load(::cuda::memory_order_relaxed);
  }

  Report* report_;
  Word64* awaited_;
  std::uint32_t id_;
  Word64 epoch_;
  Word64 since_ = 0;
  Word64 last_ = 0;
  Word64 asked_ = 0;
  bool told_ = false;
  bool counts_ = false;
};

}  // namespace penstock::gpu
