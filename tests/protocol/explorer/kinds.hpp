// SPDX-License-Identifier: Apache-2.0
// The kinds of pairs that the tests run every program with.
#pragma once

#include <cctype>
#include <string>
#include <vector>

#include "protocol/explorer/pair.hpp"

namespace penstock::explorer {

inline PairSpec ring(Mode mode = Mode::standard, unsigned slots = 2, unsigned lines = 1) {
  return {Path::ring, mode,  ClaimBy::exchange,
          slots,      lines, 2};  // 2-bit flags: they wrap after four epochs
}

// As kernels run it. 3-bit flags, since 2 bits cannot tell four slots apart: they wrap after eight
// epochs.
inline PairSpec deferred_ring(Mode mode = Mode::standard, unsigned slots = 4, unsigned lines = 1) {
  PairSpec kind{Path::ring, mode, ClaimBy::exchange, slots, lines, slots < 4 ? 2u : 3u};
  kind.deferred = true;
  return kind;
}

// As kernels of programs run it.
inline PairSpec ring_in_kernels(Mode mode = Mode::standard, unsigned slots = 4,
                                unsigned lines = 1) {
  PairSpec kind = deferred_ring(mode, slots, lines);
  kind.send_waits = true;
  return kind;
}

inline PairSpec rendezvous(ClaimBy claim = ClaimBy::exchange, Mode mode = Mode::standard) {
  return {Path::rendezvous, mode, claim, 2, 1, 2};
}

inline PairSpec shared_rendezvous(ClaimBy claim = ClaimBy::exchange, Mode mode = Mode::standard) {
  PairSpec kind = rendezvous(claim, mode);
  kind.shares = true;
  kind.lines = 2;
  return kind;
}

inline PairSpec closing(PairSpec kind) {
  kind.may_close = true;
  return kind;
}

// As the host's ports are.
inline PairSpec on_hosts(PairSpec kind) {
  kind.may_close = kind.untouched = true;
  return kind;
}

inline std::vector<PairSpec> all_kinds() {
  std::vector<PairSpec> kinds;
  for (Mode mode : {Mode::standard, Mode::synchronous}) {
    for (unsigned slots : {2u, 3u})
      for (unsigned lines : {1u, 2u}) kinds.push_back(ring(mode, slots, lines));
    kinds.push_back(rendezvous(ClaimBy::exchange, mode));
    kinds.push_back(deferred_ring(mode, 3));
  }
  kinds.push_back(deferred_ring(Mode::standard, 3, 2));
  kinds.push_back(ring_in_kernels(Mode::standard, 3));
  kinds.push_back(deferred_ring(Mode::standard, 4));
  // A synchronous rendezvous runs the same code as a standard one: it is explored with one form of
  // the claim.
  kinds.push_back(rendezvous(ClaimBy::flags));
  return kinds;
}

// As part of a test's name.
inline std::string test_name(const PairSpec& spec) {
  std::string name;
  for (char c : describe(spec))
    if (std::isalnum(static_cast<unsigned char>(c)))
      name += c;
    else if (!name.empty() && name.back() != '_')
      name += '_';
  return name;
}

}  // namespace penstock::explorer
