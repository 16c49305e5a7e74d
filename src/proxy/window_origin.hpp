// SPDX-License-Identifier: Apache-2.0
// A window's origin: gives MPI the pages of an epoch's list and what goes apart.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>

#include "plan/operation_stream.hpp"
#include "proxy/window_end.hpp"
#include "proxy/window_way.hpp"
#include "transport/operations.hpp"
#include "transport/window.hpp"

namespace penstock::proxy {

class WindowOrigin final : public WindowEnd {
 public:
  struct Setup {
    EndKey name;
    WindowTags ours, theirs;
    std::size_t page_bytes = 0;
    std::size_t eager_bytes = 0;  // of operations that go without a post
    transport::OperationLists* lists = nullptr;
  };
  // Throws base::Error.
  WindowOrigin(const Setup& setup, MPI_Comm communicator);

  static constexpr const char* advice = transport::origin_advice;
  std::string describe() const;

  void issue(ProxyEngine& engine) noexcept override;
  void ended(MpiSlot& slot, ProxyEngine& engine) noexcept override;
  void give_back(Tags& tags) noexcept override;

 private:
  static constexpr std::size_t post_slot = 0, first_page = 1;

  void begin_list() noexcept;
  void advance(ProxyEngine& engine) noexcept;
  bool is_posted(ProxyEngine& engine) noexcept;
  bool send_page(ProxyEngine& engine) noexcept;
  std::size_t fill(std::byte* page) noexcept;
  bool give_apart(ProxyEngine& engine) noexcept;
  void take_last_posts() noexcept;

  const Setup setup_;
  // Of the present epoch.
  plan::OperationWriter writer_;
  Pieces told_, given_;  // up to where pages tell them; up to where those apart have been given MPI
  bool told_all_ = false;
  std::atomic<protocol::Epoch> needed_{0};  // posts
  std::atomic<protocol::Epoch> posts_{0};   // that have come
};

}  // namespace penstock::proxy
