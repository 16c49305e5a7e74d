// SPDX-License-Identifier: Apache-2.0
// The operations that may be with the provider at once, made at the start.
#pragma once

#include <memory>
#include <utility>

#include "ofi/deferred_work.hpp"

namespace penstock::ofi {

class OperationPool {
 public:
  explicit OperationPool(unsigned count) : operations_(std::make_unique<RdmaOperation[]>(count)) {
    for (unsigned i = 0; i < count; ++i) give(operations_[i]);
  }
  RdmaOperation* take() noexcept {  // null: all are in use
    return free_ ? std::exchange(free_, free_->next) : nullptr;
  }
  void give(RdmaOperation& operation) noexcept {
    operation.next = free_;
    free_ = &operation;
  }

 private:
  const std::unique_ptr<RdmaOperation[]> operations_;
  RdmaOperation* free_ = nullptr;
};

}  // namespace penstock::ofi
