// SPDX-License-Identifier: Apache-2.0
// A window's target. Its post adds to a word at the origin; its wait ends when the origin has added
// to `consumed` here. The network moves what lies between, into a region and out of it; accumulates
// come in pages, which the engine applies.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "ofi/accumulate_pages.hpp"
#include "ofi/end.hpp"
#include "ofi/handshake.hpp"
#include "transport/window.hpp"

namespace penstock::ofi {

class WindowTarget final : public End {
 public:
  WindowTarget(Common& common, int peer, fi_addr_t peer_address,
               const transport::WindowMemory& ours,
               std::size_t eager_max);  // throws base::Error
  ~WindowTarget() override;

  TargetRecord record() noexcept;
  void connect(const OriginRecord& origin) noexcept;

  static constexpr const char* advice = transport::target_advice;
  std::string describe() const;
  std::string path() const;
  bool wait_is_over(protocol::Epoch epoch) const noexcept { return complete(epoch); }
  bool end_wait(protocol::Epoch) const noexcept { return false; }

  unsigned entries() const noexcept override { return may_post_next() ? 1 : 0; }
  unsigned post() noexcept override;
  bool arrived(protocol::Epoch epoch) const noexcept override {
    return load(words().consumed) >= epoch;
  }

 private:
  std::uint64_t data_through(protocol::Epoch) const noexcept override { return 0; }
  bool is_whole(const PostedPart& part) const noexcept override { return part.addition; }
  Target added_word() const noexcept override {
    return {words_.peer(), posts_.address, posts_.key};
  }
  bool counters_near_limit() const noexcept override {
    return fires_at(rung_ + 1) >= common_.counter_limit;
  }
  void close_regions() noexcept override {
    window_.close();
    page_region_.close();
  }
  bool may_part() const noexcept override {
    return protocol::may_part(credits(), pages_applied_, false, is_writing());
  }
  protocol::Credits credits() const noexcept override { return pages_told_; }
  std::uint64_t credits_here() const noexcept override {
    return load(words().consumed) + load(words().taken);
  }
  bool give_credits() noexcept override;
  bool anything_under_way() const noexcept override {
    return End::anything_under_way() || page_told_.under_way;
  }

  std::byte* const base_;
  Region window_;  // one a pair, so that it ends with it; none where there are no bytes
  RemoteAddress posts_;
  const std::size_t page_bytes_;
  std::unique_ptr<std::byte[]> page_;
  Region page_region_;
  PageReader pages_;
  std::uint64_t pages_applied_ = 0;
  protocol::Credits pages_told_;
  RdmaOperation page_told_;
};

}  // namespace penstock::ofi
