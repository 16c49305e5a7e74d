// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <utility>

namespace penstock::bench {

// Memory of the host, of a GPU or of a library, and how it is given back.
class Memory {
 public:
  Memory(void* memory, std::size_t bytes, std::function<void(void*)> free)
      : bytes_(bytes), memory_(static_cast<std::byte*>(memory), std::move(free)) {}
  std::byte* data() const { return memory_.get(); }
  std::size_t bytes() const { return bytes_; }
  std::span<std::byte> all() const { return {memory_.get(), bytes_}; }

 private:
  std::size_t bytes_;
  std::unique_ptr<std::byte, std::function<void(void*)>> memory_;
};

// Where the messages of an exchange lie.
struct MemorySource {
  std::size_t line;  // every message begins at a multiple of it
  std::function<Memory(std::size_t bytes)> allocate;
};

}  // namespace penstock::bench
