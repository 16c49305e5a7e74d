// SPDX-License-Identifier: Apache-2.0
// One end of a matched pair: how its messages are cut, and its slots.
//
//   sender    the trigger waits for a rendezvous's CTS, too; the last write that is placed ends an
//             epoch
//   receiver  of a rendezvous: each start adds to CTS at the sender; the last write that arrives
//             ends an epoch
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "ofi/end.hpp"
#include "ofi/pair_memory.hpp"

namespace penstock::ofi {

class PairEnd final : public End {
 public:
  PairEnd(Common& common, const transport::Message& message, protocol::Mode send_mode,
          const Cut& cut,
          fi_addr_t peer);  // throws Error
  ~PairEnd() override;

  bool buffered() const noexcept override { return sends() && mode == protocol::Mode::buffered; }
  PairMemory& memory() noexcept { return memory_; }
  const plan::Packed& packed() const noexcept { return memory_.packed(); }

  // ---- The worker's side
  // Ring: whether the slot of that epoch is free.
  bool room(protocol::Epoch epoch) const noexcept {
    return std::max(load(words().consumed), load(words().seen)) + cut.slots >= epoch;
  }
  // Buffered sends: whether that epoch's buffer here and its slot there are free.
  bool buffer_free(protocol::Epoch epoch) const noexcept {
    return room(epoch) && (epoch <= cut.slots || complete(epoch - cut.slots));
  }
  unsigned buffers() const noexcept { return cut.slots; }
  // Copies the message of a buffered send.
  std::optional<base::Error> fill(protocol::Epoch epoch) noexcept {
    memory_.fill_slot(epoch);
    return std::nullopt;
  }
  // Whether it is over as far as the words tell, with a peer that has not gone.
  bool wait_is_over(protocol::Epoch epoch) const noexcept {
    if (buffered()) return true;
    if (!complete(epoch)) return false;
    return !sends() || !in_slots() || room(epoch + 1);
  }
  // Returns true when progress has something to do for that.
  bool end_wait(protocol::Epoch epoch) noexcept {
    if (sends() || !in_slots()) return false;
    memory_.empty_slot(epoch);
    return true;  // the slot is given back
  }
  std::string describe() const;
  std::string path() const;

  // ---- The side of progress, under the engine's lock
  unsigned entries() const noexcept override;
  unsigned post() noexcept override;
  // Buffered sends: has what the receiver has taken read from its memory; credits_known() tells
  // when that is done. False: it cannot be read now.
  bool query_credits() noexcept;
  bool credits_known() const noexcept { return !credits_.query.under_way; }
  bool arrived(protocol::Epoch epoch) const noexcept override {
    return read(counters_.data) >= data_through(epoch);
  }
  bool has_work() const noexcept override;
  void failed(RdmaOperation& operation, int code) noexcept override;

  const protocol::Mode mode;
  const Cut cut;

 private:
  static Form form_of(transport::Direction direction, const Cut& cut) noexcept;
  bool in_slots() const noexcept { return cut.path == Path::ring; }
  bool rendezvous() const noexcept { return cut.path == Path::rendezvous; }
  bool defer_data(protocol::Epoch epoch, unsigned part) noexcept;

  std::uint64_t data_through(protocol::Epoch epoch) const noexcept override {
    return cut.parts * relative(epoch);
  }
  bool is_whole(const PostedPart& part) const noexcept override;
  bool issue_rest() noexcept override;
  std::uint64_t unissued() const noexcept override {
    return sends() ? cut.parts - hand_.issued : 0;
  }
  Target added_word() const noexcept override { return memory_.cts_target(); }
  bool counters_near_limit() const noexcept override {
    return (relative(rung_) + 1) * std::max<std::uint64_t>(2, cut.parts) >= common_.counter_limit;
  }
  // Several epochs of a buffered send may have been started: the engine lets one after the other
  // go.
  bool stream_rings() const noexcept override { return End::stream_rings() && !buffered(); }

  void close_regions() noexcept override { memory_.close_regions(); }
  protocol::Epoch last_begun() const noexcept override {
    return rendezvous() && sends() ? std::min(rung_, load(words().cts)) : rung_;
  }
  // A ready send asks nobody: a receive that has been started is enough, though no pass has seen
  // it.
  protocol::Epoch last_offered() const noexcept override {
    return rendezvous() ? rung_ : started();
  }
  bool moves_program_memory() const noexcept override {
    return !buffered() && (sends() || !in_slots()) && !packed().has_room();
  }
  bool may_part() const noexcept override {
    return protocol::may_part(credits_.count, load(words().taken), credits_.query.under_way,
                              is_writing());
  }
  protocol::Credits credits() const noexcept override { return credits_.count; }
  std::uint64_t credits_here() const noexcept override { return load(words().consumed); }
  bool give_credits() noexcept override;
  bool anything_under_way() const noexcept override;

  // What a ring's receiver gives back, and what a buffered send asks of it.
  struct CreditState {
    protocol::Credits count;
    std::unique_ptr<RdmaOperation[]> operations;  // in turns: as many as there are slots
    RdmaOperation query;
  };

  PairMemory memory_;
  CreditState credits_;
};

}  // namespace penstock::ofi
