// SPDX-License-Identifier: Apache-2.0
// Out-of-band letters between processes, on a private duplicate of MPI_COMM_WORLD: the match
// handshake.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace penstock::group {

class Mailbox {
 public:
  using Letter = std::vector<std::byte>;

  static std::unique_ptr<Mailbox> open();  // collective over MPI_COMM_WORLD
  // Collective (frees the communicator); unsent letters are lost: see Matcher::part().
  virtual ~Mailbox() = default;

  // Never blocks: the letter is kept until MPI has taken it. Letters between two processes (one of
  // them to itself, too) arrive in order.
  virtual void send(int rank, Letter letter) = 0;
  // Hands every letter that has arrived to `handle` and moves unfinished sends along. Never blocks.
  // Calls MPI: only from threads that may. Two threads may call it at once at MPI_THREAD_MULTIPLE;
  // the handler runs under the mailbox's lock, one letter at a time, and may send. True: something
  // moved.
  virtual bool poll(
      const std::function<void(int rank, std::span<const std::byte> letter)>& handle) = 0;
  // Gives MPI every letter that waits for its turn, so that it can bring them while the program is
  // inside it.
  virtual void hand_over() = 0;
  // True when MPI has taken every letter to `rank`: only then do they arrive although this process
  // calls neither us nor MPI again. True also when there is no more hope for them: see lost().
  virtual bool flushed(int rank) = 0;
  // The same for every rank.
  virtual bool all_flushed() = 0;
  // True once MPI has failed to carry a letter to or from `rank`: those behind it have no meaning
  // without it, and are dropped. Never cleared.
  virtual bool lost(int rank) = 0;
  virtual bool any_lost() = 0;
};

}  // namespace penstock::group
