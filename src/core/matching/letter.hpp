// SPDX-License-Identifier: Apache-2.0
// Writing and reading the letters of the handshake. All processes of a job run the same library, so
// values travel as they lie in memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/error.hpp"

namespace penstock::core {

// Each letter begins with its kind and the number that it is about.
enum class LetterKind : std::uint8_t {
  offer,
  answer,
  confirm,
  withdraw,
  withdrawn,
  invite,
  accept,
  revoke,
  revoked,
  join,
  choice,
  ready,
  verdict,
  leave
};

class LetterWriter {
 public:
  template <class T>
  requires std::is_trivially_copyable_v<T> LetterWriter& value(const T& value) {
    const std::size_t place = letter_.size();
    letter_.resize(place + sizeof value);
    std::memcpy(letter_.data() + place, &value, sizeof value);
    return *this;
  }
  LetterWriter& bytes(std::span<const std::byte> bytes) {
    value(static_cast<std::uint32_t>(bytes.size()));
    letter_.insert(letter_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  LetterWriter& text(std::string_view text) { return bytes(std::as_bytes(std::span(text))); }
  template <class T>
  LetterWriter& list(const std::vector<T>& values) {
    return bytes(std::as_bytes(std::span(values)));
  }
  std::vector<std::byte> take() { return std::move(letter_); }

 private:
  std::vector<std::byte> letter_;
};

class LetterReader {
 public:
  explicit LetterReader(std::span<const std::byte> letter) : rest_(letter) {}

  template <class T>
  requires std::is_trivially_copyable_v<T> T value() {
    T result;
    std::memcpy(&result, cut(sizeof result).data(), sizeof result);
    return result;
  }
  std::span<const std::byte> bytes() { return cut(value<std::uint32_t>()); }
  std::string text() {
    const auto view = bytes();
    return {reinterpret_cast<const char*>(view.data()), view.size()};
  }
  template <class T>
  std::vector<T> list() {
    const auto view = bytes();
    std::vector<T> values(view.size() / sizeof(T));
    std::copy(view.begin(), view.end(), std::as_writable_bytes(std::span(values)).begin());
    return values;
  }

 private:
  std::span<const std::byte> cut(std::size_t size) {
    if (size > rest_.size())
      throw base::Error(base::ErrorKind::internal,
                        "a letter of the match handshake is shorter than it says");
    const auto head = rest_.first(size);
    rest_ = rest_.subspan(size);
    return head;
  }
  std::span<const std::byte> rest_;
};

}  // namespace penstock::core
