// SPDX-License-Identifier: Apache-2.0
// What a message is made of: MPI's type signature, as far as two ends can be held to it. Integers
// of one size are alike, whatever they are called, and so are floating-point numbers; a complex
// number is two of these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace penstock::datatype {

enum class ElementKind : std::uint32_t { integer, floating };

class Signature {
 public:
  struct Run {
    ElementKind kind = ElementKind::integer;
    std::uint32_t bytes = 0;  // of an element
    std::uint64_t count = 0;
    bool operator==(const Run&) const = default;
  };

  Signature() = default;  // of no elements
  Signature(ElementKind kind, std::size_t bytes, std::uint64_t count = 1)
      : runs_{{kind, static_cast<std::uint32_t>(bytes), count}} {}
  // Of bytes, which may be anything.
  static Signature of_anything() noexcept;
  bool says_nothing() const noexcept { return anything_; }

  void repeat(std::uint64_t count);
  void append(const Signature& other);

  // For another process of the same library. Nothing where it says nothing.
  std::vector<std::byte> to_bytes() const;
  static Signature from_bytes(std::span<const std::byte> bytes);

  // What is wrong with a receive of so many elements or more, in words; nothing: it fits, as far as
  // either says anything, and as far as 2^20 runs can be looked at.
  static std::optional<std::string> difference(const Signature& send, const Signature& receive);

 private:
  class Cursor;
  static constexpr std::size_t most = 4096;  // runs; of more it says nothing
  bool unroll();
  void add(const Run& run);

  std::vector<Run> runs_;
  std::uint64_t repetitions_ = 1;  // of the runs; 1 where there is one run
  bool anything_ = false;
};

}  // namespace penstock::datatype
