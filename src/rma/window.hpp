// SPDX-License-Identifier: Apache-2.0
// An MPI window that takes streams: its members, the pairs with each of them, and the epochs that
// the program has open.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/no_copy.hpp"
#include "core/queue.hpp"
#include "core/transports.hpp"
#include "device/gpu.hpp"
#include "group/member_group.hpp"
#include "rma/window_end.hpp"
#include "transport/window.hpp"

namespace penstock::rma {

using Members = std::vector<int>;  // by their rank in the window's group, each once

// What one side of an operation is, as the call has it.
struct OperationShape {
  std::size_t origin_bytes = 0;
  std::size_t target_bytes = 0;
};

struct WindowOptions {
  bool locks = false;                 // several threads may call at once: MPI_THREAD_MULTIPLE
  bool checks = false;                // PENSTOCK_CHECK: promises of posts; one member is enough
  std::chrono::milliseconds timeout;  // PENSTOCK_TIMEOUT, for members that do not come to the end
};

class Window : private base::NoCopy {
 public:
  // Collective over the group, which it takes. `unit`: in bytes, of displacements into our part.
  // Throws base::Error on all members.
  Window(std::unique_ptr<group::MemberGroup> group, const transport::WindowMemory& ours,
         std::int64_t unit, core::Transports& transports, const WindowOptions& options);
  // Blocks until all that has been enqueued for it here has ended. The members call detach()
  // before.
  ~Window();

  std::uint64_t number() const noexcept { return number_; }
  const group::MemberGroup& group() const noexcept { return *group_; }
  std::string name() const { return "window " + std::to_string(number_); }

  // ---- Calls of the program. They throw base::Error and then have enqueued and changed nothing.
  // `promised`: that the posts run before the completes (MPI_MODE_NOCHECK).
  void start(const Members& members, bool promised);
  // The same, where the program's own work on the queue then stores through pointer(): it runs when
  // the targets have posted.
  void start_on(core::Queue& queue, const Members& members, bool promised);
  // A member's part as this rank's streams load and store it; null for one of no bytes.
  void* pointer(int member) const;
  // `displacement` in the target's units.
  void add(int target, std::int64_t displacement, const OperationShape& shape,
           const transport::Operation& operation);
  void complete(core::Queue& queue);
  void post(const Members& members, core::Queue& queue, bool promised);
  void wait(core::Queue& queue);
  // Read without the lock, by every put: who puts has seen the start.
  bool accessing() const noexcept { return access_.open.load(std::memory_order_relaxed); }
  // Throws Error(epoch) while one is open: `call` cannot be made then.
  void refuse_open(const char* call) const;
  // Collective: waits for the others, then ends the pairs when all that has been enqueued for them
  // has ended. Throws Error(timeout), and what until_all_come() throws. Either function may be
  // empty; they are called again and again, one after the other.
  void detach(const std::function<bool()>& until_all_come, const std::function<bool()>& meanwhile);
  // Behind the end of all that has been enqueued, which it waits for: whether our part is the
  // program's again. Otherwise a peer was given up that may still move what it had begun.
  bool part_is_free() noexcept {
    end_pairs({});
    return !exposure_lost_;
  }

 private:
  struct Peer {
    int world_rank = -1;
    std::size_t bytes = 0;         // of its part
    std::size_t unit = 1;          // of displacements
    std::size_t units = 0;         // whole ones in `bytes`
    std::size_t misalignment = 0;  // of its part's address, modulo 8
    transport::WindowReach reach;
    bool posts_are_words = true;  // as in WindowEnds
    transport::OperationLists lists;
    transport::Operations pending;  // of the epoch that is open
    std::size_t eager_bytes = 0;    // what these take of a slot
    WindowEnd* origin = nullptr;
    WindowEnd* target = nullptr;
    bool accessed = false;     // named by the epoch that is open
    std::uint64_t starts = 0;  // of `origin`, when a complete began to enqueue
  };

  // Of the epochs of one role; it keeps its memory from one to the next.
  struct EpochOfRole {
    std::atomic<bool> open{false};
    Members members;
    bool promised = false;  // access: by the program, of the posts
    bool held = false;      // on its queue: an access with stores, a post that is left to its wait
  };

  // MPI lets several threads put into one epoch, and the two roles go by different queues. Where
  // none call at once there is nothing to lock.
  std::unique_lock<std::mutex> lock() const {
    return options_.locks ? std::unique_lock(mutex_) : std::unique_lock<std::mutex>();
  }
  void connect(const transport::WindowMemory& ours, core::Transports& transports);
  std::vector<std::size_t> choose(const transport::WindowMemory& ours,
                                  const core::Transports& transports) const;
  std::unique_ptr<WindowEnd> end_of(Role role, const Peer& peer,
                                    std::unique_ptr<transport::Plan> plan) const;
  Peer& peer(int member) noexcept { return *peers_[static_cast<std::size_t>(member)]; }
  const Peer& peer(int member) const noexcept { return *peers_[static_cast<std::size_t>(member)]; }
  bool is_member(int member) const noexcept {
    return member >= 0 && member < static_cast<int>(peers_.size());
  }
  std::string label_of(Role role, const Peer& peer) const;
  // A pair with some member serves no more: all that can be done is to free the window.
  bool spoiled() const noexcept;
  transport::Promise promise() const noexcept;
  bool posts_are_words(const Members& members) const noexcept;
  bool names_self(const Members& members) const;
  void check_self(const Members& members) const;
  void open_access(const Members& members, bool promised);
  void run_access(core::Queue& queue, transport::AccessStep step);
  std::span<core::StreamOperation* const> ends_of(Role role, const Members& members) noexcept;
  void end_access() noexcept;
  void lose_access() noexcept;
  void lose_exposure() noexcept;
  void end_pairs(const std::function<bool()>& meanwhile) noexcept;
  void require_attached() const;
  void require_access() const;
  transport::Operation operation_at(int target, std::int64_t displacement,
                                    const OperationShape& shape,
                                    const transport::Operation& operation) const;
  void require_origin(int gpu, const transport::Operation& operation);
  void require_served(int target, const transport::Operation& operation) const;
  std::size_t eager_bytes_with(int target, const transport::Operation& operation) const;
  [[noreturn]] void refuse(base::ErrorKind kind, const std::string& why) const;

  const std::uint64_t number_;
  const WindowOptions options_;
  std::unique_ptr<group::MemberGroup> group_;
  std::vector<std::unique_ptr<Peer>> peers_;  // by member
  std::shared_ptr<EndsOfWindow> ends_;        // null behind the end
  bool exposure_lost_ = false;                // of an end that is gone
  mutable std::mutex mutex_;
  EpochOfRole access_, exposure_;
  device::KnownGpuAllocations known_allocations_;      // of the access epoch's origins, on a GPU
  std::uint64_t self_posts_ = 0, self_completes_ = 0;  // that name this rank
  bool lost_ = false;                                  // an epoch of it was on a queue that failed
  bool checks_ = false;                                // promises, of all members alike
  std::vector<core::StreamOperation*> scratch_;
};

}  // namespace penstock::rma
