// SPDX-License-Identifier: Apache-2.0
// Halves of pairs over the provider of this machine, moved by hand, so that a test says what
// happens between two steps.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "ofi/pair_end.hpp"
#include "ofi/provider.hpp"

namespace penstock::ofi {

struct Process {
  Fabric fabric{choose_provider({}, {})};
  WordPool words{fabric};
  OperationPool operations{16};
  WordPool::Position constants = words.take();
  fi_addr_t self = fabric.insert(fabric.name());
  Common common{
      .fabric = fabric,
      .words = words,
      .operations = operations,
      .one = {&constants.words->done, sizeof(std::uint64_t), constants.region->descriptor()},
      .self = self,
      .counter_limit = 1u << 30,
      .signals = false};

  Process() { constants.words->done = 1; }
  // What a pass of the engine does with the completion queue.
  void poll() {
    fi_cq_entry entry;
    while (fi_cq_read(fabric.completions(), &entry, 1) == 1) {
      ASSERT_NE(entry.op_context, nullptr);
      RdmaOperation& operation = RdmaOperation::of(entry.op_context);
      operation.owner->ended(operation);
    }
  }
};

// A half whose messages go from, or to, `buffer`, where they lie as `layout` says. It is not
// connected yet.
inline std::unique_ptr<PairEnd> make_pair_end(
    Process& process, transport::Direction direction, std::vector<std::byte>& buffer,
    protocol::Mode mode, const Cut& cut, Process& peer,
    std::shared_ptr<const group::Layout> layout = nullptr) {
  transport::Message message;
  message.direction = direction;
  message.mode = mode;
  message.buffer = buffer.data();
  message.bytes = cut.bytes;
  message.layout = std::move(layout);
  return std::make_unique<PairEnd>(process.common, message, mode, cut,
                                   process.fabric.insert(peer.fabric.name()));
}

}  // namespace penstock::ofi
