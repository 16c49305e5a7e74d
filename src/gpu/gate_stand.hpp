// SPDX-License-Identifier: Apache-2.0
// A stream stands at gates, one after the other, without a kernel (protocol/gate.hpp). The host
// learns at which one it stands, as there is no kernel that could say so.
#pragma once

#include "device/gpu/word_operations.hpp"
#include "gpu/words.hpp"
#include "protocol/gate.hpp"

namespace penstock::gpu {

class GateStand {
 public:
  static constexpr std::size_t most = (device::gpu::WordOperations::most - 1) / 2;

  explicit GateStand(Report& report) noexcept : report_(report) {}
  // `id` is that of its plan in reports. At most `most` gates may be added.
  void add(std::uint32_t id, protocol::gate::GateWords& gate) noexcept {
    operations_.store(report_.gated, id + 1);
    operations_.await(gate.open, 1);
  }
  // Is called on the current device, behind what closes the gates.
  cudaError_t enqueue(cudaStream_t stream) noexcept {
    operations_.store(report_.gated, 0);
    return operations_.enqueue(stream);
  }

 private:
  Report& report_;
  device::gpu::WordOperations operations_;
};

}  // namespace penstock::gpu
