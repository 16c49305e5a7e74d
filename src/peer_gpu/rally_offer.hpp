// SPDX-License-Identifier: Apache-2.0
// Our part of a direct exchange between GPUs until all members have agreed on it.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "peer_gpu/halves.hpp"
#include "peer_gpu/rally_plan.hpp"
#include "transport/group.hpp"

namespace penstock::peer_gpu {

struct RallyRecord {
  static constexpr std::size_t most_devices = 16;

  std::uint64_t version = peer::handshake_version;
  gpu::DeviceIdentity device{};
  // GPUs to which lines of 128 bytes go whole from this one, which is among them.
  std::array<gpu::DeviceIdentity, most_devices> whole_lines{};
  gpu::DevicePlace slots;         // all of a member's: those that member 0 fills come first
  peer::ArenaAddress host_words;  // EndWords, one for each member
  std::int32_t device_number = -1;
  std::uint32_t slot_cells = 1;     // of each of a member's slots
  std::uint32_t beside_others = 0;  // its kernels run beside those of other processes
  std::uint32_t asks_lines = 0;     // its messages are so large that they would go in lines
};

transport::Verdict can_rally(const transport::GroupMessage& ours);
// Whether its kernels have code for lines.
bool can_rally_in_lines(const transport::GroupMessage& ours);
// Whether kernels of all members run at the same time.
transport::Verdict can_rally_together(std::span<const transport::WireRecord> records);

class RallyOffer final : public transport::GroupOffer {
 public:
  RallyOffer(Halves& halves, const transport::GroupMessage& ours);  // throws Error

  transport::WireRecord record() const override { return transport::to_wire(record_); }
  std::unique_ptr<transport::Plan> connect(std::span<const transport::WireRecord> records) override;

 private:
  RallyRoute route_to(std::size_t member, const RallyRecord& theirs, RallyForm form);
  void shape(RallyItem& item, RallyForm form) const;

  Halves& halves_;
  const transport::GroupMessage ours_;
  RallyRecord record_;
  RallyParts parts_;
  std::vector<RallyRoute> routes_;
};

}  // namespace penstock::peer_gpu
