// SPDX-License-Identifier: Apache-2.0
// Messages of all lengths, rows and alignments, moved word by word from one buffer to another as a
// ring does it: each byte arrives at its place, and none beside it changes.
#include "peer_gpu/message_words.hpp"
#include "datatype/rows_of.hpp"
#include "peer_gpu/batch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
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
    pair.buffer = memory + 64 + shift;
    pair.bytes = bytes;
    if (row == 0) return;
    // Two rows at least, of which a short message does not need the second.
    segments.repeat(std::max<std::uint64_t>(2, (bytes + row - 1) / row), stride);
    pair.rows = datatype::rows_of(segments).value();
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
  // Of no bytes too, a ring moves a word.
  const std::uint64_t words = std::max<std::uint64_t>(1, (source.pair.bytes + 7) / 8);
  for (std::uint64_t i = 0; i < words; ++i)
    store_word<to>(sink.pair, 8 * i, load_word<from>(source.pair, 8 * i));
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
          expect_moved<Fit::half_rows, Fit::bytes>(*each, plain);
          expect_moved<Fit::bytes, Fit::half_rows>(plain, *each);
          expect_moved<Fit::any, Fit::any>(*each, other);
          expect_moved<Fit::any, Fit::any>(plain, *each);
          if (fit_of(each->pair) != Fit::rows) continue;
          expect_moved<Fit::rows, Fit::bytes>(*each, plain);
          expect_moved<Fit::bytes, Fit::rows>(plain, *each);
        }
      }
}

TEST(MessageWords, AFitIsAsNarrowAsTheMessageAllows) {
  const auto fit = [](std::uint64_t bytes, std::uint64_t row, std::int64_t stride,
                      std::size_t shift) { return fit_of(End(bytes, row, stride, shift).pair); };
  EXPECT_EQ(fit(64, 0, 0, 0), Fit::words);
  EXPECT_EQ(fit(64, 0, 0, 4), Fit::bytes);
  EXPECT_EQ(fit(63, 0, 0, 0), Fit::bytes);
  EXPECT_EQ(fit(0, 0, 0, 0), Fit::bytes);
  EXPECT_EQ(fit(64, 8, 16, 0), Fit::rows);
  EXPECT_EQ(fit(64, 8, 16, 4), Fit::half_rows);
  EXPECT_EQ(fit(64, 8, 12, 0), Fit::half_rows);
  EXPECT_EQ(fit(60, 8, 16, 0), Fit::half_rows);
  EXPECT_EQ(fit(64, 4, 8, 0), Fit::half_rows);
}

}  // namespace
}  // namespace penstock::peer_gpu
