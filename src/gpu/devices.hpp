// SPDX-License-Identifier: Apache-2.0
// The GPUs of this process, as far as pairs use them: their arenas, and what one can do with the
// memory of another.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>

#include "gpu/device_arena.hpp"

namespace penstock::gpu {

using vendor::DeviceIdentity;

class Devices {
 public:
  std::shared_ptr<DeviceArena> arena(int device);  // made on first use. Throws Error
  // In its memory, a word in which this process's kernels count their blocks that wait for long.
  // Throws Error.
  std::shared_ptr<std::byte> crowd(int device);
  DeviceIdentity identity(int device) const;
  int device_with(const DeviceIdentity& identity) const;  // -1: this process does not see it
  unsigned processors(int device) const;                  // multiprocessors

  struct DeviceReach {
    bool possible = false;
    bool native_atomics = false;
    // 128 bytes that a warp stores in one instruction are seen all or not at all.
    bool whole_lines = false;
  };
  // From our device to another one. A device that this process does not see may still be mapped: it
  // is tried.
  DeviceReach reach(int device, const DeviceIdentity& other) const;
  // Those to which whole lines go from our device, of all that this process sees; the rest of the
  // list keeps what it has.
  void list_whole_lines(int device, std::span<DeviceIdentity> list) const;
  // Whether they go to all GPUs that this process sees, of which it sees several.
  bool sees_whole_lines(int device) const;
  // Whether the kernels of other processes can run beside ours on the device: by CUDA's
  // multi-process service. A driver that does not know is taken to have it.
  bool runs_beside_others(int device) const noexcept;
  // Lets our two devices address each other's memory, for pairs within this process. Throws
  // Error(transport).
  void connect(int device, int other);
  void finish() noexcept;  // waits until the devices that were used are idle

 private:
  mutable std::mutex mutex_;
  std::map<int, std::shared_ptr<DeviceArena>> arenas_;
  std::map<int, std::shared_ptr<std::byte>> crowds_;
};

}  // namespace penstock::gpu
