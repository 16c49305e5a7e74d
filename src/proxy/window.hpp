// SPDX-License-Identifier: Apache-2.0
// Both ends of the pairs with one peer of a window, until they are connected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "proxy/engine.hpp"
#include "proxy/window_end.hpp"
#include "transport/window.hpp"

namespace penstock::proxy {

struct WindowRecord {
  std::uint64_t pair = 0;  // of our target
  std::uint64_t page_bytes = 0;
  WindowTags tags;
};

class ProxyWindow final : public transport::WindowOffer {
 public:
  // Throws base::Error.
  ProxyWindow(ProxyEngine& engine, const transport::WindowMemory& ours, int peer,
              std::size_t eager_max);

  transport::WireRecord record() const override;
  transport::WindowEnds connect(std::span<const std::byte> theirs,
                                transport::OperationLists& lists) override;

 private:
  ProxyEngine& engine_;
  const transport::WindowMemory ours_;
  const int peer_;
  const std::size_t eager_max_;
  WindowRecord record_;
};

}  // namespace penstock::proxy
