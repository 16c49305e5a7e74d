// SPDX-License-Identifier: Apache-2.0
// What collectives without messages ask of a transport, by one of two protocols: the direct
// exchange, in which every member has something for each other one in every epoch
// (protocol/rally.hpp), and delivery into the receivers' buffers (protocol/delivery.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "transport/combination.hpp"
#include "transport/message.hpp"
#include "transport/plan.hpp"

namespace penstock::transport {

enum class GroupWay : std::uint8_t {
  slots,     // the direct exchange
  put_lock,  // delivery, to each member as soon as it may be
  put_fence  // delivery between two barriers of all
};

// Between us and one member.
struct GroupBlock {
  const std::byte* from = nullptr;  // what goes to it
  std::size_t bytes_to = 0;
  std::byte* to = nullptr;  // where what comes from it goes
  std::size_t bytes_from = 0;
};

struct GroupMessage {
  std::vector<int> members;  // world ranks
  std::size_t me = 0;        // which of them
  GroupWay way = GroupWay::slots;
  bool in_place = false;  // what goes lies where what comes goes
  MemoryKind memory = MemoryKind::host;
  int gpu = -1;                    // whose memory it is, where it is a GPU's
  std::vector<GroupBlock> blocks;  // by member, with ours to ourselves
  // How all that comes is combined, in the order of the members: then it is of one length, and the
  // result has one place. Without, each block goes to its own.
  std::optional<Combination> combination;
};

// Our part of it until all have agreed on it. Nobody uses a plan before that, so
// destroying it, or the plan, frees what it holds.
class GroupOffer {
 public:
  virtual ~GroupOffer() = default;
  virtual WireRecord record() const = 0;
  // `records` are those of all members, in their order. Others may not have connected yet. Throws
  // Error.
  virtual std::unique_ptr<Plan> connect(std::span<const WireRecord> records) = 0;
};

}  // namespace penstock::transport
