// SPDX-License-Identifier: Apache-2.0
#include "halo.hpp"

namespace penstock::life {
namespace {

// Each message begins on a cache line of its own, so that two ranks never write to the same line.
constexpr std::size_t line = 64;

std::array<std::size_t, 8> message_sizes(const Board& board) {
  std::array<std::size_t, 8> sizes{};
  for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i] = board.edge(directions[i]).cells();
  return sizes;
}

std::array<std::size_t, 9> message_offsets(const std::array<std::size_t, 8>& sizes) {
  std::array<std::size_t, 9> offsets{};
  for (std::size_t i = 0; i < sizes.size(); ++i) offsets[i + 1] = offsets[i] + (sizes[i] + line - 1) / line * line;
  return offsets;
}

// With one or two ranks along an axis a rank is one's neighbour several times: the tag, and not the rank alone, says
// which message is meant. It names the direction in which the message travels.
int message_tag(int direction, int set) {
  return set * 8 + direction;
}

}  // namespace

Halo::Halo(const Board& board)
    : offsets_(message_offsets(message_sizes(board))), sizes_(message_sizes(board)), memory_(2 * offsets_.back()) {}

std::span<std::uint8_t> Halo::slice(int side, int direction) noexcept {
  const auto index = static_cast<std::size_t>(direction);
  return memory_.all().subspan(static_cast<std::size_t>(side) * offsets_.back() + offsets_[index], sizes_[index]);
}

void Halo::pack(const Board& board) noexcept {
  for (int i = 0; i < 8; ++i) board.copy_out(board.edge(directions[static_cast<std::size_t>(i)]), outgoing(i).data());
}

void Halo::unpack(Board& board) noexcept {
  for (int i = 0; i < 8; ++i) board.copy_in(board.ghost(directions[static_cast<std::size_t>(i)]), incoming(i).data());
}

HaloRequests::HaloRequests(Halo& halo, const Decomposition& decomposition, int rank, Mode mode, int set) {
  for (int i = 0; i < 8; ++i) {
    const int peer = decomposition.neighbour(rank, directions[static_cast<std::size_t>(i)]);
    requests_.add(recv_init(halo.incoming(i), peer, message_tag(opposite(i), set), MPI_COMM_WORLD));
  }
  for (int i = 0; i < 8; ++i) {
    const int peer = decomposition.neighbour(rank, directions[static_cast<std::size_t>(i)]);
    requests_.add(send_init(halo.outgoing(i), peer, message_tag(i, set), MPI_COMM_WORLD, mode));
  }
}

}  // namespace penstock::life
