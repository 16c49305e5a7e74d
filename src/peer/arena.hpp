// SPDX-License-Identifier: Apache-2.0
// This process's shared memory: one file that grows by chunks, from which the blocks of pairs and
// PST_Alloc_mem are served. Other processes of the host open it while they are introduced to each
// other; then its name goes, so that nothing is left when a job is killed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/free_ranges.hpp"

namespace penstock::peer {

// Of the system.
std::uint64_t page_bytes() noexcept;

// Where bytes lie in a process's file, and the chunk to be mapped to get at them. Travels in
// handshakes.
struct ArenaAddress {
  std::uint64_t chunk = 0;
  std::uint64_t chunk_bytes = 0;
  std::uint64_t offset = 0;  // from the start of the file
};

// How another process finds the file and knows it to be the right one. Travels in addresses.
struct ArenaIdentity {
  char name[48] = {};
  std::uint64_t nonce[2] = {};
};

class Arena {
 public:
  static std::unique_ptr<Arena> create();  // throws Error(resources)
  // Chunks that still hold memory of the program's stay mapped.
  ~Arena();

  const ArenaIdentity& identity() const noexcept { return identity_; }
  void unlink() noexcept;

  // Called, without a lock of ours, when memory is short: gives back what it can. Before the first
  // allocation.
  void when_short(std::function<void()> reclaim) { reclaim_ = std::move(reclaim); }

  // Bytes of any content. Throws Error(resources) when the shared memory cannot be had: it is
  // reserved here, never while it is used. Any thread.
  std::byte* allocate(std::size_t bytes, std::size_t alignment);
  void free(std::byte* address) noexcept;
  // nullopt: not all of it is ours.
  std::optional<ArenaAddress> find(const void* address, std::size_t bytes) const;
  std::byte* at(const ArenaAddress& place) const;
  std::size_t file_bytes() const;
  std::size_t free_bytes() const;

 private:
  struct ArenaChunk {
    std::uint64_t offset;
    std::uint64_t bytes;
    std::byte* address;
  };

  Arena(int descriptor, const ArenaIdentity& identity)
      : descriptor_(descriptor), identity_(identity) {}
  std::byte* try_to_allocate(std::size_t bytes, std::size_t alignment);
  void grow(std::size_t bytes, std::size_t alignment);
  bool add_chunk(std::uint64_t bytes);
  void note_chunk(const ArenaChunk& chunk);
  void fill_holes(std::uint64_t offset, std::uint64_t bytes);
  const ArenaChunk* chunk_of(const void* address) const;
  std::byte* address_of(std::uint64_t offset) const;
  void release_pages(std::uint64_t offset, std::uint64_t bytes) noexcept;

  int descriptor_;
  ArenaIdentity identity_;
  std::function<void()> reclaim_;
  mutable std::mutex mutex_;
  std::uint64_t file_bytes_ = 0;
  bool has_holes_ = false;  // pages were given back: ranges have to be reserved again
  base::Ranges ranges_;
  std::map<std::uint64_t, ArenaChunk> by_offset_;
  std::map<std::uintptr_t, ArenaChunk> by_address_;
  std::map<std::uint64_t, std::uint64_t> taken_;  // offset, bytes
};

}  // namespace penstock::peer
