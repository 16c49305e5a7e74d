// SPDX-License-Identifier: Apache-2.0
// Both ends of the pairs with one peer of a window in GPU memory, while it is attached.
#pragma once

#include <span>

#include "peer_gpu/halves.hpp"
#include "transport/window.hpp"

namespace penstock::peer_gpu {

struct WindowRecord {
  std::uint64_t version = peer::handshake_version;
  std::uint64_t bytes = 0;           // of the window
  std::uint32_t native_atomics = 0;  // may be used, where the link has them
  GateUse gates = GateUse::none;
  std::uint64_t data_cells = 0;  // of a slot at the target
  EndRecord origin;              // both name the window as their buffer
  EndRecord target;
};

// Whether other processes can map this memory; a window of no bytes needs no mapping.
bool can_expose(const transport::WindowMemory& memory);

class GpuWindow final : public transport::WindowOffer {
 public:
  GpuWindow(Halves& halves, const transport::WindowMemory& ours, int peer);
  ~GpuWindow() override;

  transport::WireRecord record() const override;
  transport::WindowEnds connect(std::span<const std::byte> theirs,
                                transport::OperationLists& lists) override;

 private:
  DevicePair half(EndRecord& end, std::size_t words_bytes);
  bool always_at_gates(const WindowRecord& theirs) const;
  void join(DevicePair& pair, const EndRecord& ours, const EndRecord& theirs, bool always);

  Halves& halves_;
  const int peer_;
  const int device_;
  std::shared_ptr<std::byte> nothing_;  // stands for a window of no bytes
  WindowRecord record_;
  DevicePair origin_, target_;
  // The peer may connect to our halves, and will then say when it is gone.
  mutable bool told_ = false;
};

}  // namespace penstock::peer_gpu
