// SPDX-License-Identifier: Apache-2.0
// Pairs whose two processes address the same memory: host form, shared memory of one host, and a
// process with itself.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/settings.hpp"
#include "group/world.hpp"
#include "peer/arena.hpp"
#include "peer/exposed_memory.hpp"
#include "peer/holding.hpp"
#include "peer/local_peer.hpp"
#include "peer/memory.hpp"
#include "peer/pair_end.hpp"
#include "peer/plans.hpp"
#include "transport/transport.hpp"

namespace penstock::peer {

class Peer final : public transport::Transport {
 public:
  Peer(const base::Settings& settings, group::World& world);  // throws Error(setting)
  ~Peer() override;

  std::string name() const override { return std::string(base::peer_transport); }
  transport::WireRecord address() override;
  void add_peers(std::span<const transport::WireRecord> addresses) override;
  void peers_added() override;

  transport::Verdict usable() const override;
  transport::Counts counts() const override;
  transport::Verdict can_serve(const transport::Message& message) const override;
  std::unique_ptr<transport::Offer> offer(const transport::Message& send) override;
  std::unique_ptr<transport::Acceptance> accept(const transport::Message& receive,
                                                const transport::Message& send,
                                                std::span<const std::byte> offer) override;
  std::unique_ptr<transport::Offer> invite(const transport::Message& receive) override;
  std::unique_ptr<transport::Acceptance> accept_invitation(
      const transport::Message& send, const transport::Message& receive,
      std::span<const std::byte> invitation) override;

  transport::Verdict can_serve_window(const transport::WindowMemory& ours, int peer) const override;
  std::unique_ptr<transport::WindowOffer> open_window(const transport::WindowMemory& ours,
                                                      int peer) override;

  transport::Verdict can_serve_group(const transport::GroupMessage& ours) const override;
  std::size_t fastest_directly(const transport::GroupMessage& ours) const override;
  std::unique_ptr<transport::GroupOffer> open_group(const transport::GroupMessage& ours) override;

  transport::Verdict can_share(const void* memory, std::size_t bytes) const override;
  transport::SharedMemory share(const void* memory, std::size_t bytes) override;
  std::shared_ptr<std::byte> open_shared(int owner, std::span<const std::byte> record) override;

  // For the forms of GPUs, whose halves keep in host memory what host threads of both ends look at.
  // They announce themselves later.
  bool announced() const noexcept { return memory_ != nullptr; }
  transport::Verdict reaches(int rank) const;  // the shared memory of that process
  Holding hold(std::size_t block_bytes, std::shared_ptr<const void> keep) {
    return Holding(*arena_, block_bytes, std::move(keep));
  }
  Arena& arena() noexcept { return *arena_; }  // where usable()
  // Memory of the program's, for its peers; and theirs for us, or nothing where neither shared
  // memory nor a copy by the kernel gets there. Throws Error(resources).
  ExposedMemory expose(const void* memory, std::size_t bytes) const;
  std::optional<RemoteMemory> reach(int rank, const MemoryRecord& theirs) const;
  // Whether that rank gets at this memory of ours.
  bool reached_by(int rank, const MemoryRecord& ours) const noexcept;
  std::byte* map(int rank, const ArenaAddress& place) const;
  Retired& retired() const noexcept { return retired_; }
  Pair pair_with(int rank) const;
  const std::atomic<bool>& dead(int rank) const noexcept { return world_.dead(rank); }
  std::size_t window_eager_max() const noexcept { return settings_.window_eager_max; }
  std::size_t eager_max() const noexcept { return settings_.eager_max; }
  std::chrono::milliseconds timeout() const noexcept { return settings_.timeout; }
  // An end of a channel is matched whose units have words.
  void count_words() noexcept { channels_by_words_.fetch_add(1, std::memory_order_relaxed); }
  bool is_self(int rank) const noexcept { return rank == world_.rank(); }
  // Whether we get at ordinary memory of that process.
  bool copies_across(int rank) const noexcept {
    return peers_[static_cast<std::size_t>(rank)].cross_memory;
  }

  Memory& memory() noexcept { return *memory_; }  // from address() on
  const Memory& memory() const noexcept { return *memory_; }
  const Arena* shared_memory() const noexcept { return arena_.get(); }  // null: there is none

 private:
  class OpenEnd;
  class ChoosingEnd;

  void reach_buffer(PortSetup& port, const transport::Message& ours,
                    const MemoryRecord& theirs) const;
  std::unique_ptr<transport::Plan> plan_as_chosen(const transport::Message& ours,
                                                  const ChoiceRecord& choice,
                                                  const MemoryRecord& theirs, Pair& pair) const;
  std::unique_ptr<transport::Plan> make_or_close(
      transport::Direction direction, Pair& pair,
      const std::function<std::unique_ptr<transport::Plan>()>& make);

  const base::Settings& settings_;
  group::World& world_;
  std::unique_ptr<Arena> arena_;
  std::string why_no_arena_ = "not announced";
  std::vector<std::uint64_t> probe_;  // others write here while they get to know us
  base::SharedTexts texts_;
  std::vector<LocalPeer> peers_;
  std::unique_ptr<Memory> memory_;
  mutable Retired retired_;
  std::atomic<std::uint64_t> channels_by_words_{0};
};

}  // namespace penstock::peer
