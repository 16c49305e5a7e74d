// SPDX-License-Identifier: Apache-2.0
#include "unit/support/scarce_memory.hpp"

#include <atomic>
#include <cstdlib>
#include <limits>
#include <new>

namespace {

constexpr std::uint64_t plenty = std::numeric_limits<std::uint64_t>::max();
std::atomic<std::uint64_t> count{0};
thread_local std::uint64_t left_here = plenty;
thread_local std::uint64_t failures_here = plenty;

void* counted(std::size_t size, std::size_t alignment) {
  count.fetch_add(1, std::memory_order_relaxed);
  if (left_here == 0) {
    if (failures_here != plenty && --failures_here == 0) left_here = plenty;
    throw std::bad_alloc();
  }
  if (left_here != plenty) --left_here;
  void* memory = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

// Counts for the whole test program. The array forms call these, and so would the nothrow form, of
// which a sanitizer has one of its own. Inlined, they would look mismatched to the compiler.
#define NOT_INLINED __attribute__((noinline))
NOT_INLINED void* operator new(std::size_t size) {
  return counted(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}
NOT_INLINED void* operator new(std::size_t size, std::align_val_t alignment) {
  return counted(size, static_cast<std::size_t>(alignment));
}
NOT_INLINED void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  try {
    return counted(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
NOT_INLINED void operator delete(void* memory) noexcept {
  std::free(memory);
}
NOT_INLINED void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
NOT_INLINED void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
NOT_INLINED void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace penstock {

std::uint64_t allocations() noexcept {
  return count.load();
}

ScarceMemory::ScarceMemory(std::uint64_t left, std::uint64_t failures) noexcept {
  left_here = left;
  failures_here = failures;
}

ScarceMemory::~ScarceMemory() {
  left_here = plenty;
}

}  // namespace penstock
