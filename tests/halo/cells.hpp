// SPDX-License-Identifier: Apache-2.0
// Arrays of a halo test: cells on the device under test and beside them a mirror on the host, in
// any layout.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <penstock/halo.hpp>
#include <random>
#include <vector>

#include "support/device.hpp"

namespace penstock::test {

using halo::Grid;
using halo::Index;
using halo::View;

// A scalar that no reduction knows, and whose size is no power of two.
struct Triple {
  std::uint32_t values[3];
};

inline std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31);
}

template <class T>
T value_of(std::uint64_t hash) {
  if constexpr (std::is_same_v<T, Triple>) {
    return {{static_cast<std::uint32_t>(hash), static_cast<std::uint32_t>(hash >> 32), 7}};
  } else if constexpr (std::is_floating_point_v<T>) {
    // Sums depend on their order.
    return static_cast<T>(static_cast<std::int64_t>(hash)) / static_cast<T>(1ULL << 62);
  } else if constexpr (std::is_signed_v<T>) {
    static_assert(sizeof(T) >= 4);
    return static_cast<T>(hash) / 65536;  // so that no sum of many, of several exchanges, overflows
  } else {
    return static_cast<T>(hash);
  }
}

template <class T>
bool same(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

// Calls visit(index) for all indices below `extents`.
template <std::size_t N, class Visit>
void for_each_index(const Index<N>& extents, Visit visit) {
  for (const std::ptrdiff_t extent : extents) {
    if (extent == 0) return;
  }
  Index<N> index{};
  while (true) {
    visit(index);
    std::size_t d = N;
    while (d > 0 && ++index[d - 1] == extents[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

void upload(std::byte* device, const void* host, std::size_t bytes);
void download(void* host, const std::byte* device, std::size_t bytes);

// How the axes lie in memory: order[0] is the slowest; each row is `padding` elements longer than
// it must be.
template <std::size_t Rank>
struct Layout {
  std::array<std::size_t, Rank> order{};
  std::ptrdiff_t padding = 0;
};

template <std::size_t Rank>
Layout<Rank> row_major_layout() {
  Layout<Rank> layout;
  for (std::size_t i = 0; i < Rank; ++i) layout.order[i] = i;
  return layout;
}

template <std::size_t Rank>
Layout<Rank> column_major_layout() {
  Layout<Rank> layout;
  for (std::size_t i = 0; i < Rank; ++i) layout.order[i] = Rank - 1 - i;
  return layout;
}

// `components` values a cell, in the block of a rank and `width` ghost cells around it.
template <class T, std::size_t N>
class Cells {
 public:
  Cells(const Grid<N>& grid, int width, std::ptrdiff_t components, const Layout<N + 1>& layout) {
    for (std::size_t d = 0; d < N; ++d) extents_[d] = grid.block()[d] + 2 * width;
    extents_[N] = components;
    std::ptrdiff_t stride = 1;
    for (std::size_t i = N + 1; i-- > 0;) {
      strides_[layout.order[i]] = stride;
      stride *=
          std::max<std::ptrdiff_t>(extents_[layout.order[i]] + (i == N ? layout.padding : 0), 1);
    }
    mirror_.resize(static_cast<std::size_t>(stride));
    device_ = allocate(Memory::ordinary, bytes(), std::byte{0});
  }
  ~Cells() { free(Memory::ordinary, device_); }
  Cells(const Cells&) = delete;
  Cells& operator=(const Cells&) = delete;

  const Index<N + 1>& extents() const { return extents_; }
  View<T, N + 1> view() { return {reinterpret_cast<T*>(device_), extents_, strides_}; }
  View<T, N> one_component() {
    return {reinterpret_cast<T*>(device_), cut(extents_), cut(strides_)};
  }

  // On the mirror, with the indices of the cell and its component.
  T& at(const Index<N + 1>& index) {
    return View<T, N + 1>(mirror_.data(), extents_, strides_)[index];
  }

  template <class Value>
  void fill(Value value) {
    for_each_index(extents_, [&](const Index<N + 1>& index) { at(index) = value(index); });
    upload(device_, mirror_.data(), bytes());
  }

  // Every cell against value(index), and what lies between rows as well, which nothing may have
  // written.
  template <class Value>
  void expect(Value value, const char* what) {
    std::vector<T> before = mirror_;
    View<T, N + 1> expected(before.data(), extents_, strides_);
    for_each_index(extents_, [&](const Index<N + 1>& index) { expected[index] = value(index); });
    download(mirror_.data(), device_, bytes());
    if (std::memcmp(mirror_.data(), before.data(), bytes()) == 0) return;
    for_each_index(extents_, [&](const Index<N + 1>& index) {
      if (!same(at(index), expected[index]) && !::testing::Test::HasFailure())
        ADD_FAILURE() << what << ": wrong at " << text(index);
    });
    EXPECT_TRUE(::testing::Test::HasFailure()) << what << ": written between the rows";
  }

 private:
  std::size_t bytes() const { return mirror_.size() * sizeof(T); }
  static Index<N> cut(const Index<N + 1>& from) {
    Index<N> to{};
    std::copy_n(from.begin(), N, to.begin());
    return to;
  }
  static std::string text(const Index<N + 1>& index) {
    std::string words;
    for (const std::ptrdiff_t i : index) words += " " + std::to_string(i);
    return words;
  }

  Index<N + 1> extents_{};
  Index<N + 1> strides_{};
  std::vector<T> mirror_;
  std::byte* device_ = nullptr;
};

}  // namespace penstock::test
