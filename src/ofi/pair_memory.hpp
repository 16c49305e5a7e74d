// SPDX-License-Identifier: Apache-2.0
// The memory of one end of a pair: its slots or the program's buffer, their regions, and where the
// peer's are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "ofi/deferred_work.hpp"
#include "ofi/end_words.hpp"
#include "ofi/fabric.hpp"
#include "ofi/handshake.hpp"
#include "ofi/pair_counters.hpp"
#include "plan/packed.hpp"
#include "protocol/epoch.hpp"
#include "transport/message.hpp"

namespace penstock::ofi {

class PairMemory {
 public:
  // `buffered`: of a buffered send. Writes into the regions count on `counters`, which outlive
  // this, as do `words`. Throws base::Error.
  PairMemory(Fabric& fabric, EndWords& words, const transport::Message& message, const Cut& cut,
             bool buffered, const PairCounters& counters);

  OfferRecord offer() const;
  AnswerRecord answer() const;
  void connect(const OfferRecord& sender) noexcept;
  void connect(const AnswerRecord& receiver) noexcept;
  // Late data finds no place any more.
  void close_regions() noexcept;

  const plan::Packed& packed() const noexcept { return packed_; }
  bool has_slots() const noexcept { return slots_ != nullptr; }
  // Buffered sends: the message into the slot of that epoch. Receivers: out of it.
  void fill_slot(protocol::Epoch epoch) noexcept;
  void empty_slot(protocol::Epoch epoch) noexcept;

  Source source(protocol::Epoch epoch, unsigned part) const noexcept;
  Target target(protocol::Epoch epoch, unsigned part) const noexcept;
  Target cts_target() const noexcept { return {words_.peer(), peer_cts_.address, peer_cts_.key}; }

 private:
  void register_memory(Fabric& fabric, const transport::Message& message,
                       const PairCounters& counters);
  std::byte* slot(protocol::Epoch epoch) const noexcept {
    return slots_.get() + epoch % cut_.slots * cut_.slot_bytes();
  }

  EndWords& words_;
  const Cut& cut_;
  plan::Packed packed_;
  const bool sends_;
  const bool buffered_;
  std::byte* place_ = nullptr;          // of the message, where slots do not hold it
  std::unique_ptr<std::byte[]> slots_;  // of a ring's receiver; the copies of a buffered send
  Region source_;                       // where the provider wants it, and of a GPU's memory
  Region landing_;                      // receiver
  Region cts_;                          // sender of a rendezvous
  RemoteAddress peer_landing_, peer_cts_;
};

}  // namespace penstock::ofi
