// SPDX-License-Identifier: Apache-2.0
// Pairs whose two processes address the same memory: host form, shared memory of one host, and a process with itself.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/settings.hpp"
#include "group/world.hpp"
#include "transport/peer/arena.hpp"
#include "transport/peer/holding.hpp"
#include "transport/peer/memory.hpp"
#include "transport/peer/neighbour.hpp"
#include "transport/peer/pair_plan.hpp"
#include "transport/peer/plans.hpp"
#include "transport/transport.hpp"

namespace penstock::transport::peer {

class Peer final : public Transport {
 public:
  Peer(const base::Settings& settings, group::World& world);  // throws Error(setting)
  ~Peer() override;

  std::string name() const override { return std::string(base::peer_transport); }
  Blob announce() override;
  void meet(std::span<const Blob> announcements) override;
  void met() override;

  Verdict usable() const override;
  Verdict can_serve(const Message& message) const override;
  std::unique_ptr<Offer> offer(const Message& send) override;
  std::unique_ptr<Acceptance> accept(const Message& receive, const Message& send,
                                     std::span<const std::byte> offer) override;
  std::unique_ptr<Offer> invite(const Message& receive) override;
  std::unique_ptr<Acceptance> accept_invitation(const Message& send, const Message& receive,
                                                std::span<const std::byte> invitation) override;

  // For the forms of GPUs, whose halves keep in host memory what host threads of both ends look at. They announce
  // themselves later.
  bool announced() const noexcept { return memory_ != nullptr; }
  Verdict reaches(int rank) const;  // the shared memory of that process
  Holding hold(std::size_t block_bytes, std::shared_ptr<const void> keep) {
    return Holding(*arena_, block_bytes, std::move(keep));
  }
  Arena& arena() noexcept { return *arena_; }  // where usable()
  std::byte* map(int rank, const Place& place) const;
  Retired& retired() const noexcept { return retired_; }

  Memory& memory() noexcept { return *memory_; }                        // from announce() on
  const Arena* shared_memory() const noexcept { return arena_.get(); }  // null: there is none

 private:
  class SendHalf;
  class ReceiveHalf;
  class InvitingHalf;
  class InvitedHalf;

  BufferPlace place_of(const Message& message, std::size_t bytes) const;
  std::optional<Reach> reach(int rank, const BufferPlace& buffer, bool across) const;
  Pair pair_with(int rank) const;
  std::unique_ptr<Plan> make_or_close(Direction direction, Pair& pair,
                                      const std::function<std::unique_ptr<Plan>()>& make);

  const base::Settings& settings_;
  group::World& world_;
  std::unique_ptr<Arena> arena_;
  std::string why_no_arena_ = "not announced";
  std::vector<std::uint64_t> probe_;  // others write here while they get to know us
  std::vector<Neighbour> neighbours_;
  std::unique_ptr<Memory> memory_;
  mutable Retired retired_;
};

}  // namespace penstock::transport::peer
