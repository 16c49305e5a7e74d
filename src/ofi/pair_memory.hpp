// SPDX-License-Identifier: Apache-2.0
// The memory of one end of a pair: its words, its slots and the regions of both, and where the
// peer's are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "ofi/deferred_work.hpp"
#include "ofi/fabric.hpp"
#include "ofi/handshake.hpp"
#include "ofi/pair_counters.hpp"
#include "ofi/word_pool.hpp"
#include "plan/packed.hpp"
#include "protocol/epoch.hpp"
#include "transport/message.hpp"

namespace penstock::ofi {

class PairMemory {
 public:
  struct Owner {
    Fabric& fabric;
    WordPool& words;
    fi_addr_t self;  // this process
    fi_addr_t peer;
  };

  // `buffered`: of a buffered send. Writes into the regions count on `counters`, which outlive
  // this. Throws base::Error.
  PairMemory(const Owner& owner, const transport::Message& message, const Cut& cut, bool buffered,
             const PairCounters& counters);
  // The words serve another end, unless somebody may still write them: then they are lost, which
  // happens after failures alone.
  ~PairMemory();

  OfferRecord offer() const;
  AnswerRecord answer() const;
  void connect(const OfferRecord& sender) noexcept;
  void connect(const AnswerRecord& receiver) noexcept;
  // Late data finds no place any more.
  void close_regions() noexcept;
  // The peer writes these words no more.
  void words_are_free() noexcept { may_be_written_ = false; }

  PairWords& words() const noexcept { return *words_.words; }
  const plan::Packed& packed() const noexcept { return packed_; }
  bool has_slots() const noexcept { return slots_ != nullptr; }
  // Buffered sends: the message into the slot of that epoch. Receivers: out of it.
  void fill_slot(protocol::Epoch epoch) noexcept;
  void empty_slot(protocol::Epoch epoch) noexcept;

  Source source(protocol::Epoch epoch, unsigned part) const noexcept;
  Target target(protocol::Epoch epoch, unsigned part) const noexcept;
  Target cts_target() const noexcept { return {owner_.peer, peer_cts_.address, peer_cts_.key}; }
  Target own_word(const std::uint64_t& word) const noexcept;
  Target remote_word(std::size_t offset) const noexcept;
  // Returns where a read of the peer's word brings it.
  Source landing_word(std::uint64_t& word) const noexcept {
    return {&word, sizeof word, words_.region->descriptor()};
  }

 private:
  void register_memory(const transport::Message& message, const PairCounters& counters);
  std::byte* slot(protocol::Epoch epoch) const noexcept {
    return slots_.get() + epoch % cut_.slots * cut_.slot_bytes();
  }

  const Owner owner_;
  const Cut& cut_;
  plan::Packed packed_;
  const bool sends_;
  const bool buffered_;
  WordPool::Position words_;
  std::byte* place_ = nullptr;          // of the message, where slots do not hold it
  std::unique_ptr<std::byte[]> slots_;  // of a ring's receiver; the copies of a buffered send
  Region source_;                       // where the provider wants it, and of a GPU's memory
  Region landing_;                      // receiver
  Region cts_;                          // sender of a rendezvous
  RemoteAddress peer_words_, peer_landing_, peer_cts_;
  bool may_be_written_ = false;  // the peer knows our words
};

}  // namespace penstock::ofi
