// SPDX-License-Identifier: Apache-2.0
#include "traffic.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "collective_traffic.hpp"
#include "rank_grid.hpp"

namespace penstock::bench {
namespace {

using Parts = std::vector<Traffic::Part>;

std::size_t bytes_of(const Parts& parts) {
  std::size_t bytes = 0;
  for (const Traffic::Part& part : parts) bytes += part.bytes;
  return bytes;
}

// On host streams a window's messages are at most 16 MiB: more would measure the memory and not the
// message.
std::size_t window_for(const Options& options, std::size_t bytes) {
  const auto window = static_cast<std::size_t>(options.window);
  constexpr std::size_t most = std::size_t{16} << 20;
  if (options.on_cuda()) return window;
  return std::clamp<std::size_t>(most / std::max<std::size_t>(1, bytes), 1, window);
}

// From each rank of the first half to its partner in the second half, and the answer back.
Row there_and_back(const Options& options, const tool::Session& session, std::size_t bytes) {
  const bool ping_pong = is_ping_pong(options.kind);
  const std::size_t count = ping_pong ? 1 : window_for(options, bytes);
  const int pairs = session.size() / 2;
  const bool leads = session.rank() < pairs;
  const int partner = session.rank() + (leads ? pairs : -pairs);
  const Parts there(count, {partner, bytes, 0, options.mode, options.layout});
  // On host streams nothing tells the peer of a window that the receive of its answer stands.
  Parts back = there;
  if (!ping_pong)
    back = options.on_cuda() ? Parts{{partner, 8, 0, options.mode}} : Parts{{partner, 1, 1}};
  const auto shape = ping_pong ? Traffic::Shape::ping_pong : Traffic::Shape::window;
  return {
      {shape, session.rank(), session.size(), leads, leads ? there : back, leads ? back : there},
      bytes,
      count,
      bytes * count * static_cast<std::size_t>(pairs)};
}

Row at_once(const tool::Session& session, Parts sends, Parts receives, std::size_t edge = 0) {
  const std::size_t bytes = bytes_of(sends), count = sends.size();
  return {{Traffic::Shape::at_once, session.rank(), session.size(), true, std::move(sends),
           std::move(receives)},
          bytes,
          count,
          bytes * static_cast<std::size_t>(session.size()),
          edge};
}

// By direction of travel: so between two ranks sends and receives have one order. A neighbour may
// be this rank itself.
Row with_neighbours(const Options& options, const tool::Session& session, std::size_t edge) {
  Parts sends, receives;
  for (const HaloMessage& each : halo_messages(session.rank(), session.size(), edge)) {
    sends.push_back({each.to, each.bytes, each.direction, options.mode});
    receives.push_back({each.from, each.bytes, each.direction});
  }
  return at_once(session, std::move(sends), std::move(receives), edge);
}

std::vector<int> partners_of(const Options& options, const tool::Session& session) {
  if (options.pairs == Pairs::neighbours) return {session.rank() ^ 1};
  std::vector<int> partners;
  for (int rank = 0; rank < session.size(); ++rank)
    if (rank != session.rank()) partners.push_back(rank);
  return partners;
}

// One message of each size to each partner and as much back.
Row with_partners(const Options& options, const tool::Session& session,
                  const std::vector<std::size_t>& sizes) {
  Parts parts;
  for (const int partner : partners_of(options, session))
    for (const std::size_t bytes : sizes) parts.push_back({partner, bytes, 0, options.mode});
  return at_once(session, parts, parts);
}

// The 26 messages of a cube's halo: faces, edges and corners.
std::vector<std::size_t> halo_sizes(std::size_t edge) {
  std::vector<std::size_t> sizes(6, edge * edge * sizeof(double));
  sizes.insert(sizes.end(), 12, edge * sizeof(double));
  sizes.insert(sizes.end(), 8, sizeof(double));
  return sizes;
}

}  // namespace

std::vector<Row> rows_of(const Options& options, const tool::Session& session) {
  std::vector<Row> rows;
  if (options.kind == Kind::halo) {
    for (const std::size_t edge : options.halo)
      rows.push_back(with_neighbours(options, session, edge));
  } else if (options.kind == Kind::exchange) {
    for (const std::size_t bytes : options.sizes)
      rows.push_back(with_partners(options, session, {bytes}));
    if (rows.empty())
      for (const std::size_t edge : options.halo)
        rows.push_back(with_partners(options, session, halo_sizes(edge)));
  } else if (is_collective(options.kind)) {
    rows = collective_rows(options, session);
  } else {
    for (const std::size_t bytes : message_sizes(options))
      rows.push_back(there_and_back(options, session, bytes));
  }
  return rows;
}

std::vector<std::string> notes_of(const Options& options, const tool::Session& session) {
  std::vector<std::string> notes;
  if (options.layout.has_gaps())
    notes.push_back(fmt::format(
        "messages lie in rows of {} bytes with gaps of {} bytes; sizes are without gaps",
        options.layout.row, options.layout.gap));
  if (is_collective(options.kind)) {
    notes.push_back("one behind the other on a stream; what they bring is verified before");
  } else if (is_windowed(options.kind)) {
    notes.push_back(fmt::format("{} pair(s) at once, windows of {} messages", session.size() / 2,
                                options.window));
  } else if (options.kind == Kind::halo) {
    const auto grid = rank_grid(session.size());
    notes.push_back(fmt::format("26 messages each way on a periodic grid of {} x {} x {} ranks",
                                grid[0], grid[1], grid[2]));
  } else if (options.kind == Kind::exchange && options.sizes.empty()) {
    for (const std::size_t edge : options.halo)
      notes.push_back(fmt::format(
          "halo of {0}^3 doubles: 26 messages to each partner: 6 of {1} bytes, 12 of {2}, 8 of {3}",
          edge, edge * edge * sizeof(double), edge * sizeof(double), sizeof(double)));
  }
  return notes;
}

}  // namespace penstock::bench
