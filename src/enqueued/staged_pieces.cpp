// SPDX-License-Identifier: Apache-2.0
#include "enqueued/staged_pieces.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/reserve.hpp"

namespace penstock::enqueued {

using base::Error;
using base::ErrorKind;

// Room in the list comes first: a trigger must not fail for want of it. Before a receive's piece
// stands how much has come.
StagedMessage& StagedPieces::take(std::size_t bytes, bool sends) {
  base::reserve_for(triggered_messages_, triggered_messages_.size() + open_ + 1);
  StagedMessage& staged = pool_.take();
  const std::size_t head = sends ? 0 : StagingRing::alignment;
  auto at = ring_.take(head + bytes);
  if (!at) {
    give_back_what_has_ended();
    at = ring_.take(head + bytes);
  }
  if (!at) {
    pool_.give_back(staged);
    refuse(bytes);
  }
  ++open_;
  std::byte* const place = memory_ + *at;
  staged.sends = sends;
  staged.received = sends ? nullptr : reinterpret_cast<std::uint64_t*>(place);
  staged.piece = place + head;
  staged.bytes = bytes;
  staged.end = ring_.end();
  staged.mark = marks_ + *at / StagingRing::alignment;
  staged.lane = {};
  staged.packed.reset();
  staged.taker.store(Taker::nobody_yet, std::memory_order_relaxed);
  staged.owners.store(1, std::memory_order_relaxed);
  return staged;
}

void StagedPieces::refuse(std::size_t bytes) const {
  if (bytes > ring_.size())
    throw Error(
        ErrorKind::resources,
        fmt::format("a message of {} bytes is larger than all {} bytes of the queue's pinned "
                    "memory: raise PENSTOCK_QUEUE_STAGING (at most 1073741824), or send it "
                    "in parts",
                    bytes, ring_.size()));
  throw Error(ErrorKind::resources,
              fmt::format("a message of {} bytes finds no room in the queue's {} bytes of pinned "
                          "memory, of which {} are in use until the next "
                          "PST_Enqueue_wait_outstanding: wait sooner, or raise "
                          "PENSTOCK_QUEUE_STAGING (at most 1073741824)",
                          bytes, ring_.size(), ring_.used()));
}

// A program that completes requests need not wait on the stream. From the oldest on: what MPI is
// done with, and no wait of the stream is to copy.
void StagedPieces::give_back_what_has_ended() noexcept {
  auto ended = triggered_messages_.begin();
  for (; ended != triggered_messages_.end(); ++ended) {
    StagedMessage& staged = **ended;
    if (staged.owners.load(std::memory_order_acquire) > 1) break;
    if (!staged.sends && staged.taker.load(std::memory_order_acquire) != Taker::program) break;
    ring_.give_back_to(staged.end);
    leave(staged);
  }
  triggered_messages_.erase(triggered_messages_.begin(), ended);
}

void StagedPieces::add(StagedMessage& staged) noexcept {
  staged.bundle = triggered_;
  staged.owners.store(2, std::memory_order_relaxed);
  triggered_messages_.push_back(&staged);
}

std::uint64_t StagedPieces::begin_wait() noexcept {
  bool program_copies = false;
  for (StagedMessage* const staged : triggered_messages_)
    if (!staged->sends && !staged->becomes(Taker::stream))
      program_copies |= staged->owners.load(std::memory_order_acquire) > 1;
  return program_copies ? given_.load(std::memory_order_acquire) : 0;
}

void StagedPieces::leave(StagedMessage& staged) noexcept {
  if (staged.owners.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  staged.list.reset();
  pool_.give_back(staged);
}

// Counted before it is given: a wait of the stream that finds it given finds it counted.
bool StagedPieces::give_to_program(StagedMessage& staged) noexcept {
  if (staged.taker.load(std::memory_order_relaxed) != Taker::nobody_yet) return false;
  given_.fetch_add(1, std::memory_order_acq_rel);
  const bool given = staged.becomes(Taker::program);
  if (given)
    ++copying_;
  else if (copying_ == 0)
    store(words_.copied, given_.load(std::memory_order_relaxed));
  return given;
}

void StagedPieces::program_has_copied() noexcept {
  if (--copying_ == 0) store(words_.copied, given_.load(std::memory_order_relaxed));
}

}  // namespace penstock::enqueued
