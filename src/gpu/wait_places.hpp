// SPDX-License-Identifier: Apache-2.0
// How many kernels may wait on a GPU at once, over all processes that use it. A kernel that waits
// keeps blocks of the device, and a device runs only so many kernels beside each other (128 of them
// on today's).
#pragma once

#include <cstdint>
#include <memory>

namespace penstock::gpu {

// How waits stand on a device: by kernels all of whose blocks stay, by kernels of which one block
// stays, or at gates, without a kernel.
enum class Standing : std::uint8_t { all_stay, one_stays, at_gates };

class WaitPlaces {
 public:
  struct Place {
    Standing standing = Standing::at_gates;
    std::shared_ptr<void> held;  // null: at gates
  };
  virtual ~WaitPlaces() = default;
  // Returns the best place that is left, for a queue and the first graph that is captured on it, or
  // for a further graph. Its waits stand so for as long as the place is held. Any thread may call
  // it, and give the place back.
  enum class User : std::uint8_t { queue, graph };
  virtual Place take(User user) noexcept = 0;
  // Returns a place for one end of a pair; null: there is none left. Its waits are kernels for as
  // long as the place is held, whatever queue it is used on, so its peer need not open gates.
  virtual std::shared_ptr<void> take_for_pair() noexcept = 0;
  // How many blocks of this process may wait for long on the device, so that others find room.
  virtual unsigned room() const noexcept = 0;
};

}  // namespace penstock::gpu
