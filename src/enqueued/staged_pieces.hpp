// SPDX-License-Identifier: Apache-2.0
// The staged messages of one queue: which pieces of its pinned memory they have, for how long, and
// which of them waits of the stream are to copy. Its calls are the program's, but for the last.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/no_copy.hpp"
#include "enqueued/bundle_list.hpp"
#include "enqueued/staged_message.hpp"
#include "enqueued/staging_ring.hpp"
#include "enqueued/words.hpp"

namespace penstock::enqueued {

class StagedPieces : private base::NoCopy {
 public:
  // `memory`: `size` bytes. `marks`: a word for each StagingRing::alignment of them, zero.
  StagedPieces(std::byte* memory, std::size_t size, std::uint64_t* marks,
               QueueWords& words) noexcept
      : memory_(memory), marks_(marks), words_(words), ring_(size) {}
  static std::size_t marks_of(std::size_t size) noexcept { return size / StagingRing::alignment; }

  // Throws base::Error(resources), std::bad_alloc.
  StagedMessage& take(std::size_t bytes, bool sends);
  // A bundle's messages go with its trigger: visit(staged) is called for each.
  void begin_trigger() noexcept { ++triggered_; }
  template <class Visit>
  void trigger(const Bundle& bundle, Visit visit) noexcept {
    for (const EnqueuedMessage& message : bundle) {
      if (message.staged == nullptr) continue;
      add(*message.staged);
      visit(*message.staged);
    }
    open_ = 0;
  }
  std::uint64_t triggered() const noexcept { return triggered_; }  // bundles

  // Nothing since the last wait of the stream.
  bool none_triggered() const noexcept { return triggered_messages_.empty(); }
  // A wait of the stream is enqueued for all that has been triggered: it copies what nobody does by
  // now. Returns what it is to wait for besides, until QueueWords::copied is as much; 0: nothing.
  std::uint64_t begin_wait() noexcept;
  // copy(staged) is called for each receive that is to be copied behind the wait.
  template <class Copy>
  void wait(Copy copy) noexcept {
    for (StagedMessage* const staged : triggered_messages_) {
      if (!staged->sends && staged->is_for_stream()) copy(*staged);
      // What is enqueued from now on runs behind the wait.
      ring_.give_back_to(staged->end);
      leave(*staged);
    }
    triggered_messages_.clear();
  }

  // ---- Any thread: one of its owners has done with it.
  void leave(StagedMessage& staged) noexcept;
  // ---- Under the engine's lock
  // Whether the caller is to copy it, with Staging::copy_for_program(), as no wait of the stream
  // has been enqueued that would. True once.
  bool give_to_program(StagedMessage& staged) noexcept;
  void program_has_copied() noexcept;
  bool program_copies() const noexcept { return copying_ > 0; }  // some message of the queue's

 private:
  void add(StagedMessage& staged) noexcept;
  void give_back_what_has_ended() noexcept;
  [[noreturn]] void refuse(std::size_t bytes) const;

  std::byte* const memory_;
  std::uint64_t* const marks_;
  QueueWords& words_;
  StagingRing ring_;
  base::FreeList<StagedMessage> pool_;
  std::uint64_t triggered_ = 0;
  std::size_t open_ = 0;  // messages that no trigger has taken
  // Those of bundles that no wait of the stream has followed.
  std::vector<StagedMessage*> triggered_messages_;
  // Receives that were given to the program, counted before each is; those that it copies now.
  std::atomic<std::uint64_t> given_{0};
  std::size_t copying_ = 0;
};

}  // namespace penstock::enqueued
