// SPDX-License-Identifier: Apache-2.0
// The end of a bag that messages are grabbed at, by any number of queues.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "channel/bag_half.hpp"
#include "channel/bag_lane.hpp"

namespace penstock::core {
class MatchedRequest;
}

namespace penstock::channel {

// What a grab writes, as PST_Grabbed has it.
struct Grabbed {
  int slot = -1;
  int rank = -1;
  std::int64_t count = 0;
};

class BagPlan final : public BagHalf {
 public:
  // `lanes` are matched when calls come; `ranks` are their sources in the communicator.
  BagPlan(const BagShape& shape, std::span<core::MatchedRequest* const> lanes,
          std::span<const int> ranks);

  // Throws RequestError while a lane is not matched. Then calls may come.
  void require_lanes() {
    if (!has_lanes_.load(std::memory_order_acquire)) take_lanes();
  }
  // check() and require_lanes() have passed.
  void grab(Grabbed* grabbed, const std::shared_ptr<device::Stream>& stream,
            transport::Sink& queue) {
    push(&grab_step, grabbed, 0, stream, queue);
  }
  void release(const Grabbed* grabbed, const std::shared_ptr<device::Stream>& stream,
               transport::Sink& queue) {
    push(&release_step, const_cast<Grabbed*>(grabbed), 0, stream, queue);
  }

  std::string missing() const override;
  std::string path() const override;

 private:
  struct Port;

  static bool grab_step(device::host::Command& command) noexcept;
  static bool release_step(device::host::Command& command) noexcept;
  bool try_grab(Grabbed& grabbed) noexcept;
  void release(const Grabbed& grabbed) noexcept;
  void take_lanes();
  // Null: it is not matched.
  BagLane* find_lane(std::size_t source) const noexcept;
  std::optional<base::Error> hopeless() const override;
  void tell(std::uint64_t closed) noexcept override;
  bool close_now() noexcept override;

  const BagShape shape_;
  const std::span<core::MatchedRequest* const> lanes_;
  const std::span<const int> ranks_;
  std::once_flag lanes_taken_;
  std::vector<BagLane*> taken_lanes_;  // all of them, when there are any
  std::atomic<bool> has_lanes_{false};
  std::atomic<std::uint32_t> next_{0};  // where the next look begins
  bool closed_ = false;
};

}  // namespace penstock::channel
