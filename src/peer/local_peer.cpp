// SPDX-License-Identifier: Apache-2.0
#include "peer/local_peer.hpp"

#include <fmt/format.h>

#include <cstring>

#include "peer/cross_memory.hpp"

namespace penstock::peer {

namespace {

MessageMemory at(const std::uint64_t* word) noexcept {
  return {reinterpret_cast<std::uintptr_t>(word)};
}

// Returns why the copy does not work; an empty text means that it does. Writing is tried only after
// reading has shown that this is the process that we mean.
std::string try_cross_memory(const AddressRecord& peer, int rank) {
  std::uint64_t seen = 0;
  if (const int error = read_process(peer.process, at(&seen), {peer.probe}, 0, sizeof(seen));
      error != 0)
    return fmt::format("cross-memory copy is not possible: {}", std::strerror(error));
  if (seen != peer.arena.nonce[0])
    return "cross-memory copy reaches another process (process numbers are not shared)";
  const std::uint64_t mark = ~seen ^ static_cast<std::uint64_t>(rank);
  const std::uint64_t slot = peer.probe + sizeof(mark) * (1 + static_cast<std::uint64_t>(rank));
  int error = write_process(peer.process, {slot}, at(&mark), 0, sizeof(mark));
  if (error == 0) error = read_process(peer.process, at(&seen), {slot}, 0, sizeof(seen));
  if (error != 0) return fmt::format("cross-memory copy is not possible: {}", std::strerror(error));
  return seen == mark ? "" : "cross-memory copy does not keep what it writes";
}

}  // namespace

LocalPeer get_to_know(const AddressRecord& address, int rank, bool allow_cross_memory,
                      base::SharedTexts& texts) {
  LocalPeer local_peer;
  std::string why_not;
  if (address.usable == 0) {
    why_not = "peer has no shared memory";
  } else if (address.flag_bits != PENSTOCK_FLAG_BITS) {
    why_not = "peer runs a Penstock built with another flag width";
  } else {
    local_peer.arena = Mapping::open(address.arena, why_not);
  }
  if (!local_peer.arena) {
    local_peer.why_not = texts.share(why_not);
    return local_peer;
  }
  local_peer.process = address.process;
  why_not = allow_cross_memory ? try_cross_memory(address, rank)
                               : "cross-memory copy is switched off (PENSTOCK_CMA=0)";
  local_peer.cross_memory = why_not.empty();
  local_peer.why_not = texts.share(why_not);
  return local_peer;
}

}  // namespace penstock::peer
