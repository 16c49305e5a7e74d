// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <penstock/penstock.hpp>
#include <span>

#include "bench_options.hpp"

namespace penstock::bench {

// Page-aligned bytes, ordinary or from PST_Alloc_mem; touched once, so that no page is new in a
// timed round.
class Storage {
 public:
  Storage(std::size_t bytes, MemoryKind kind) : bytes_(bytes) {
    if (kind == MemoryKind::alloc) {
      shared_.emplace(bytes);
    } else {
      ordinary_.reset(new (page) std::byte[bytes]());
    }
  }

  std::span<std::byte> all() noexcept {
    return shared_.has_value() ? shared_->all() : std::span<std::byte>(ordinary_.get(), bytes_);
  }

 private:
  static constexpr std::align_val_t page{4096};
  struct Delete {
    void operator()(std::byte* bytes) const noexcept { operator delete[](bytes, page); }
  };

  std::size_t bytes_;
  std::optional<Buffer<std::byte>> shared_;
  std::unique_ptr<std::byte[], Delete> ordinary_;
};

}  // namespace penstock::bench
