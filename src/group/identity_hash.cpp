// SPDX-License-Identifier: Apache-2.0
#include "group/identity_hash.hpp"

#include <bit>

namespace penstock::group {

namespace {

// The finaliser of splitmix64.
std::uint64_t mix(std::uint64_t x) noexcept {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace

IdentityHash& IdentityHash::add(std::uint64_t word) noexcept {
  high_ = mix(high_ + 0x9e3779b97f4a7c15u + word);
  low_ = mix(low_ ^ mix(word + 0xd1b54a32d192ed03u));
  low_ += std::rotl(high_, 29);
  return *this;
}

IdentityHash& IdentityHash::add(std::span<const int> numbers) noexcept {
  add(static_cast<std::uint64_t>(numbers.size()));
  for (const int number : numbers)
    add(static_cast<std::uint64_t>(static_cast<std::uint32_t>(number)));
  return *this;
}

IdentityHash& IdentityHash::add(std::string_view text) noexcept {
  add(static_cast<std::uint64_t>(text.size()));
  for (const char letter : text)
    add(static_cast<std::uint64_t>(static_cast<unsigned char>(letter)));
  return *this;
}

CommunicatorId IdentityHash::value() const noexcept {
  return {mix(high_ ^ std::rotl(low_, 32)), mix(low_ + 0x9e3779b97f4a7c15u)};
}

}  // namespace penstock::group
