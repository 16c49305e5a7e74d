// SPDX-License-Identifier: Apache-2.0
// Messages of communicators whose messages are enqueued at both ends: tried again and again until
// their slot is there, free or filled. All under the engine's lock.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <limits>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "datatype/copy.hpp"
#include "enqueued/engine.hpp"
#include "enqueued/promise.hpp"
#include "enqueued/staged_message.hpp"

namespace penstock::enqueued {

using base::Error;
using base::ErrorKind;
using peer::Lane;
using peer::LaneSlot;

namespace {

void pack(const EnqueuedMessage& message, std::byte* to) noexcept {
  if (message.promised.segments)
    datatype::Walk(message.promised.segments->view())
        .pack(to, message.promised.lowest, 0, message.bytes);
  else if (message.bytes != 0)
    std::memcpy(to, message.promised.lowest, message.bytes);
}

void unpack(const EnqueuedMessage& message, const std::byte* from, std::size_t bytes) noexcept {
  if (message.promised.segments)
    datatype::Walk(message.promised.segments->view())
        .unpack(message.promised.lowest, from, 0, bytes);
  else if (bytes != 0)
    std::memcpy(message.promised.lowest, from, bytes);
}

MPI_Status status_of(const EnqueuedMessage& message, std::size_t bytes) noexcept {
  MPI_Status status = empty_status(message.peer);
  PMPI_Status_set_elements_x(&status, MPI_BYTE, static_cast<MPI_Count>(bytes));
  status.MPI_TAG = message.tag;
  return status;
}

Error behind_lost(const EnqueuedMessage& message) noexcept {
  return base::error_by(ErrorKind::transport, [&] {
    return fmt::format(
        "enqueued {}: an earlier message with this tag was lost with its queue, "
        "and both ends count them: free the communicator, and make a new one",
        message.label());
  });
}

Error lost_by_sender(const EnqueuedMessage& message) noexcept {
  return base::error_by(ErrorKind::transport, [&] {
    return fmt::format(
        "enqueued {}: MPI has refused the message at its sender, whose queue tells why, and both "
        "ends count them: free the communicator, and make a new one",
        message.label());
  });
}

// The lane of a send: the newest, where the message does not fit into the one that is known. Throws
// base::Error where it cannot be mapped.
const Lane& find_lane(Envelope& envelope, std::size_t bytes) {
  static const Lane none;
  if (envelope.lanes.empty() || bytes > envelope.lanes.back().slot_bytes()) {
    const int own = envelope.promise.rank();
    if (const std::optional<Lane> newer = envelope.search.find(own, envelope.key.tag))
      envelope.lanes.assign(1, *newer);
  }
  return envelope.lanes.empty() ? none : envelope.lanes.back();
}

}  // namespace

// As activate() is to what MPI has.
void MessageEngine::begin_promised(EnqueuedMessage& message) noexcept {
  Envelope& envelope = *message.promised.envelope;
  envelope.line.add(message);
  if (!envelope.active) envelopes_.add(envelope);
  message.owner->in_lines_.add(message);
  begin_moving(message);
}

// The thread has work with it from now on.
void MessageEngine::rouse(EnqueuedMessage& message) noexcept {
  if (std::exchange(message.promised.quiet, false)) begin_under_way(message);
}

// A kernel, or a thread of the program, may be at it.
bool MessageEngine::is_held(const EnqueuedMessage& message) noexcept {
  return message.promised.in_line && message.promised.by_kernel && !message.sends() &&
         (message.with_program || message.staged->stream_may_copy(message.owner->words_));
}

void MessageEngine::leave_line(EnqueuedMessage& message) noexcept {
  if (to_look_for_ == &message) to_look_for_ = nullptr;
  Envelope& envelope = *message.promised.envelope;
  envelope.line.remove(message);
  message.owner->in_lines_.remove(message);
  if (envelope.line.first() == nullptr) envelopes_.remove(envelope);
}

// MPI has it. It may keep a send for ever, when its peer has died.
void MessageEngine::go_on_by_mpi(EnqueuedMessage& message) noexcept {
  leave_line(message);
  message.owner->active_.add(message);
  if (message.sends()) leave_envelope(message);
}

// What becomes of it is no matter of the envelope any more: the program may free that.
void MessageEngine::leave_envelope(EnqueuedMessage& message) noexcept {
  if (message.promised.envelope == nullptr) return;
  message.promised.envelope = nullptr;
  message.promised.number = 0;
  message.communicator->enqueued.fetch_sub(1, std::memory_order_release);
}

// A message has been lost. Receives behind it that MPI has already would get one another's, so
// their queues fail. Others fail when their turn comes.
void MessageEngine::fail_behind(const Envelope& envelope) noexcept {
  const auto is_behind = [&](const EnqueuedMessage* one) {
    return one->promised.envelope == &envelope && !one->given_up &&
           envelope.goes_no_more(one->promised.number);
  };
  const auto find = [&]() -> const EnqueuedMessage* {
    for (const QueueMessages* messages : active_) {
      if (messages->broken_by_) continue;
      const auto& list = messages->active_;
      if (const auto found = std::find_if(list.begin(), list.end(), is_behind); found != list.end())
        return *found;
    }
    return nullptr;
  };
  while (const EnqueuedMessage* const behind = find()) fail(*behind->owner, behind_lost(*behind));
}

// The sender sends in the order of the numbers, so that what the first receive waits for comes
// first, too; but what has come by a lane of a GPU stays in line until a kernel has taken it. A
// message that moves may end others. True: some has moved that is not quiet.
bool MessageEngine::advance_line(Envelope& envelope) noexcept {
  const bool in_any_order = envelope.on_device.load(std::memory_order_acquire) != nullptr;
  bool moved = false;
  for (EnqueuedMessage* one = envelope.line.first(); one != nullptr;) {
    const bool quiet = one->promised.quiet;
    const unsigned before = came_to_engine_;
    EnqueuedMessage* const next = in_any_order ? one->promised.after : nullptr;
    if (!try_promised(*one)) {
      one = next;
      continue;
    }
    moved |= !quiet || came_to_engine_ != before;
    one = envelope.line.first();
  }
  return moved;
}

// False: it stays where it is. What keeps its order waits for the message before
// (protocol/lane.hpp).
bool MessageEngine::try_promised(EnqueuedMessage& message) noexcept {
  Envelope& envelope = *message.promised.envelope;
  if (envelope.goes_no_more(message.promised.number)) {
    const Error error = behind_lost(message);
    if (is_held(message)) {
      if (message.owner->broken_by_) return false;  // it ends with who holds it
      fail(*message.owner, error);
      return true;
    }
    fail_message(message, error);
    return true;
  }
  if (!envelope.keeps_order()) return receive_by_lane(message);
  if (message.promised.number != envelope.sent.load(std::memory_order_relaxed) + 1) return false;
  if (envelope.by_lanes) return send_by_lane(message);
  hand_over(message);
  return true;
}

// To MPI, on the library's communicator, whose messages have these tags between hosts.
void MessageEngine::hand_over(EnqueuedMessage& message) noexcept {
  Envelope& envelope = *message.promised.envelope;
  const int code = start_by_mpi(message, message.tag, envelope.promise.comm());
  if (code == MPI_SUCCESS) envelope.sent.store(message.promised.number, std::memory_order_relaxed);
  end_call(message, code);
}

// What no slot holds is MPI's, and its slot says so. It also says what MPI has refused: the
// receiver would wait for it for ever.
bool MessageEngine::send_by_lane(EnqueuedMessage& message) noexcept {
  Envelope& envelope = *message.promised.envelope;
  if (message.promised.by_kernel) {  // which has sent it
    envelope.sent.store(message.promised.number, std::memory_order_relaxed);
    message.promised.gone = true;
    finish_promised(message, message.bytes, nullptr);
    return true;
  }
  try {
    const Lane& lane = find_lane(envelope, message.bytes);
    if (!lane.stands()) return false;
    int code = MPI_SUCCESS;
    const bool by_mpi = message.bytes > lane.slot_bytes();
    const auto fill = [&](LaneSlot& slot) {
      slot.bytes = message.bytes;
      slot.mpi_tag = by_mpi ? envelope.promise.next_mpi_tag() : LaneSlot::in_slot;
      if (!by_mpi) return pack(message, slot.data());
      code = start_by_mpi(message, static_cast<int>(slot.mpi_tag), envelope.promise.comm());
      if (code != MPI_SUCCESS) slot.mpi_tag = LaneSlot::lost;
    };
    if (!lane.send(message.promised.number, fill)) return false;
    if (code == MPI_SUCCESS)
      envelope.sent.store(message.promised.number, std::memory_order_relaxed);
    message.promised.gone = code == MPI_SUCCESS;
    if (by_mpi)
      end_call(message, code);
    else
      finish_promised(message, message.bytes, nullptr);
  } catch (const Error& error) {
    fail_message(message, error);
  }
  return true;
}

bool MessageEngine::receive_by_lane(EnqueuedMessage& message) noexcept {
  const Envelope& envelope = *message.promised.envelope;
  if (message.with_program) return false;
  if (message.promised.by_kernel && end_taken(message)) return true;
  std::size_t bytes = 0;
  std::int64_t mpi_tag = LaneSlot::in_slot;
  const auto drain = [&](LaneSlot& slot) {
    bytes = slot.bytes;
    mpi_tag = slot.mpi_tag;
    if (mpi_tag == LaneSlot::in_slot) unpack(message, slot.data(), std::min(bytes, message.bytes));
  };
  if (std::none_of(envelope.lanes.rbegin(), envelope.lanes.rend(),
                   [&](const Lane& lane) { return lane.receive(message.promised.number, drain); }))
    return receive_from_device(message);
  ++came_to_engine_;
  message.promised.gone = mpi_tag != LaneSlot::lost;
  if (!message.promised.gone) {
    fail_message(message, lost_by_sender(message));
  } else if (mpi_tag != LaneSlot::in_slot) {
    receive_from_mpi(message, bytes, static_cast<int>(mpi_tag));
  } else if (bytes > message.bytes) {
    fail_message(message, too_long_error(message, bytes));
  } else {
    finish_promised(message, bytes, nullptr);
  }
  return true;
}

void MessageEngine::note_taken(EnqueuedMessage& message) noexcept {
  message.status = status_of(message, *message.staged->lane.report);
}

// A receive that kernels look for, and have taken; or that the stream of a failed queue will not
// take any more.
bool MessageEngine::end_taken(EnqueuedMessage& message) noexcept {
  QueueMessages& messages = *message.owner;
  const StagedMessage& staged = *message.staged;
  const bool taken = staged.stream_has_copied(messages.words_);
  if (!taken && (!messages.broken_by_ || staged.stream_may_copy(messages.words_))) return false;
  message.promised.gone |= taken;
  deactivate(message);
  if (taken)
    end(message, message.request ? status_of(message, *staged.lane.report) : MPI_Status{}, nullptr);
  else
    end(message, empty_status(MPI_ANY_SOURCE), &*messages.broken_by_);
  settle(messages);
  return true;
}

// A sender on a GPU may have put the message into a lane there, whatever memory this receive is in.
// Where kernels look for it, the engine does not; a thread of the program that completes requests
// does, at the receive whose last look is the longest ago. Else the engine looks in one pass of
// eight, as a look asks the driver.
bool MessageEngine::receive_from_device(EnqueuedMessage& message) noexcept {
  constexpr unsigned passes_between = 8;
  DeviceLanes* const lanes = message.promised.envelope->on_device.load(std::memory_order_acquire);
  if (lanes == nullptr) return false;
  if (message.promised.by_kernel) {
    const bool wanted = program_drives_ && message.request && message.staged->is_for_anybody();
    if (wanted &&
        (!to_look_for_ || message.promised.looked_for < to_look_for_->promised.looked_for))
      to_look_for_ = &message;
    return false;
  }
  if (++message.promised.envelope->looks % passes_between != 0) return false;
  try {
    const auto bytes = lanes->look(message.promised.number);
    if (!bytes) return false;
    message.promised.gone = true;
    take_from_device(message, *lanes, *bytes);
  } catch (const Error& error) {
    fail_message(message, error);
  } catch (const std::bad_alloc&) {
    fail_message(message, Error(ErrorKind::resources, "no memory for an enqueued message"));
  }
  return true;
}

// Of a receive that kernels look for.
bool MessageEngine::lies_in_lane(const EnqueuedMessage& message) noexcept {
  try {
    return message.promised.envelope->on_device.load(std::memory_order_acquire)
        ->look(message.promised.number)
        .has_value();
  } catch (const std::exception&) {  // also for want of memory: it is asked for again
    return false;
  }
}

void MessageEngine::take_from_device(EnqueuedMessage& message, DeviceLanes& lanes,
                                     std::size_t bytes) {
  if (bytes > message.bytes) {
    lanes.take(message.promised.number, nullptr, 0);
    return fail_message(message, too_long_error(message, bytes));
  }
  if (message.promised.segments) {
    std::vector<std::byte> packed(bytes);
    lanes.take(message.promised.number, packed.data(), bytes);
    unpack(message, packed.data(), bytes);
  } else {
    lanes.take(message.promised.number, message.promised.lowest, bytes);
  }
  finish_promised(message, bytes, nullptr);
}

Error MessageEngine::too_long_for_kernel(QueueMessages& messages) noexcept {
  const std::lock_guard lock(progress_lock_);
  take_ready();
  if (awaits_trigger(messages)) issue(messages);
  for (EnqueuedMessage* const one : messages.in_lines_)
    if (one->staged && one->staged->end == load(messages.words_.too_long)) {
      one->promised.gone = true;
      return too_long_error(*one, load(messages.words_.too_long_bytes));
    }
  return Error(ErrorKind::truncate, "an enqueued message is longer than its receive");
}

// A message that is too long is taken as well, for its sender's sake, but not into the program's
// buffer: Open MPI 4.1 writes beyond its end.
void MessageEngine::receive_from_mpi(EnqueuedMessage& message, std::size_t bytes,
                                     int tag) noexcept {
  const MPI_Comm comm = message.promised.envelope->promise.comm();
  int code = MPI_SUCCESS;
  rouse(message);
  if (bytes <= message.bytes) {
    code = start_by_mpi(message, tag, comm);
  } else {
    constexpr std::size_t most = std::numeric_limits<int>::max();
    message.promised.too_long.reset(bytes <= most ? new (std::nothrow) std::byte[bytes] : nullptr);
    message.promised.too_long_bytes = bytes;
    if (!message.promised.too_long) return fail_message(message, too_long_error(message, bytes));
    code = PMPI_Irecv(message.promised.too_long.get(), static_cast<int>(bytes), MPI_BYTE,
                      message.peer, tag, comm, &message.mpi);
  }
  end_call(message, code);
}

bool MessageEngine::end_too_long(EnqueuedMessage& message) noexcept {
  const Error error = too_long_error(message, message.promised.too_long_bytes);
  message.promised.too_long.reset();
  finish_promised(message, 0, message.given_up ? nullptr : &error);
  return true;
}

// Only who has a request learns the status, which takes calls of MPI.
void MessageEngine::finish_promised(EnqueuedMessage& message, std::size_t bytes,
                                    const Error* error) noexcept {
  const MPI_Status status = message.request ? status_of(message, bytes) : MPI_Status{};
  finish(message, status, bytes, error);
}

void MessageEngine::fail_message(EnqueuedMessage& message, const Error& error) noexcept {
  finish_promised(message, 0, &error);
}

}  // namespace penstock::enqueued
