// SPDX-License-Identifier: Apache-2.0
#include "ofi/window_target.hpp"

#include <fmt/format.h>

namespace penstock::ofi {

WindowTarget::WindowTarget(Common& common, int its_peer, fi_addr_t peer_address,
                           const transport::WindowMemory& ours, std::size_t eager_max)
    : End(common, {.triggered = true, .signals = false, .adds = true, .waits_for_peer = false},
          transport::Direction::receive, its_peer, peer_address),
      base_(static_cast<std::byte*>(ours.base)),
      page_bytes_(page_bytes(ours.bytes, eager_max)) {
  page_told_.belong_to(*this, RdmaOperation::Role::page);
  if (ours.bytes == 0) return;
  window_ = Region(common.fabric, base_, ours.bytes);
  page_ = std::make_unique_for_overwrite<std::byte[]>(page_bytes_);
  page_region_ = Region(common.fabric, page_.get(), page_bytes_);
}

WindowTarget::~WindowTarget() {
  if (over()) words_.are_free();
}

TargetRecord WindowTarget::record() noexcept {
  words_.have_been_told();
  TargetRecord record;
  record.words = words_.address();
  if (!window_) return record;
  record.window = window_.at(base_);
  record.page = page_region_.at(page_.get());
  record.page_bytes = page_bytes_;
  return record;
}

void WindowTarget::connect(const OriginRecord& origin) noexcept {
  words_.connect(origin.words);
  posts_ = origin.posts;
}

std::string WindowTarget::path() const {
  return fmt::format("ofi (window over {})", common_.fabric.provider());
}

std::string WindowTarget::describe() const {
  return fmt::format("epoch {}, waits for the origin's complete (it has completed {} epochs)",
                     started(), load(words().consumed));
}

unsigned WindowTarget::post() noexcept {
  const protocol::Epoch epoch = posted_.epoch + 1;
  if (!defer_addition(epoch, counters_.trigger, fires_at(epoch))) return 0;
  posted_.epoch = epoch;
  posted_.part = {.addition = true};
  return 1;
}

// The origin writes the next page when it has been told of this one.
bool WindowTarget::give_credits() noexcept {
  bool moved = false;
  if (!stopped_.now && !has_told_peer() && pages_applied_ < load(words().taken)) {
    pages_.take(page_.get(), base_);
    ++pages_applied_;
    moved = true;
  }
  if (!pages_told_.owed(pages_applied_) || page_told_.under_way) return moved;
  const Issued issued = issue_addition(page_told_, words_.remote(offsetof(PairWords, taken)));
  pages_told_.refused = issued == Issued::refused;
  if (issued == Issued::yes) ++pages_told_.given;
  return moved || issued == Issued::yes;
}

}  // namespace penstock::ofi
