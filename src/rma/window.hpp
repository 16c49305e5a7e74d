// SPDX-License-Identifier: Apache-2.0
// An MPI window that takes streams: its members, the pairs with each of them, and the epochs that
// the program has open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <latch>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/no_copy.hpp"
#include "core/queue.hpp"
#include "core/transports.hpp"
#include "group/window_group.hpp"
#include "rma/window_end.hpp"
#include "transport/window.hpp"

namespace penstock::rma {

using Members = std::vector<int>;  // by their rank in the window's group, each once

// What one side of an operation is, as the call has it.
struct OperationShape {
  std::size_t origin_bytes = 0;
  std::size_t target_bytes = 0;
};

class Window : private base::NoCopy {
 public:
  // Collective over the group, which it takes. `unit`: in bytes, of displacements into our part.
  // Throws base::Error on all members.
  Window(std::unique_ptr<group::WindowGroup> group, const transport::WindowMemory& ours, int unit,
         core::Transports& transports);
  // Blocks until all that has been enqueued for it here has ended. The members call detach()
  // before.
  ~Window();

  std::uint64_t number() const noexcept { return number_; }
  const group::WindowGroup& group() const noexcept { return *group_; }
  std::string name() const { return "window " + std::to_string(number_); }
  std::string transport_of(int member) const;

  // ---- Calls of the program. They throw base::Error and then have enqueued and changed nothing.
  void start(Members members);
  // `displacement` in the target's units.
  void add(int target, std::int64_t displacement, const OperationShape& shape,
           const transport::Operation& operation);
  void complete(core::Queue& queue);
  void post(Members members, core::Queue& queue);
  void wait(core::Queue& queue);
  bool accessing() const noexcept { return access_.has_value(); }
  bool exposing() const noexcept { return exposure_.has_value(); }
  // A pair with some member serves no more: all that can be done is to free the window.
  bool spoiled() const noexcept;
  // Throws Error(epoch) while one is open: `call` cannot be made then.
  void refuse_open(const char* call) const;
  // Collective: ends the pairs when all that has been enqueued for them has ended, then waits for
  // the others.
  void detach();

 private:
  struct Peer {
    int world_rank = -1;
    std::size_t bytes = 0;  // of its part
    std::size_t unit = 1;
    std::size_t misalignment = 0;  // of its part's address, modulo 8
    std::string transport;
    transport::WindowReach reach;
    transport::OperationLists lists;
    transport::Operations pending;  // of the epoch that is open
    std::size_t staged = 0;         // what these take of a slot
    WindowEnd* origin = nullptr;
    WindowEnd* target = nullptr;
    bool accessed = false;  // named by the epoch that is open
  };

  void connect(const transport::WindowMemory& ours, core::Transports& transports);
  std::vector<std::size_t> choose(const transport::WindowMemory& ours,
                                  const core::Transports& transports) const;
  std::unique_ptr<WindowEnd> end_of(Role role, const Peer& peer,
                                    std::unique_ptr<transport::Plan> plan) const;
  Peer& peer(int member) noexcept { return *peers_[static_cast<std::size_t>(member)]; }
  std::string label_of(Role role, const Peer& peer) const;
  void check_members(const Members& members) const;
  void check_self(const Members& members) const;
  std::span<core::StreamOperation* const> ends_of(Role role, const Members& members);
  void end_pairs() noexcept;
  [[noreturn]] void refuse(base::ErrorKind kind, const std::string& why) const;

  const std::uint64_t number_;
  std::unique_ptr<group::WindowGroup> group_;
  std::vector<std::unique_ptr<Peer>> peers_;  // by member
  std::shared_ptr<std::latch> ended_;         // our ends that are not gone
  std::optional<Members> access_, exposure_;
  std::vector<core::StreamOperation*> scratch_;
};

}  // namespace penstock::rma
