// SPDX-License-Identifier: Apache-2.0
#include "rma/window.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/backoff.hpp"

namespace penstock::rma {

using base::Error;
using base::ErrorKind;
using transport::AccessStep;
using transport::Operation;
using transport::Verb;
using transport::WindowReach;

namespace {

// What an operation takes of a slot, at most.
constexpr std::size_t eager_bytes_of(const Operation& operation) noexcept {
  return operation.verb == Verb::get ? 0 : operation.bytes + WindowReach::eager_header;
}

using Ends = std::span<core::StreamOperation* const>;

// Their queue has failed and is gone.
bool is_off_queue(Ends ends) noexcept {
  return !ends.empty() && ends.front()->started_on == nullptr;
}

void forget(Ends ends) noexcept {
  for (core::StreamOperation* const end : ends)
    if (end->started_on) end->started_on->forget(*end);
}

}  // namespace

void Window::refuse(ErrorKind kind, const std::string& why) const {
  throw Error(kind, name() + ": " + why);
}

void Window::require_attached() const {
  if (!ends_) refuse(ErrorKind::window, "it has been freed here, and not by all members");
  if (lost_)
    refuse(ErrorKind::transport,
           "it was given up when a queue failed in one of its epochs: free it on all its members, "
           "and make a new one");
}

void Window::require_access() const {
  if (!access_.open)
    refuse(ErrorKind::epoch, "no access epoch is open: MPI_Win_start with PST_MODE_STREAM first");
}

// ---- Access

void Window::start(const Members& members, bool promised) {
  const auto held = lock();
  open_access(members, promised);
  access_.open.store(true, std::memory_order_relaxed);
}

// Until the complete its ends stay on the queue: so that is where it has to come, in the same
// capture, and the queue is not freed before. What the program stores does not wait for the end of
// a batch.
void Window::start_on(core::Queue& queue, const Members& members, bool promised) {
  const auto held = lock();
  if (!posts_are_words(members))
    refuse(
        ErrorKind::unsupported,
        "PST_Win_start_stream is served between processes of a host alone: use MPI_Win_start with "
        "PST_MODE_STREAM, and MPI_Put");
  open_access(members, promised);
  try {
    check_self(members);
    run_access(queue, AccessStep::open);
  } catch (...) {
    if (queue.failed() || spoiled())
      lose_access();
    else
      end_access();
    throw;
  }
  const auto ends = ends_of(Role::origin, members);
  for (core::StreamOperation* const end : ends) {
    end->take_back_start();
    if (queue.in_batch()) end->launch_gathered();
  }
  queue.hold(ends.size(), ends.data());
  access_.held = true;
  access_.open.store(true, std::memory_order_relaxed);
}

void* Window::pointer(int member) const {
  const auto held = lock();
  require_attached();
  if (!is_member(member))
    refuse(ErrorKind::argument,
           fmt::format("there is no member {}: it has {}", member, peers_.size()));
  const Peer& of = peer(member);
  if (of.bytes == 0) return nullptr;
  if (of.reach.address == nullptr)
    refuse(ErrorKind::unsupported,
           fmt::format("this rank cannot load and store the memory of member {}: make the window "
                       "with PST_Win_allocate",
                       member));
  return of.reach.address;
}

void Window::open_access(const Members& members, bool promised) {
  require_attached();
  if (access_.open)
    refuse(ErrorKind::epoch,
           "an access epoch is open: enqueue PST_Win_complete_stream before the next "
           "MPI_Win_start");
  access_.members = members;
  access_.promised = promised;
  access_.held = false;
  known_allocations_.forget();
  for (const int member : members) peer(member).accessed = true;
}

// A kernel that touches memory that its GPU cannot reach takes the GPU's context along. The driver
// is asked once an allocation and epoch.
void Window::require_origin(int gpu, const Operation& operation) {
  if (gpu < 0 || operation.bytes == 0) return;
  const device::GpuAllocation origin = known_allocations_.find(operation.origin);
  if (!origin.on_all && origin.device != gpu)
    refuse(ErrorKind::unsupported,
           fmt::format(
               "the origin's buffer is not in memory of GPU {}, where this rank's window is", gpu));
}

void Window::add(int target, std::int64_t displacement, const OperationShape& shape,
                 const Operation& operation) {
  const auto held = lock();
  require_access();
  if (!is_member(target) || !peer(target).accessed)
    refuse(ErrorKind::epoch,
           fmt::format("member {} is not in the group of the access epoch that is open", target));
  Peer& to = peer(target);
  const Operation whole = operation_at(target, displacement, shape, operation);
  require_origin(to.reach.gpu, whole);
  require_served(target, whole);
  const std::size_t eager = eager_bytes_with(target, whole);
  to.pending.push_back(whole);
  to.eager_bytes = eager;
}

Operation Window::operation_at(int target, std::int64_t displacement, const OperationShape& shape,
                               const Operation& operation) const {
  const Peer& to = peer(target);
  if (shape.origin_bytes != shape.target_bytes)
    refuse(ErrorKind::argument,
           fmt::format("{} bytes at the origin and {} at the target: name as many on both sides",
                       shape.origin_bytes, shape.target_bytes));
  // Units and bytes of the target, so that nothing below can overflow.
  const bool inside =
      displacement >= 0 && static_cast<std::uint64_t>(displacement) <= to.units &&
      shape.target_bytes <= to.bytes - static_cast<std::uint64_t>(displacement) * to.unit;
  if (!inside)
    refuse(ErrorKind::range,
           fmt::format("{} bytes at displacement {} (units of {} bytes) are beyond the {} bytes of "
                       "member {}",
                       shape.target_bytes, displacement, to.unit, to.bytes, target));
  Operation whole = operation;
  whole.bytes = shape.target_bytes;
  whole.displacement = static_cast<std::size_t>(displacement) * to.unit;
  return whole;
}

void Window::require_served(int target, const Operation& operation) const {
  const Peer& to = peer(target);
  if (operation.verb == Verb::get && !to.reach.direct)
    refuse(ErrorKind::unsupported,
           fmt::format("a get from member {}, whose memory this rank cannot load: make the window "
                       "with PST_Win_allocate",
                       target));
  if (operation.verb == Verb::accumulate &&
      (operation.displacement + to.misalignment) % bytes_of(operation.element) != 0)
    refuse(ErrorKind::unsupported, "an accumulate into elements that are not aligned");
}

// What the epoch's operations take of a slot, with this one.
std::size_t Window::eager_bytes_with(int target, const Operation& operation) const {
  const Peer& to = peer(target);
  const bool is_direct = operation.verb == Verb::accumulate ? to.reach.atomic : to.reach.direct;
  if (is_direct) return to.eager_bytes;
  const std::size_t eager = to.eager_bytes + eager_bytes_of(operation);
  if (to.reach.eager_bytes == 0)
    refuse(ErrorKind::unsupported,
           fmt::format("an accumulate towards member {}, whose GPU this rank's reaches without "
                       "atomic operations",
                       target));
  if (eager > to.reach.eager_bytes)
    refuse(ErrorKind::resources,
           fmt::format("the operations towards member {} take {} bytes of a slot of {}: use "
                       "PST_Win_allocate, raise PENSTOCK_RMA_EAGER, or complete more often",
                       target, eager, to.reach.eager_bytes));
  return eager;
}

bool Window::names_self(const Members& members) const {
  return std::find(members.begin(), members.end(), group_->rank()) != members.end();
}

// The complete would wait for a post that stands behind it, or nowhere.
void Window::check_self(const Members& members) const {
  if (names_self(members) && self_completes_ >= self_posts_)
    refuse(ErrorKind::epoch,
           "this rank is a target of its own: enqueue its PST_Win_post_stream before "
           "PST_Win_complete_stream, or PST_Win_start_stream");
}

transport::Promise Window::promise() const noexcept {
  using transport::Promise;
  if (!access_.promised) return Promise::none;
  return checks_ ? Promise::checked : Promise::taken;
}

bool Window::posts_are_words(const Members& members) const noexcept {
  return std::all_of(members.begin(), members.end(),
                     [this](int member) { return peer(member).posts_are_words; });
}

std::span<core::StreamOperation* const> Window::ends_of(Role role,
                                                        const Members& members) noexcept {
  scratch_.clear();
  for (const int member : members)
    scratch_.push_back(role == Role::origin ? peer(member).origin : peer(member).target);
  return scratch_;
}

// The lists go on, then the calls of the ends that carry them out.
void Window::run_access(core::Queue& queue, AccessStep step) {
  const auto ends = ends_of(Role::origin, access_.members);
  std::size_t pushed = 0;
  try {
    for (; pushed < access_.members.size(); ++pushed) {
      Peer& to = peer(access_.members[pushed]);
      to.lists.push(to.pending, promise(), step);
      to.starts = to.origin->starts();
    }
    if (step == AccessStep::close)
      queue.run_held(ends.size(), ends.data());
    else
      queue.run(ends.size(), ends.data());
  } catch (...) {
    // What has been enqueued in spite of the error is read by its stream.
    while (pushed-- > 0) {
      Peer& to = peer(access_.members[pushed]);
      if (to.origin->starts() == to.starts) to.lists.take_back(to.pending);
    }
    throw;
  }
}

void Window::complete(core::Queue& queue) {
  const auto held = lock();
  require_access();
  check_self(access_.members);
  if (access_.held && is_off_queue(ends_of(Role::origin, access_.members))) {
    lose_access();
    require_attached();
  }
  try {
    run_access(queue, access_.held ? AccessStep::close : AccessStep::whole);
  } catch (...) {
    if (queue.failed() || spoiled()) lose_access();
    throw;
  }
  if (names_self(access_.members)) ++self_completes_;
  end_access();
}

void Window::lose_access() noexcept {
  lost_ = true;
  if (access_.held) forget(ends_of(Role::origin, access_.members));
  end_access();
}

void Window::end_access() noexcept {
  for (const int member : access_.members) {
    Peer& to = peer(member);
    to.accessed = false;
    to.eager_bytes = 0;
    to.pending.clear();
  }
  access_.open.store(false, std::memory_order_relaxed);
}

// ---- Exposure

// A post that is promised to run before the completes need tell nobody: its work is left to its
// wait, in whose launch it costs nothing, and which serves origins that look all the same. In a
// batch it costs nothing where it stands, a check wants it there, and so does a complete towards
// this rank itself.
void Window::post(const Members& members, core::Queue& queue, bool promised) {
  const auto held = lock();
  require_attached();
  if (exposure_.open)
    refuse(ErrorKind::epoch,
           "an exposure epoch is open: enqueue PST_Win_wait_stream before the next "
           "PST_Win_post_stream");
  exposure_.members = members;
  const auto ends = ends_of(Role::target, members);
  exposure_.held =
      promised && posts_are_words(members) && !checks_ && !queue.in_batch() && !names_self(members);
  if (exposure_.held) {
    queue.refuse_start(ends.size(), ends.data());
    queue.hold(ends.size(), ends.data());
  } else {
    queue.start(ends.size(), ends.data());
  }
  if (names_self(members)) ++self_posts_;
  exposure_.open.store(true, std::memory_order_relaxed);
}

void Window::wait(core::Queue& queue) {
  const auto held = lock();
  if (!exposure_.open)
    refuse(ErrorKind::epoch, "no exposure epoch is open: PST_Win_post_stream first");
  const auto ends = ends_of(Role::target, exposure_.members);
  if (is_off_queue(ends)) {
    lose_exposure();
    require_attached();
  }
  try {
    if (exposure_.held)
      queue.run_held(ends.size(), ends.data());
    else
      queue.wait(ends.size(), ends.data());
  } catch (...) {
    if (queue.failed() || spoiled()) lose_exposure();
    throw;
  }
  exposure_.open.store(false, std::memory_order_relaxed);
}

// Where communication has failed no wait can be enqueued any more.
void Window::lose_exposure() noexcept {
  lost_ = true;
  forget(ends_of(Role::target, exposure_.members));
  exposure_.open.store(false, std::memory_order_relaxed);
}

void Window::refuse_open(const char* call) const {
  const auto held = lock();
  if (access_.open)
    refuse(ErrorKind::epoch, fmt::format("{} while an access epoch of streams is open: enqueue "
                                         "PST_Win_complete_stream first",
                                         call));
  if (exposure_.open)
    refuse(ErrorKind::epoch, fmt::format("{} while an exposure epoch of streams is open: enqueue "
                                         "PST_Win_wait_stream first",
                                         call));
}

bool Window::spoiled() const noexcept {
  return ends_ && std::any_of(peers_.begin(), peers_.end(), [](const auto& peer) {
           return peer->origin->pair_state() != transport::PairState::serves ||
                  peer->target->pair_state() != transport::PairState::serves;
         });
}

// ---- The end

// What is enqueued may need MPI's progress, here or at a peer that waits for us in a call of MPI.
void Window::end_pairs(const std::function<bool()>& meanwhile) noexcept {
  if (!ends_) return;
  for (const auto& peer : peers_)
    for (WindowEnd* end :
         {std::exchange(peer->origin, nullptr), std::exchange(peer->target, nullptr)}) {
      if (end == nullptr) continue;
      if (end->started_on) end->started_on->forget(*end);
      core::StreamOperation::close(end);
    }
  base::Backoff backoff(std::chrono::microseconds(0));
  while (ends_->living.load(std::memory_order_acquire) > 0) {
    if (meanwhile) meanwhile();
    backoff.pause();
  }
  exposure_lost_ = ends_->exposure_lost.load(std::memory_order_relaxed);
  ends_.reset();
}

// All come before any pair ends: a member that is late may still have epochs with others, and would
// take an end for a failure.
void Window::detach(const std::function<bool()>& until_all_come,
                    const std::function<bool()>& meanwhile) {
  for (const auto& peer : peers_)
    for (WindowEnd* end : {peer->origin, peer->target})
      if (end != nullptr) end->launch_gathered();  // others may wait for it before they come
  if (!group_->meet(options_.timeout, until_all_come))
    refuse(ErrorKind::timeout,
           fmt::format("MPI_Win_free is collective, and PENSTOCK_TIMEOUT={} has passed before all "
                       "members have called it",
                       std::chrono::duration<double>(options_.timeout).count()));
  end_pairs(meanwhile);
}

}  // namespace penstock::rma
