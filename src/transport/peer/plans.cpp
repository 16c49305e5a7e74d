// SPDX-License-Identifier: Apache-2.0
#include "transport/peer/plans.hpp"

#include <fmt/format.h>

#include <atomic>

#include "base/error.hpp"
#include "transport/peer/rendezvous_plan.hpp"
#include "transport/peer/ring_plan.hpp"

namespace penstock::transport::peer {

namespace {

// Short lines let the receiver copy out while the sender still copies in; long ones cost fewer flags. The limits are
// measured (docs/performance.md).
constexpr std::uint32_t small_line = cache_line;
constexpr std::uint32_t medium_line = 256;
constexpr std::uint32_t large_line = 1024;
constexpr std::uint32_t page_line = 4096;
constexpr std::size_t largest_in_small_lines = 512;
constexpr std::size_t largest_in_medium_lines = 4096;
constexpr std::size_t largest_in_large_lines = 32768;

std::uint64_t look(const std::uint64_t& word) {
  return std::atomic_ref(const_cast<std::uint64_t&>(word)).load(std::memory_order_relaxed);
}

template <Mode mode, std::size_t line_bytes>
std::unique_ptr<Plan> make_ring(Direction direction, Pair&& pair) {
  if (direction == Direction::send) return std::make_unique<RingSend<mode, line_bytes>>(std::move(pair));
  return std::make_unique<RingReceive<mode, line_bytes>>(std::move(pair));
}

template <Mode mode>
std::unique_ptr<Plan> make(Direction direction, Path path, Pair&& pair) {
  if (path != Path::rendezvous) {
    switch (pair.port.geometry.line_bytes) {
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
  if (direction == Direction::send) return std::make_unique<RendezvousSend<mode>>(std::move(pair));
  return std::make_unique<RendezvousReceive<mode>>(std::move(pair));
}

}  // namespace

std::uint32_t line_bytes_for(std::size_t message_bytes) noexcept {
  if (message_bytes <= largest_in_small_lines) return small_line;
  if (message_bytes <= largest_in_medium_lines) return medium_line;
  return message_bytes <= largest_in_large_lines ? large_line : page_line;
}

std::unique_ptr<Plan> make_plan(Direction direction, Path path, Mode mode, Pair&& pair) {
  switch (mode) {
    case Mode::standard:
      return make<Mode::standard>(direction, path, std::move(pair));
    case Mode::synchronous:
      return make<Mode::synchronous>(direction, path, std::move(pair));
    case Mode::ready:
      return make<Mode::ready>(direction, path, std::move(pair));
    case Mode::buffered:
      break;
  }
  return make<Mode::buffered>(direction, path, std::move(pair));
}

std::string missing_from_receiver(const SenderBlock& block, Mode mode, Epoch epoch, unsigned slots) {
  if (mode == Mode::synchronous) return fmt::format("the start of the receive (CTS {} of {})", look(block.cts), epoch);
  return fmt::format("room: the receive's wait of epoch {} (FIN {})", epoch + 1 - slots, look(block.fin));
}

std::string missing_receive(const SenderBlock& block) {
  return fmt::format("the receive (CTS {}, FIN {})", look(block.cts), look(block.fin));
}

std::string missing_send(const ReceiverBlock& block) {
  return fmt::format("the send (RTS {}, DONE {})", look(block.rts), look(block.done));
}

}  // namespace penstock::transport::peer
