// SPDX-License-Identifier: Apache-2.0
// Memory of one rank that all ranks of its team use as their own.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "base/no_copy.hpp"
#include "core/transports.hpp"
#include "group/member_group.hpp"

namespace penstock::coll {

// What a rank has called for; the address is looked at on the owner alone.
struct TeamMemoryCall {
  void* base = nullptr;
  std::int64_t bytes = 0;
  int owner = 0;
};

class TeamMemory : private base::NoCopy {
 public:
  // Collective over the team, which it takes. Throws base::Error on all its ranks.
  TeamMemory(std::unique_ptr<group::MemberGroup> team, const TeamMemoryCall& part,
             core::Transports& transports);

  void* address() const noexcept { return opened_ ? opened_.get() : base_; }
  const group::MemberGroup& team() const noexcept { return *team_; }
  // Collective: the memory is the owner's alone when it returns. Throws Error(timeout), and what
  // meanwhile() throws.
  void close(std::chrono::milliseconds timeout, const std::function<bool()>& meanwhile);

 private:
  bool is_owner(const TeamMemoryCall& part) const noexcept { return team_->rank() == part.owner; }
  void check(const TeamMemoryCall& part) const;
  void require_alike(const TeamMemoryCall& part);
  std::vector<std::byte> share(const TeamMemoryCall& part, core::Transports& transports);
  void open(int owner, std::span<const std::byte> shared, core::Transports& transports);

  std::unique_ptr<group::MemberGroup> team_;
  std::byte* base_ = nullptr;          // the owner's
  std::shared_ptr<const void> kept_;   // on the owner
  std::shared_ptr<std::byte> opened_;  // on all others
};

}  // namespace penstock::coll
