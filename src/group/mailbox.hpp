// SPDX-License-Identifier: Apache-2.0
// Out-of-band letters between processes, which a carrier brings: the match handshake.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace penstock::group {

class Carrier;

class Mailbox {
 public:
  using Letter = std::vector<std::byte>;

  static std::unique_ptr<Mailbox> open(std::unique_ptr<Carrier> carrier);
  // Deletes the carrier; unsent letters are lost: see Matcher::end_together().
  virtual ~Mailbox() = default;

  // Keeps the letter, no more: dispatch() gives it to MPI, with others to the same rank. Letters
  // between two processes (one of them to itself, too) arrive in order. Returns the letter's number
  // among those to `rank`, from 1 upwards. Where it throws, the letter is not sent.
  virtual std::uint64_t send(int rank, Letter letter) = 0;
  // Hands every letter that has arrived to `handle`, and gives MPI letters that wait as dispatch()
  // does. Never blocks. Calls MPI: only from threads that may. Two threads may call it at once at
  // MPI_THREAD_MULTIPLE; the handler runs under the mailbox's lock, one letter at a time, and may
  // send. Where the handler throws, the letter's sender is lost: its next letters would mean
  // nothing. True: something moved.
  virtual bool poll(
      const std::function<void(int rank, std::span<const std::byte> letter)>& handle) = 0;
  // Gives MPI the letters that wait, a few sends to each rank at a time. Never blocks.
  virtual void dispatch() = 0;
  // Gives MPI every letter that waits, so that it can bring them while the program is inside it.
  virtual void hand_over() = 0;
  // True when MPI has taken the letters to `rank` up to number `last`: only then do they arrive
  // although this process calls neither us nor MPI again. MPI may take none while `rank` itself
  // calls neither. True also when there is no more hope for them: see lost().
  virtual bool flushed(int rank, std::uint64_t last) = 0;
  // The same for all letters to every rank.
  virtual bool all_flushed() = 0;
  // True once MPI has failed to carry a letter to or from `rank`: those behind it have no meaning
  // without it, and are dropped. Never cleared.
  virtual bool lost(int rank) = 0;
  virtual bool any_lost() = 0;
};

}  // namespace penstock::group
