// SPDX-License-Identifier: Apache-2.0
// What is written in pieces of any size is carried out as it was listed, and what goes apart is
// told of alone.
#include "plan/operation_stream.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "plan/accumulate.hpp"

namespace penstock::plan {
namespace {

using transport::Element;
using transport::Operation;
using transport::Reduction;
using transport::Verb;

// One after the other, through pieces of so many bytes.
class PieceStream {
 public:
  explicit PieceStream(std::size_t piece_bytes) : piece_(piece_bytes) {}

  void move(const Operation& operation, bool apart, std::byte* window) {
    writer.begin(operation, apart);
    reader.begin();
    while (!writer.done()) {
      const std::size_t written = writer.write(piece_.data(), piece_.size());
      ASSERT_EQ(written % sizeof(StreamWord), 0U);
      words += written / sizeof(StreamWord);
      ASSERT_EQ(reader.read(piece_.data(), written, window), written);
    }
    ASSERT_TRUE(reader.done());
  }

  OperationWriter writer;
  OperationReader reader;
  std::size_t words = 0;

 private:
  std::vector<std::byte> piece_;
};

TEST(OperationStream, PutsInPiecesOfAnySize) {
  std::mt19937 random(3);
  for (const std::size_t piece : {8U, 16U, 40U, 4096U}) {
    PieceStream stream(piece);
    std::vector<std::byte> window(3000), expected(window), source(1000);
    std::size_t words = 0;
    for (int round = 0; round < 200; ++round) {
      for (auto& one : source) one = static_cast<std::byte>(random());
      const std::size_t bytes = random() % source.size(), at = random() % (window.size() - bytes);
      const Operation put{Verb::put, {}, {}, source.data(), bytes, at};
      std::copy_n(source.begin(), bytes, expected.begin() + static_cast<std::ptrdiff_t>(at));
      stream.move(put, false, window.data());
      words += words_of(put);
      ASSERT_EQ(window, expected) << "round " << round;
    }
    EXPECT_EQ(stream.words, words);
  }
}

TEST(OperationStream, AnAccumulateInPieces) {
  PieceStream stream(16);
  std::vector<std::int32_t> window(7, 1), ours{1, 2, 3, 4, 5};
  stream.move({Verb::accumulate, Reduction::sum, Element::int32, ours.data(), 20, 4}, false,
              reinterpret_cast<std::byte*>(window.data()));
  EXPECT_EQ(window, (std::vector<std::int32_t>{1, 2, 3, 4, 5, 6, 1}));
}

TEST(OperationStream, WhatGoesApartIsToldOfAlone) {
  PieceStream stream(64);
  std::byte window{5}, source{7};
  for (const Verb verb : {Verb::put, Verb::get}) {
    stream.move({verb, {}, {}, &source, 123456, 789}, true, &window);
    EXPECT_TRUE(stream.reader.apart());
    EXPECT_EQ(stream.reader.operation().verb, verb);
    EXPECT_EQ(stream.reader.operation().bytes, 123456U);
    EXPECT_EQ(stream.reader.operation().displacement, 789U);
  }
  EXPECT_EQ(stream.words, 2 * operation_header_words);
  EXPECT_EQ(window, std::byte{5});
  stream.move({Verb::put, {}, {}, &source, 1, 0}, false, &window);
  EXPECT_FALSE(stream.reader.apart());
  EXPECT_EQ(window, source);
}

template <class T>
void expect_reductions(Element element, const std::vector<Reduction>& reductions,
                       const std::vector<T>& expected) {
  for (std::size_t i = 0; i < reductions.size(); ++i) {
    alignas(8) T target = 12;
    const T ours = 10;
    const Operation operation{Verb::accumulate, reductions[i], element, nullptr, sizeof(T), 0};
    accumulate(operation, reinterpret_cast<std::byte*>(&target),
               reinterpret_cast<const std::byte*>(&ours), sizeof(T));
    EXPECT_EQ(target, expected[i]);
  }
}

TEST(Accumulate, DoesWhatMpiSays) {
  using enum Reduction;
  const std::vector<Reduction> all{replace, sum,     product,     min,        max,        bit_and,
                                   bit_or,  bit_xor, logical_and, logical_or, logical_xor};
  expect_reductions<std::int32_t>(Element::int32, all, {10, 22, 120, 10, 12, 8, 14, 6, 1, 1, 0});
  expect_reductions<std::uint64_t>(Element::uint64, all, {10, 22, 120, 10, 12, 8, 14, 6, 1, 1, 0});
  const std::vector<Reduction> numeric{replace, sum, product, min, max};
  expect_reductions<float>(Element::float32, numeric, {10, 22, 120, 10, 12});
  expect_reductions<double>(Element::float64, numeric, {10, 22, 120, 10, 12});
}

}  // namespace
}  // namespace penstock::plan
