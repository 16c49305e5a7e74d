// SPDX-License-Identifier: Apache-2.0
// The counters of one end of a pair, by which the provider lets deferred work go and tells what has
// ended: see end.hpp.
#pragma once

#include <rdma/fi_domain.h>

#include <cstdint>
#include <memory>

#include "base/no_copy.hpp"
#include "ofi/doorbell.hpp"
#include "ofi/fabric.hpp"
#include "protocol/epoch.hpp"

namespace penstock::ofi {

struct PairCounters : private base::NoCopy {
  Counter trigger, data, signals, added;
  std::unique_ptr<Doorbell> doorbell;  // of the trigger
  protocol::Epoch base = 0;            // they count from here

  std::uint64_t relative(protocol::Epoch epoch) const noexcept { return epoch - base; }

  // Throws base::Error.
  PairCounters(const Fabric& fabric, bool triggered, bool signalled, bool adds)
      : data(fabric.counter()) {
    if (triggered) {
      trigger = fabric.counter();
      doorbell = make_doorbell(*trigger, doorbell_word_);
    }
    if (signalled) signals = fabric.counter();
    if (adds) added = fabric.counter();
  }

  // What waits for the trigger waits for ever.
  void close() noexcept {
    doorbell.reset();
    trigger.reset();
    data.reset();
    signals.reset();
    added.reset();
  }

 private:
  std::uint64_t doorbell_word_ = 0;
};

inline std::uint64_t read(const Counter& counter) noexcept {
  return fi_cntr_read(counter.get());
}

inline void count(const Counter& counter, std::int64_t amount) noexcept {
  fi_cntr_add(counter.get(), static_cast<std::uint64_t>(amount));
}

}  // namespace penstock::ofi
