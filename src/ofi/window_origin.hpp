// SPDX-License-Identifier: Apache-2.0
// A window's origin. Its complete lets the writes and reads of the epoch's list go as soon as the
// target has posted; when all have ended it adds to `consumed` at the target, whose wait looks
// there.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "ofi/accumulate_pages.hpp"
#include "ofi/end.hpp"
#include "ofi/handshake.hpp"
#include "ofi/window_pieces.hpp"
#include "transport/window.hpp"

namespace penstock::ofi {

class WindowOrigin final : public End {
 public:
  WindowOrigin(Common& common, int peer, fi_addr_t peer_address);  // throws base::Error
  ~WindowOrigin() override;

  OriginRecord record() noexcept;
  // Throws std::bad_alloc.
  void connect(const TargetRecord& target, transport::OperationLists& lists);

  static constexpr const char* advice = transport::origin_advice;
  std::string describe() const;
  std::string path() const;
  bool wait_is_over(protocol::Epoch epoch) const noexcept { return complete(epoch); }
  bool end_wait(protocol::Epoch) const noexcept { return false; }

  unsigned entries() const noexcept override;
  unsigned post() noexcept override;
  // Pages of accumulates are counted by nobody but us.
  bool arrived(protocol::Epoch epoch) const noexcept override {
    return protocol::triggered::may_tell({.fired = has_fired(epoch),
                                          .ended = read(counters_.data) >= data_through(epoch),
                                          .pages_left = hand_.epoch == epoch && !has_issued_all()});
  }

 private:
  // So many pieces that the engine issues are under way at a time.
  static constexpr unsigned pieces_at_once = 16;

  void look_ahead() noexcept override;
  void look() noexcept;
  void make(RdmaOperation& operation, const transport::Operation& piece) noexcept;
  bool issue_pieces() noexcept;
  bool issue_pages() noexcept;
  bool defer_piece(protocol::Epoch epoch) noexcept;
  std::uint64_t& through(protocol::Epoch epoch) noexcept {
    return through_[epoch % through_.size()];
  }

  std::uint64_t data_through(protocol::Epoch epoch) const noexcept override {
    return through_[epoch % through_.size()];
  }
  bool is_whole(const PostedPart& part) const noexcept override {
    return part.addition && (part.signal || !counters_.signals);
  }
  void begin_epoch(protocol::Epoch epoch) noexcept override;
  bool issue_rest() noexcept override;
  std::uint64_t unissued() const noexcept override {
    return hand_.under_way() ? pieces_.left() : 0;
  }
  bool has_issued_all() const noexcept override {
    return pieces_.done() && accumulates_.done() && page_.stage == Page::Stage::none;
  }
  Target added_word() const noexcept override {
    return words_.remote(offsetof(PairWords, consumed));
  }
  bool counters_near_limit() const noexcept override;
  void rewound() noexcept override;
  void close_regions() noexcept override { posts_.close(); }
  protocol::Epoch last_begun() const noexcept override {
    return std::min(rung_, load(words().cts));
  }
  bool signal_fires(protocol::Epoch epoch) const noexcept override {
    return epoch <= stopped_.begun;
  }
  bool is_writing() const noexcept override {
    return End::is_writing() || page_.write.under_way || (!stopped_.now && hand_.under_way());
  }
  bool may_part() const noexcept override {
    return protocol::may_part(credits(), credits().given, false, is_writing());
  }
  protocol::Credits credits() const noexcept override;
  std::uint64_t credits_here() const noexcept override { return load(words().taken); }
  bool anything_under_way() const noexcept override {
    return End::anything_under_way() || page_.write.under_way || page_.told.under_way;
  }

  // Of accumulates, one after the other.
  struct Page {
    enum class Stage : std::uint8_t { none, written, told };
    Stage stage = Stage::none;
    std::uint64_t number = 0;  // pages that the target has been told of
    std::unique_ptr<std::byte[]> memory;
    RdmaOperation write, told;
  };

  Region posts_;  // of the word that the target adds to
  TargetRecord target_;
  transport::OperationLists* lists_ = nullptr;
  // Of the epoch that has been looked at last.
  WindowPieces pieces_;
  PageWriter accumulates_;
  Page page_;
  protocol::Epoch looked_ = 0;
  std::array<std::uint64_t, 2 * epochs_ahead> through_{};  // what `data` shows behind an epoch
};

}  // namespace penstock::ofi
