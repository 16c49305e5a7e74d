// SPDX-License-Identifier: Apache-2.0
// One end of what two processes have between them, a matched pair or a pair of a window: the words
// between a stream's worker and the progress of MPI, the calls of MPI that are under way, and what
// the two ends tell each other when they part.
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
#include "plan/ready_list.hpp"
#include "protocol/epoch.hpp"
#include "proxy/notice.hpp"

namespace penstock::proxy {

class End;
class ProxyEngine;
class Tags;

// One nonblocking call of MPI.
struct MpiSlot : plan::ActiveItem {  // active: MPI has it
  MPI_Request request = MPI_REQUEST_NULL;
  End* end = nullptr;
  protocol::Epoch epoch = 0;  // of the start under way
  std::size_t bytes = 0;      // of the message
  bool receives = false;
  bool lasts = false;     // a send from memory of the library's: it goes on behind its wait
  bool given_up = false;  // active, and of no use any more
  std::unique_ptr<std::byte[]> buffer;  // the library's
  std::atomic<bool> taken{false};  // buffered sends: holds a message that has not been received
};

// A notice on its way out, which stays in its place until MPI has taken it.
struct Outgoing {
  Notice notice;
  MPI_Request request = MPI_REQUEST_NULL;
  End* end = nullptr;  // whose it is, if anybody's
  bool under_way = false;
};

class End : public plan::ReadyItem<End> {
 public:
  virtual ~End() = default;  // free_requests() comes first

  EndKey key() const noexcept { return {peer, pair, direction}; }
  bool sends() const noexcept { return direction == transport::Direction::send; }

  // ---- The worker's side
  // True: the engine takes any start, and issues none that the peer does not serve.
  bool trigger(protocol::Epoch epoch) noexcept {
    started.store(epoch, std::memory_order_release);
    return true;
  }
  bool complete(protocol::Epoch epoch) const noexcept {
    return completed.load(std::memory_order_acquire) >= epoch;
  }
  bool end_wait(protocol::Epoch) const noexcept { return false; }  // progress need not hear of it
  bool closed_before(protocol::Epoch epoch) const noexcept {
    return protocol::closed_before(closed.load(std::memory_order_acquire), epoch);
  }
  // Why start or wait number `epoch` cannot succeed, as far as the words tell.
  std::optional<base::Error> broken(protocol::Epoch epoch) const;

  // ---- The side of progress, under the engine's lock
  // Gives MPI what has been started.
  virtual void issue(ProxyEngine& engine) noexcept = 0;
  // MPI has done what the slot stands for.
  virtual void ended(MpiSlot& slot, ProxyEngine& engine) noexcept = 0;
  // Whether it says by itself that it is gone, as its peer has said so and it serves nothing more.
  virtual bool parts_by_itself() const noexcept = 0;
  // Of what has been given up: MPI neither fetches from nor writes into the program's memory.
  virtual bool untouched() const noexcept;
  // Both ends are gone, and MPI holds nothing.
  virtual void give_back(Tags& tags) noexcept = 0;
  // MPI keeps what it is not done with, for good.
  virtual void leave_memory() noexcept {}
  // When this end goes, which closes at `ours`: what is under way from this epoch on is of no use
  // any more; 0: nothing.
  virtual protocol::Epoch first_given_up(protocol::Epoch ours) const noexcept = 0;

  void fail(const base::Error& error) noexcept { failure.set(error); }
  // Nothing is issued any more.
  void fail(const char* what, int code) noexcept;
  void peer_closed(const Notice& theirs) noexcept;
  void free_requests() noexcept;  // of the slots that are not active
  bool any_active() const noexcept;
  bool receiving() const noexcept;
  bool sending() const noexcept;  // from memory of the program's

  const transport::Direction direction;
  const int peer;
  const std::uint64_t pair;
  const int tag;  // of the messages that begin an epoch

  // Written by the worker, read by progress. Release/acquire orders the program's last use of its
  // memory before MPI touches it.
  alignas(64) std::atomic<protocol::Epoch> started{0};
  // Written by progress, read by the worker. Release/acquire orders the payload before its use, and
  // MPI's last look at the program's memory before it is written again.
  alignas(64) std::atomic<protocol::Epoch> completed{0};
  std::atomic<protocol::Epoch> closed{0};  // first epoch that the peer does not serve; 0: open
  base::FirstError failure;

  // Progress only.
  alignas(64) std::vector<MpiSlot> operations;
  protocol::Epoch issued = 0;
  std::uint64_t sent = 0;      // what a notice tells: see there
  bool closing = false;        // our end is closed
  bool abandoned = false;      // it has never been matched: no notice of the peer's need come
  bool poisoned = false;       // nothing is issued any more
  bool told = false;           // our notice has been made
  bool owes_notice = false;    // and waits until MPI brings nothing for us
  bool answered = false;       // the peer's notice follows ours
  std::uint64_t messages = 0;  // of the peer's notice
  Outgoing last_notice;
  Outgoing query;  // a credit query of this end, or what it tells the peer's

 protected:
  End(const EndKey& name, int its_tag, std::size_t slots);

 private:
  base::ErrorKind closed_reason_ = base::ErrorKind::peer_freed;  // written before `closed`
};

}  // namespace penstock::proxy
