// SPDX-License-Identifier: Apache-2.0
// One half of a pair: the words between a stream's worker and the progress of MPI, and the
// persistent requests behind them.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/first_error.hpp"
#include "plan/active_list.hpp"
#include "plan/packed.hpp"
#include "plan/ready_list.hpp"
#include "protocol/giving_up.hpp"
#include "proxy/elements.hpp"
#include "proxy/notice.hpp"
#include "transport/message.hpp"

namespace penstock::proxy {

class PairEnd;

// One persistent request. A buffered send has one for each library buffer, every other end has
// one.
struct MpiSlot : plan::ActiveItem {  // active: MPI has it
  MPI_Request request = MPI_REQUEST_NULL;
  PairEnd* end = nullptr;
  protocol::Epoch epoch = 0;            // of the start under way
  bool given_up = false;                // active, and of no use any more
  std::unique_ptr<std::byte[]> buffer;  // buffered sends: the library's copy
  std::atomic<bool> taken{false};  // buffered sends: holds a message that has not been received
};

// A notice on its way out, which stays in its place until MPI has taken it.
struct Outgoing {
  Notice notice;
  MPI_Request request = MPI_REQUEST_NULL;
  PairEnd* end = nullptr;  // whose it is, if anybody's
  bool under_way = false;
};

class PairEnd : public plan::ReadyItem<PairEnd> {
 public:
  // `send_mode`: the sender's. Makes the requests; throws base::Error and leaves nothing behind.
  PairEnd(const transport::Message& message, protocol::Mode send_mode, const AnswerRecord& name,
          unsigned slots, MPI_Comm communicator);
  ~PairEnd() = default;  // free_requests() comes first

  EndKey key() const noexcept { return {peer, pair, direction}; }
  bool sends() const noexcept { return direction == transport::Direction::send; }
  bool buffered() const noexcept { return sends() && mode == protocol::Mode::buffered; }
  std::size_t buffers() const noexcept { return operations.size(); }
  MpiSlot& operation(protocol::Epoch epoch) noexcept {
    return operations[epoch % operations.size()];
  }

  // ---- The worker's side
  plan::Packed& packed() noexcept { return packed_; }
  // Copies the message of a buffered send.
  std::optional<base::Error> fill(protocol::Epoch epoch);
  // True: the engine takes any start, and issues none that the peer does not serve.
  bool trigger(protocol::Epoch epoch) noexcept {
    started.store(epoch, std::memory_order_release);
    return true;
  }
  bool complete(protocol::Epoch epoch) const noexcept {
    return completed.load(std::memory_order_acquire) >= epoch;
  }
  // Whether it is over as far as the words tell, with a peer that has not gone.
  bool wait_is_over(protocol::Epoch epoch) const noexcept { return buffered() || complete(epoch); }
  bool end_wait(protocol::Epoch) const noexcept { return false; }  // progress need not hear of it
  std::string describe() const;
  std::string describe_given_up() const;
  static std::string path() { return "proxy (messages of MPI)"; }
  bool closed_before(protocol::Epoch epoch) const noexcept {
    return protocol::closed_before(closed.load(std::memory_order_acquire), epoch);
  }
  // Why start or wait number `epoch` cannot succeed, as far as the words tell.
  std::optional<base::Error> broken(protocol::Epoch epoch) const;
  // Whether the buffer here of a buffered send's message of that epoch is free.
  bool buffer_free(protocol::Epoch epoch) noexcept {
    return !operation(epoch).taken.load(std::memory_order_acquire);
  }

  // ---- The side of progress, under the engine's lock
  void fail(const base::Error& error) noexcept { failure.set(error); }
  void peer_closed(const Notice& theirs) noexcept;
  void free_requests() noexcept;  // of the operations that are not active
  bool any_active() const noexcept;
  // Of what has been given up: MPI neither fetches from nor writes into the program's buffer.
  bool untouched() const noexcept {
    if (buffered() || packed_.has_room()) return true;
    if (!sends()) return !any_active();
    return protocol::send_is_untouched(any_active(), answered);
  }
  bool credits_known() const noexcept { return !credits_asked; }
  // Whether the receiver has taken what stood in that epoch's buffer, as it said last.
  bool room(protocol::Epoch epoch) const noexcept { return taken + operations.size() >= epoch; }

  const transport::Direction direction;
  const protocol::Mode mode;
  const int peer;
  const std::uint64_t pair;
  const int tag;
  void* const buffer;
  const device::MemoryKind memory;
  const std::size_t bytes;
  const Elements elements;  // that MPI is given

  // Written by the worker, read by progress. Release/acquire orders the send buffer's content, or
  // the receive buffer's last use, before MPI touches it.
  alignas(64) std::atomic<protocol::Epoch> started{0};
  // Written by progress, read by the worker. Release/acquire orders the payload before its use, and
  // MPI's last look at the send buffer before it is written again.
  alignas(64) std::atomic<protocol::Epoch> completed{0};
  std::atomic<protocol::Epoch> closed{0};  // first epoch that the peer does not serve; 0: open
  base::FirstError failure;

  // Progress only.
  alignas(64) std::vector<MpiSlot> operations;
  protocol::Epoch issued = 0;
  bool closing = false;        // our half is closed
  bool poisoned = false;       // nothing is issued any more
  bool told = false;           // our notice has been made
  bool owes_notice = false;    // and waits until MPI fetches nothing for us
  bool answered = false;       // send: the peer's notice follows ours
  std::uint64_t messages = 0;  // of the peer's notice
  Outgoing last_notice;
  Outgoing query;              // a credit query of this half, or what it tells the peer's
  bool credits_asked = false;  // the answer has not come
  protocol::Epoch taken = 0;   // what it said last

 private:
  void* memory_of(const MpiSlot& operation);
  void make_request(MpiSlot& operation, void* from);

  const MPI_Comm communicator_;
  plan::Packed packed_;
  base::ErrorKind closed_reason_ = base::ErrorKind::peer_freed;  // written before `closed`
};

}  // namespace penstock::proxy
