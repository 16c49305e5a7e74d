// SPDX-License-Identifier: Apache-2.0
// What one rank does in a collective, and nothing of how: messages between regions of its buffers,
// and local steps between these. It is plain data, so a test can carry out those of all ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

namespace penstock::coll {

// In place, and of a broadcast, there is only the output.
enum class Buffer : std::uint8_t { input, output, temporary };

struct Region {
  Buffer buffer = Buffer::output;
  std::size_t offset = 0;
  std::size_t bytes = 0;

  bool operator==(const Region&) const = default;

  std::size_t end() const noexcept { return offset + bytes; }
  Region part(std::size_t first, std::size_t length) const noexcept {
    return {buffer, offset + first, length};
  }
  // One of equally long parts.
  Region item(std::size_t number, std::size_t length) const noexcept {
    return part(number * length, length);
  }
};

inline bool overlap(const Region& a, const Region& b) noexcept {
  return a.buffer == b.buffer && a.offset < b.end() && b.offset < a.end() && a.bytes > 0 &&
         b.bytes > 0;
}

struct Copy {
  Region from, to;
};

// from[row][column][run] to to[column][row][run]: of three indices the first two change places.
struct Permute {
  Region from, to;
  std::size_t rows = 1;
  std::size_t columns = 1;

  std::size_t run() const noexcept { return from.bytes / (rows * columns); }
};

// Combines values in the order of the list, which decides the bits of the result. `to` may be one
// of them.
struct Reduce {
  std::vector<Region> from;
  Region to;
};

using LocalStep = std::variant<Copy, Permute, Reduce>;

std::vector<Region> regions_read(const LocalStep& step);
Region region_written(const LocalStep& step);
bool touches(const LocalStep& step, const Region& region);  // reads or writes some of it

struct Send {
  int peer;
  Region region;
};

// It ends in its phase. It starts as early as nothing else needs its region any more: with the
// sends of phase `start`.
struct Receive {
  int peer;
  Region region;
  std::size_t start;
};

// First the local steps, one after the other, then the messages, all at once. The next phase begins
// when they have ended. A message has one phase at both ends, and the k-th one from a rank to
// another in a phase is the k-th of both. So no ranks wait for each other in a circle: whoever is
// in the lowest phase has messages that have been started at both ends.
struct Phase {
  std::vector<LocalStep> steps;
  std::vector<Receive> receives;
  std::vector<Send> sends;
};

struct Schedule {
  std::vector<Phase> phases;
  std::size_t temporary = 0;  // bytes of the temporary buffer
};

}  // namespace penstock::coll
