// SPDX-License-Identifier: Apache-2.0
// PST_Alloc_mem: memory of the arena, which other processes of the host can address; ordinary
// memory where there is none left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace penstock::peer {

class Arena;

class Memory {
 public:
  explicit Memory(Arena* arena) noexcept : arena_(arena) {}  // null: ordinary memory only
  // What the program has not freed stays usable.
  ~Memory();

  // 64-byte aligned, page aligned from a page on. Throws Error(resources) when there is no memory
  // at all. Any thread.
  void* allocate(std::size_t bytes);
  // Returns false if it is not from allocate(), or freed already. The bytes are reused only when
  // the last pin on them is gone.
  bool free(void* address) noexcept;
  // Whether all of it lies in one allocation in shared memory.
  bool contains(const void* address, std::size_t bytes) const noexcept;
  // Keeps the allocation that holds the address; null if it is not ours.
  std::shared_ptr<const void> pin(const void* address) const noexcept;

 private:
  struct Allocation;
  std::shared_ptr<Allocation> find(const void* address) const noexcept;

  Arena* arena_;
  mutable std::mutex mutex_;
  std::map<std::uintptr_t, std::shared_ptr<Allocation>> allocations_;
};

}  // namespace penstock::peer
