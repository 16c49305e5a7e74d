// SPDX-License-Identifier: Apache-2.0
// The port of both ends of a window's pair. What goes by lines is a stream, cut into the lines of a
// slot:
//   HEAD: lines behind the first, parts | number of operations |
//   the operations (plan/operation_stream.hpp)
#pragma once

#include <cstddef>
#include <cstdint>

#include "peer/host_port.hpp"
#include "plan/operation_stream.hpp"
#include "protocol/window.hpp"
#include "transport/window.hpp"

namespace penstock::peer {

inline constexpr std::size_t window_line = 256;
inline constexpr unsigned window_slots = 4;

using plan::StreamWord;
inline constexpr std::size_t head_words = 2;

std::size_t lines_for(std::size_t words) noexcept;  // of operations, HEAD's among them

// How the list of an epoch is moved.
struct EpochWay {
  protocol::window::Head head;
  std::uint64_t eager_operations = 0;  // operations in lines
  bool accumulates_only = false;       // else all of the list, or none
  bool goes_eager(const transport::Operation& operation) const noexcept {
    return eager_operations != 0 &&
           (!accumulates_only || operation.verb == transport::Verb::accumulate);
  }
};
EpochWay way_of(const transport::Operations& list, const transport::WindowReach& reach,
                std::size_t eager_max) noexcept;

class WindowPort : public HostPort<window_line> {
 public:
  explicit WindowPort(const PortSetup& setup) noexcept : HostPort(setup) {}

  // ---- Origin
  // Begins an epoch. The list stays until it has ended.
  void begin(const transport::Operations& list, const EpochWay& way,
             transport::Promise promise = transport::Promise::none) noexcept;
  protocol::window::Head head() const noexcept { return way_.head; }
  transport::Promise promise() const noexcept { return promise_; }
  void fill(unsigned slot, std::uint32_t line) noexcept;
  void move(std::uint32_t part) noexcept;
  template <protocol::Order order>
  void store_part(std::uint32_t, protocol::Epoch epoch) const noexcept {
    store<order>(protocol::Word::done, epoch);
  }

  // ---- Target
  protocol::window::Head read_head(unsigned slot) noexcept;
  void drain(unsigned slot, std::uint32_t line) noexcept;
  template <protocol::Order order>
  protocol::Epoch load_part(std::uint32_t) const noexcept {
    return load<order>(protocol::Word::done);
  }

 private:
  bool next_eager() noexcept;
  void write_stream(std::byte* to, std::size_t bytes) noexcept;
  void read_stream(const std::byte* from, std::size_t bytes) noexcept;
  void move_one(const transport::Operation& operation) noexcept;

  const transport::Operations* list_ = nullptr;
  EpochWay way_;
  transport::Promise promise_ = transport::Promise::none;
  std::size_t at_ = 0;  // in the list, of the next operation
  plan::OperationWriter writer_;
  plan::OperationReader reader_;
  std::uint64_t operations_left_ = 0;
};

static_assert(protocol::window::MovesOperations<WindowPort>);

// An origin's, with the lists of its epochs.
class OriginPort : public WindowPort {
 public:
  struct Setup {
    transport::OperationLists* lists = nullptr;
    transport::WindowReach reach;
    std::size_t eager_max = 0;
  };
  OriginPort(const PortSetup& port, const Setup& setup) noexcept
      : WindowPort(port), setup_(setup) {}

  void begin_next() noexcept {
    const transport::EpochList& epoch = setup_.lists->next();
    step_ = epoch.step;
    begin(epoch.operations, way_of(epoch.operations, setup_.reach, setup_.eager_max),
          epoch.promise);
  }
  bool opens() const noexcept { return step_ == transport::AccessStep::open; }
  // With an epoch that was opened before.
  bool goes_on() const noexcept { return step_ == transport::AccessStep::close; }

 private:
  Setup setup_;
  transport::AccessStep step_ = transport::AccessStep::whole;
};

}  // namespace penstock::peer
