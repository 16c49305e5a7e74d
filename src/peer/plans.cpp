// SPDX-License-Identifier: Apache-2.0
#include "peer/plans.hpp"

#include <fmt/format.h>

#include <atomic>

#include "base/error.hpp"
#include "peer/end_plan.hpp"
#include "peer/rendezvous_ends.hpp"
#include "peer/ring_ends.hpp"

namespace penstock::peer {

namespace {

// Short lines let the receiver copy out while the sender still copies in; long ones cost fewer
// flags. The limits are measured (docs/performance.md).
constexpr std::uint32_t small_line = cache_line;
constexpr std::uint32_t medium_line = 256;
constexpr std::uint32_t large_line = 1024;
constexpr std::uint32_t page_line = 4096;
constexpr std::size_t largest_in_small_lines = 512;
constexpr std::size_t largest_in_medium_lines = 4096;
constexpr std::size_t largest_in_large_lines = 32768;

std::uint64_t value_of(const std::uint64_t& word) {
  return std::atomic_ref(const_cast<std::uint64_t&>(word)).load(std::memory_order_relaxed);
}

template <protocol::Mode mode, std::size_t line_bytes>
std::unique_ptr<transport::Plan> make_ring(transport::Direction direction, Pair&& pair) {
  if (direction == transport::Direction::send)
    return std::make_unique<EndPlan<RingSend<mode, line_bytes>>>(std::move(pair));
  return std::make_unique<EndPlan<RingReceive<mode, line_bytes>>>(std::move(pair));
}

template <protocol::Mode mode>
std::unique_ptr<transport::Plan> make(transport::Direction direction, Path path, Pair&& pair) {
  if (path != Path::rendezvous) {
    switch (pair.port.cut.line_bytes) {
      case small_line:
        return make_ring<mode, small_line>(direction, std::move(pair));
      case medium_line:
        return make_ring<mode, medium_line>(direction, std::move(pair));
      case large_line:
        return make_ring<mode, large_line>(direction, std::move(pair));
      case page_line:
        return make_ring<mode, page_line>(direction, std::move(pair));
      default:
        throw base::Error(base::ErrorKind::internal, "the peer chose lines of an unknown size");
    }
  }
  if (direction == transport::Direction::send)
    return std::make_unique<EndPlan<RendezvousSend<mode>>>(std::move(pair));
  return std::make_unique<EndPlan<RendezvousReceive<mode>>>(std::move(pair));
}

}  // namespace

std::uint32_t line_bytes_for(std::size_t message_bytes) noexcept {
  if (message_bytes <= largest_in_small_lines) return small_line;
  if (message_bytes <= largest_in_medium_lines) return medium_line;
  return message_bytes <= largest_in_large_lines ? large_line : page_line;
}

std::unique_ptr<transport::Plan> make_plan(transport::Direction direction, Path path,
                                           protocol::Mode mode, Pair&& pair) {
  switch (mode) {
    case protocol::Mode::standard:
      return make<protocol::Mode::standard>(direction, path, std::move(pair));
    case protocol::Mode::synchronous:
      return make<protocol::Mode::synchronous>(direction, path, std::move(pair));
    case protocol::Mode::ready:
      return make<protocol::Mode::ready>(direction, path, std::move(pair));
    case protocol::Mode::buffered:
      break;
  }
  return make<protocol::Mode::buffered>(direction, path, std::move(pair));
}

std::string missing_from_receiver(const SenderBlock& block, protocol::Mode mode,
                                  protocol::Epoch epoch, unsigned slots) {
  if (mode == protocol::Mode::synchronous)
    return fmt::format("the start of the receive (CTS {} of {})", value_of(block.cts), epoch);
  return fmt::format("room: the receive's wait of epoch {} (FIN {})", epoch + 1 - slots,
                     value_of(block.fin));
}

std::string missing_receive(const SenderBlock& block) {
  return fmt::format("the receive (CTS {}, FIN {})", value_of(block.cts), value_of(block.fin));
}

std::string missing_send(const ReceiverBlock& block) {
  return fmt::format("the send (RTS {}, DONE {})", value_of(block.rts), value_of(block.done));
}

}  // namespace penstock::peer
