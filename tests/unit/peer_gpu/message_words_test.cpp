// SPDX-License-Identifier: Apache-2.0
// Messages of all lengths, rows and alignments, moved word by word from one buffer to another as a
// ring does it: each byte arrives at its place, and none beside it changes.
#include "peer_gpu/message_words.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "datatype/place.hpp"

namespace penstock::peer_gpu {
namespace {

using datatype::Segments;

constexpr std::size_t room = 4096;
constexpr std::byte untouched{0xee};

struct End {
  alignas(16) std::byte memory[room];
  Segments segments;
  Pair pair;

  // `row` 0: without gaps.
  End(std::uint64_t bytes, std::uint64_t row, std::int64_t stride, std::size_t shift)
      : segments(row == 0 ? bytes : row) {
    if (row != 0) segments.repeat((bytes + row - 1) / row, stride);
    pair.buffer = memory + 64 + shift;
    pair.bytes = bytes;
    if (row != 0) pair.rows = *datatype::rows_of(segments);
  }
  End(const End&) = delete;
  End& operator=(const End&) = delete;

  void clear() { std::fill(std::begin(memory), std::end(memory), untouched); }
  std::size_t index_of(std::uint64_t position) const {
    const auto view = segments.view();
    const auto offset = offset_of(view, place_at(view, position));
    return static_cast<std::size_t>(pair.buffer - memory + offset);
  }
};

template <Fit from, Fit to>
void expect_moved(End& source, End& sink) {
  source.clear();
  sink.clear();
  std::vector<std::byte> expected(std::begin(sink.memory), std::end(sink.memory));
  for (std::uint64_t i = 0; i < source.pair.bytes; ++i)
    expected[sink.index_of(i)] = source.memory[source.index_of(i)] = static_cast<std::byte>(i * 7);
  for (std::uint64_t i = 0; i < source.pair.bytes; i += cell_payload)
    store_word<to>(sink.pair, i, load_word<from>(source.pair, i));
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), sink.memory))
      << source.pair.bytes << " bytes, rows of " << source.pair.rows.bytes << " to rows of "
      << sink.pair.rows.bytes;
}

TEST(MessageWords, BytesOfEveryLengthAndAlignment) {
  for (std::uint64_t bytes = 0; bytes <= 40; ++bytes)
    for (const std::size_t shift : {0, 1, 2, 4, 7})
      for (const std::size_t other : {0, 3, 4}) {
        End source(bytes, 0, 0, shift), sink(bytes, 0, 0, other);
        expect_moved<Fit::bytes, Fit::bytes>(source, sink);
        expect_moved<Fit::any, Fit::any>(source, sink);
      }
}

TEST(MessageWords, WholeWordsWithoutGaps) {
  for (std::uint64_t bytes = 8; bytes <= 64; bytes += 8) {
    End source(bytes, 0, 0, 0), sink(bytes, 0, 0, 8);
    expect_moved<Fit::words, Fit::words>(source, sink);
  }
}

// Also where a message ends within a row, as in a receive with more room.
TEST(MessageWords, RowsOfWordsAndOfHalfWords) {
  for (const std::uint64_t row : {4, 8, 12, 16, 20, 24, 64})
    for (const std::uint64_t gap : {4, 8, 16})
      for (std::uint64_t bytes = 4; bytes <= 200; bytes += 4) {
        const auto stride = static_cast<std::int64_t>(row + gap);
        End rows(bytes, row, stride, 0), shifted(bytes, row, stride, 4), plain(bytes, 0, 0, 0),
            other(bytes, 16, 40, 0);
        for (End* each : {&rows, &shifted}) {
          ASSERT_TRUE(in_pieces(each->pair.buffer, bytes, each->pair.rows, least_piece));
          expect_moved<Fit::rows, Fit::bytes>(*each, plain);
          expect_moved<Fit::bytes, Fit::rows>(plain, *each);
          expect_moved<Fit::any, Fit::any>(*each, other);
        }
      }
}

TEST(MessageWords, OtherRowsAreInNoPieces) {
  const auto in_place = [](const End& end) {
    return in_pieces(end.pair.buffer, end.pair.bytes, end.pair.rows, least_piece);
  };
  EXPECT_FALSE(in_place(End(12, 3, 8, 0)));
  EXPECT_FALSE(in_place(End(12, 4, 6, 0)));
  EXPECT_FALSE(in_place(End(12, 4, 8, 2)));
  EXPECT_FALSE(in_place(End(10, 4, 8, 0)));
}

}  // namespace
}  // namespace penstock::peer_gpu
