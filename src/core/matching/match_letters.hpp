// SPDX-License-Identifier: Apache-2.0
// The letters of the handshake as both sides send them, and who can still be reached by them.
// Guarded by the matcher's lock.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/matching/letter.hpp"
#include "core/matching/match_job.hpp"
#include "group/mailbox.hpp"
#include "group/world.hpp"

namespace penstock::core {

class MatchLetters {
 public:
  MatchLetters(group::World& world, group::Mailbox& mailbox) : world_(world), mailbox_(mailbox) {}

  // A letter that its reader may need for the match, so that the job does not end before it has
  // left. The others go by send(): a peer that is done may read nothing for long, and MPI may take
  // nothing for a process that does not.
  void write(int rank, MatchJob& job, LetterWriter& letter);
  void send(int rank, LetterWriter& letter);
  // Whether MPI has taken all that was written for the job, or its readers are gone.
  bool have_left(const MatchJob& job) const;

  bool dead(int rank) const;
  // No letter goes to the process or comes from it any more. It may be alive: what it has been
  // given by letters it may still use.
  bool gone(int rank) const;
  bool anybody_gone() const;
  // The process's letters mean nothing any more.
  void lose(int rank, std::string_view why) { unreadable_.emplace(rank, why); }
  // Why, or null.
  const std::string* why_lost(int rank) const;
  bool mpi_fails(int rank) const { return mailbox_.lost(rank); }

  // Nothing is sent from now on: who has parted reads no answers.
  void fall_silent() noexcept { silent_ = true; }

 private:
  std::uint64_t post(int rank, LetterWriter& letter);

  group::World& world_;
  group::Mailbox& mailbox_;
  bool silent_ = false;
  std::map<int, std::string> unreadable_;  // by rank: why
};

}  // namespace penstock::core
