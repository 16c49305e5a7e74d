// SPDX-License-Identifier: Apache-2.0
// What the plans of both ends and both paths have in common: the end of a pair, and the words that tell about it.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "transport/host_plan.hpp"
#include "transport/peer/holding.hpp"
#include "transport/peer/host_port.hpp"

namespace penstock::transport::peer {

// Everything fixed at match.
struct Pair {
  int peer = -1;  // world rank
  const std::atomic<bool>* peer_dead = nullptr;
  PortSetup port;
  Holding holding;
  Retired* retired = nullptr;
  std::string path;  // for the pair's log line
};

class PairPlan : public HostPlan {
 public:
  // `closed_by_us` lies in the peer's block, `closed_by_peer` in ours.
  PairPlan(Pair pair, std::uint64_t& closed_by_us, std::uint64_t& closed_by_peer);
  ~PairPlan() override;

  bool peer_closed(Epoch epoch) const noexcept final;
  std::string path() const final { return "peer (" + path_ + ")"; }
  std::string describe() const final;

 protected:
  virtual Epoch done() const noexcept = 0;
  virtual std::string missing(Epoch epoch) const = 0;  // "the receive's start (CTS 4)"
  virtual void keep_peer_from_copying(Epoch) noexcept {}

  void run_close() noexcept final { close_at(done() + 1); }
  void spoil() noexcept final;

  // The epoch that a start begins, kept for describe(), which runs on another thread.
  void begin(Epoch epoch) noexcept { shown_epoch_.store(epoch, std::memory_order_relaxed); }
  std::optional<base::Error> why_hopeless(Epoch epoch) const;
  base::Error peer_freed(Epoch epoch) const;
  base::Error copy_failed(int error) const;

 private:
  void close_at(Epoch first_not_served) noexcept;

  std::uint64_t& closed_by_us_;
  std::uint64_t& closed_by_peer_;
  int peer_;
  const std::atomic<bool>& peer_dead_;
  std::atomic<Epoch> shown_epoch_{0};
  bool closed_ = false;
  Holding holding_;
  Retired& retired_;
  std::string path_;
};

}  // namespace penstock::transport::peer
