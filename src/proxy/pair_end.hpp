// SPDX-License-Identifier: Apache-2.0
// One half of a matched pair, and the persistent requests behind it: a buffered send has one for
// each library buffer, every other half has one.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <optional>
#include <string>

#include "plan/packed.hpp"
#include "proxy/elements.hpp"
#include "proxy/end.hpp"
#include "transport/message.hpp"

namespace penstock::proxy {

class PairEnd final : public End {
 public:
  // `send_mode`: the sender's. Makes the requests; throws base::Error and leaves nothing behind.
  PairEnd(const transport::Message& message, protocol::Mode send_mode, const AnswerRecord& name,
          unsigned slots, MPI_Comm communicator);

  bool buffered() const noexcept { return sends() && mode == protocol::Mode::buffered; }
  std::size_t buffers() const noexcept { return operations.size(); }
  MpiSlot& operation(protocol::Epoch epoch) noexcept {
    return operations[epoch % operations.size()];
  }

  // ---- The worker's side
  plan::Packed& packed() noexcept { return packed_; }
  // Copies the message of a buffered send.
  std::optional<base::Error> fill(protocol::Epoch epoch);
  // Whether it is over as far as the words tell, with a peer that has not gone.
  bool wait_is_over(protocol::Epoch epoch) const noexcept { return buffered() || complete(epoch); }
  std::string describe() const;
  std::string describe_given_up() const;
  static std::string path() { return "proxy (messages of MPI)"; }
  // Whether the buffer here of a buffered send's message of that epoch is free.
  bool buffer_free(protocol::Epoch epoch) noexcept {
    return !operation(epoch).taken.load(std::memory_order_acquire);
  }

  // ---- The side of progress, under the engine's lock
  void issue(ProxyEngine& engine) noexcept override;
  void ended(MpiSlot& slot, ProxyEngine& engine) noexcept override;
  // A sender may wait for our notice, which our program need not give. Buffered sends are the
  // library's own, and go on.
  bool parts_by_itself() const noexcept override {
    return !sends() && mode != protocol::Mode::buffered;
  }
  bool untouched() const noexcept override {
    return buffered() || packed_.has_room() || End::untouched();
  }
  void give_back(Tags& tags) noexcept override;
  void leave_memory() noexcept override { packed_.leave_room(); }
  // Of a pair in order only buffered sends can be under way; those go on without us.
  protocol::Epoch first_given_up(protocol::Epoch) const noexcept override {
    return buffered() ? closed.load(std::memory_order_relaxed) : 1;
  }
  void take_credits(const Notice& theirs) noexcept {
    taken = theirs.messages;
    credits_asked = false;
  }
  bool credits_known() const noexcept { return !credits_asked; }
  // Whether the receiver has taken what stood in that epoch's buffer, as it said last.
  bool room(protocol::Epoch epoch) const noexcept { return taken + operations.size() >= epoch; }

  const protocol::Mode mode;
  void* const buffer;
  const device::MemoryKind memory;
  const std::size_t bytes;
  const Elements elements;  // that MPI is given

  // Progress only.
  bool credits_asked = false;  // the answer has not come
  protocol::Epoch taken = 0;   // what it said last

 private:
  void* memory_of(const MpiSlot& operation);
  void make_request(MpiSlot& operation, void* from);

  const MPI_Comm communicator_;
  plan::Packed packed_;
};

}  // namespace penstock::proxy
