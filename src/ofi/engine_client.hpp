// SPDX-License-Identifier: Apache-2.0
// What the engine moves along: the ends of pairs, and whatever else defers work of the network. All
// of it runs under the progress lock.
#pragma once

#include <cstdint>

#include "ofi/deferred_work.hpp"
#include "plan/active_list.hpp"
#include "plan/ready_list.hpp"

namespace penstock::ofi {

class EngineClient : public plan::ReadyItem<EngineClient>, public plan::ActiveItem {
 public:
  virtual ~EngineClient() = default;
  virtual bool advance() noexcept = 0;         // true: something has moved
  virtual bool has_work() const noexcept = 0;  // there is something to look after
  // What posting its next start takes; 0: there is none to be posted now.
  virtual unsigned entries() const noexcept = 0;
  // Posts it. Entries taken; fewer: the provider has no more.
  virtual unsigned post() noexcept = 0;
  // An operation of its own has ended, or failed with a code of libfabric.
  virtual void ended(RdmaOperation& operation) noexcept = 0;
  virtual void failed(RdmaOperation& operation, int code) noexcept = 0;

 protected:
  friend class OfiEngine;
  // What has happened since the engine asked.
  unsigned freed_entries_ = 0;  // of starts that have been posted
  bool taken_over_ = false;     // its next start, or a part of it, was carried out without entries

 private:
  friend class DeferredQueue;
  EngineClient* behind_ = nullptr;
  std::uint64_t ticket_ = 0;  // of its next start; 0: it does not stand in line
};

}  // namespace penstock::ofi
