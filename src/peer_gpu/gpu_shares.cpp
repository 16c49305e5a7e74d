// SPDX-License-Identifier: Apache-2.0
#include "peer_gpu/gpu_shares.hpp"

#include <algorithm>
#include <atomic>
#include <new>

#include "base/error.hpp"
#include "peer/handshake.hpp"

namespace penstock::peer_gpu {

using gpu::Standing;

namespace {

// A table's words are written by its process alone, and read by others at any time.
template <class Word>
auto shared(Word& word) noexcept {
  return std::atomic_ref(const_cast<std::remove_const_t<Word>&>(word));
}

// The multiprocessors that a kernel keeps while it waits, at most: where all its blocks stay (64,
// two to each, or 16 larger ones), and where one does, which may need one for itself.
constexpr unsigned kept_by_wide = 32, kept_by_narrow = 1;
// A queue's own, and its first graph's.
constexpr unsigned kernels_of_queue = 2;
// On GPUs that have room for much beside them, the first queue waits by wide kernels.
constexpr unsigned most_wide = kernels_of_queue, least_processors_for_wide = 108;
// What nothing that waits ever keeps, so that starts find room.
constexpr unsigned always_free = 4;

// How many narrow kernels a GPU has room for at once.
unsigned narrow_room(unsigned processors) {
  const unsigned wide = processors >= least_processors_for_wide ? most_wide * kept_by_wide : 0;
  return processors > wide + always_free ? (processors - wide - always_free) / kept_by_narrow : 0;
}

}  // namespace

// Counted are kernels that may wait at the same time. The places of queues and those of ends of
// pairs, which may be used on queues that have none, leave room together.
class GpuShares::Places final : public WaitPlaces, public std::enable_shared_from_this<Places> {
 public:
  Places(std::shared_ptr<GpuShares> shares, const DeviceIdentity& gpu, std::size_t use,
         unsigned processors, bool gates)
      : shares_(std::move(shares)), gpu_(gpu), use_(use), processors_(processors), gates_(gates) {}

  // Each counts itself first and looks then: of those that ask at the same time some may get less
  // than there is, and none gets more.
  Place take(User user) noexcept override {
    const unsigned kernels = user == User::queue ? kernels_of_queue : 1;
    if (processors_ >= least_processors_for_wide && kernels <= most())
      if (auto held = hold(&GpuUse::wide, kernels); held && shares_->totals(gpu_).wide <= most_wide)
        return {Standing::all_stay, std::move(held)};
    auto held = hold(&GpuUse::narrow, kernels);
    const Totals totals = shares_->totals(gpu_);
    if (held && (!gates_ || totals.narrow <= most())) return {Standing::one_stays, std::move(held)};
    return {};
  }
  std::shared_ptr<void> take_for_pair() noexcept override {
    auto held = hold(&GpuUse::pairs, 1);
    return held && shares_->totals(gpu_).pairs <= most_pairs() ? held : nullptr;
  }
  // Kernels of one block count none at run time, so all that may wait are left out: those of
  // queues, and those of ends of pairs, which wait on further queues.
  unsigned room() const noexcept override {
    const Totals totals = shares_->totals(gpu_);
    const bool full = totals.narrow + kernels_of_queue > most();
    const unsigned of_one_block = totals.narrow + (full ? totals.pairs : 0);
    const unsigned half = processors_ / 2;
    return std::max(1u, (half - std::min(half, of_one_block)) / std::max(1u, totals.processes));
  }

 private:
  // Of the room for narrow kernels a quarter is for ends of pairs.
  unsigned most() const noexcept {
    return std::min(shares_->most_, narrow_room(processors_) * 3 / 4);
  }
  unsigned most_pairs() const noexcept {
    return std::min(shares_->most_, narrow_room(processors_) / 4);
  }
  std::shared_ptr<void> hold(std::uint32_t GpuUse::*what, unsigned kernels) noexcept {
    shares_->count(use_, what, kernels);
    try {
      // Without memory for the owner the deleter is called at once.
      return std::shared_ptr<void>(this, [self = shared_from_this(), what, kernels](void*) {
        self->shares_->count(self->use_, what, 0 - kernels);
      });
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }

  const std::shared_ptr<GpuShares> shares_;
  const DeviceIdentity gpu_;
  const std::size_t use_;
  const unsigned processors_;
  const bool gates_;
};

transport::WireRecord GpuShares::address(peer::Peer& host) {
  if (!host.announced())
    throw base::Error(base::ErrorKind::internal,
                      "the table of places is announced before the memory it lies in");
  if (!host.usable().yes) return {};
  ours_ = new (host.arena().allocate(sizeof(Table), alignof(Table))) Table{};
  return transport::to_wire(*host.arena().find(ours_, sizeof(Table)));
}

void GpuShares::add_peers(group::World& world, const peer::Peer& host,
                          std::span<const transport::WireRecord> addresses) {
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const int rank = static_cast<int>(i);
    if (addresses[i].empty() || rank == world.rank() || !host.reaches(rank).yes) continue;
    const auto place = transport::from_wire<peer::ArenaAddress>(addresses[i]);
    others_.push_back({reinterpret_cast<const Table*>(host.map(rank, place)), &world.dead(rank)});
  }
}

// What this process still holds, in graphs that live on, is not counted any more.
void GpuShares::leave() noexcept {
  const std::lock_guard lock(mutex_);
  for (GpuUse& use : *ours_) shared(use.in_use).store(0, std::memory_order_release);
  ours_ = &own_;
  others_.clear();
}

std::shared_ptr<WaitPlaces> GpuShares::places(const DeviceIdentity& gpu, unsigned processors,
                                              bool gates) {
  return std::make_shared<Places>(shared_from_this(), gpu, use_of(gpu), processors, gates);
}

// Release: the identity comes before what says that there is one.
std::size_t GpuShares::use_of(const DeviceIdentity& gpu) {
  const std::lock_guard lock(mutex_);
  for (GpuUse& use : *ours_) {
    if (use.in_use != 0 && use.gpu != gpu) continue;
    use.gpu = gpu;
    shared(use.in_use).store(1, std::memory_order_release);
    return static_cast<std::size_t>(&use - ours_->data());
  }
  throw base::Error(base::ErrorKind::resources, "a process may have queues on 32 GPUs at most");
}

void GpuShares::count(std::size_t use, std::uint32_t GpuUse::*what, std::uint32_t more) noexcept {
  const std::lock_guard lock(mutex_);
  shared((*ours_)[use].*what).fetch_add(more);
}

GpuShares::Totals GpuShares::totals(const DeviceIdentity& gpu) const noexcept {
  const std::lock_guard lock(mutex_);
  Totals totals;
  const auto add = [&](const Table& table) {
    for (const GpuUse& use : table) {
      if (shared(use.in_use).load(std::memory_order_acquire) == 0) return;
      if (use.gpu != gpu) continue;
      ++totals.processes;
      totals.wide += shared(use.wide).load();
      totals.narrow += shared(use.narrow).load();
      totals.pairs += shared(use.pairs).load();
    }
  };
  add(*ours_);
  for (const Other& other : others_)
    if (!other.dead->load(std::memory_order_acquire)) add(*other.table);
  return totals;
}

}  // namespace penstock::peer_gpu
