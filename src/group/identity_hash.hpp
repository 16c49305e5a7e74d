// SPDX-License-Identifier: Apache-2.0
// The hash behind communicator identities. Two 64-bit lanes, each a chain of splitmix64 finalisers
// (a bijection in which every input bit changes every output bit with probability one half), with
// different constants and mixed with each other after every word. It is not meant to withstand an
// adversary; by accident two of a million communicators collide with probability 2^-88 or so. The
// same bytes give the same hash on every process of a job; nothing is kept between releases.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "group/communicator.hpp"

namespace penstock::group {

class IdentityHash {
 public:
  IdentityHash& add(std::uint64_t word) noexcept;
  IdentityHash& add(const CommunicatorId& id) noexcept { return add(id.high).add(id.low); }
  // It adds their count as well, so that neighbouring lists do not run together.
  IdentityHash& add(std::span<const int> numbers) noexcept;
  IdentityHash& add(std::string_view text) noexcept;
  CommunicatorId value() const noexcept;

 private:
  std::uint64_t high_ = 0x70656e73746f636bu;  // any two different constants
  std::uint64_t low_ = 0x636f6d6d756e6963u;
};

}  // namespace penstock::group
