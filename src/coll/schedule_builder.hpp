// SPDX-License-Identifier: Apache-2.0
// Writes a schedule from its first phase to its last. What has no bytes is left out: a message of
// none at both ends, which know its length alike. Only where ranks meet it is there for itself.
#pragma once

#include <cstddef>
#include <vector>

#include "coll/schedule.hpp"

namespace penstock::coll {

class ScheduleBuilder {
 public:
  // Each starts at a multiple of 64 bytes.
  Region temporary(std::size_t bytes);

  // Local steps of the phase that is being written. They are carried out before its messages.
  void copy(const Region& from, const Region& to);
  void permute(const Region& from, const Region& to, std::size_t rows, std::size_t columns);
  void reduce(std::vector<Region> from, const Region& to);

  void send(int peer, const Region& region);
  void receive(int peer, const Region& region);
  // Messages of no bytes each way: the phase ends when both have come here.
  void meet(int peer);

  // Others may use the input and the output up to here: no receive into them starts before this
  // phase.
  void buffers_are_free() { buffers_free_ = phases_.size() - 1; }

  // All ranks count phases alike, also those that have nothing to do in some.
  void next_phase() { skip_phases(1); }
  void skip_phases(std::size_t count) { phases_.resize(phases_.size() + count); }

  Schedule finish();

 private:
  std::size_t first_start(const Region& region) const;

  std::vector<Phase> phases_{1};
  std::size_t temporary_ = 0;
  std::size_t buffers_free_ = 0;
};

}  // namespace penstock::coll
