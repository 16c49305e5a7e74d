// SPDX-License-Identifier: Apache-2.0
// A window's target: does what the origin's pages tell, once it has posted.
#pragma once

#include <cstddef>
#include <string>

#include "plan/operation_stream.hpp"
#include "proxy/window_end.hpp"
#include "proxy/window_way.hpp"
#include "transport/window.hpp"

namespace penstock::proxy {

class WindowTarget final : public WindowEnd {
 public:
  struct Setup {
    EndKey name;
    WindowTags ours, theirs;
    std::size_t page_bytes = 0;
    std::byte* window = nullptr;  // its first byte
  };
  // Throws base::Error.
  WindowTarget(const Setup& setup, MPI_Comm communicator);

  static constexpr const char* advice = transport::target_advice;
  std::string describe() const;

  void issue(ProxyEngine& engine) noexcept override;
  void ended(MpiSlot& slot, ProxyEngine& engine) noexcept override;
  void give_back(Tags& tags) noexcept override;

 private:
  static constexpr std::size_t page_slot = 0, first_post = 1;

  void send_posts(ProxyEngine& engine) noexcept;
  void await_page(ProxyEngine& engine) noexcept;
  void take_page() noexcept;
  void advance(ProxyEngine& engine) noexcept;
  bool read_page(ProxyEngine& engine) noexcept;
  bool move_apart(ProxyEngine& engine) noexcept;

  const Setup setup_;
  plan::OperationReader reader_;
  PageHead head_;                  // of the page that has come last
  bool reading_ = false;           // it, and are not through
  std::size_t at_ = 0;             // in it
  bool owes_apart_ = false;        // what the reader has read goes apart, and has not begun
  protocol::Epoch last_read_ = 0;  // epoch whose pages have all been read
  std::uint64_t pages_ = 0;        // that have come
};

}  // namespace penstock::proxy
