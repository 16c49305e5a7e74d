// SPDX-License-Identifier: Apache-2.0
#include "peer/memory.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/no_copy.hpp"
#include "peer/arena.hpp"

namespace penstock::peer {

struct Memory::Allocation : private base::NoCopy {
  std::byte* address = nullptr;
  std::size_t bytes = 0;
  Arena* arena = nullptr;  // null: ordinary memory
  bool abandoned = false;

  ~Allocation() {
    if (abandoned) return;
    if (arena != nullptr)
      arena->free(address);
    else
      std::free(address);
  }
};

namespace {

std::byte* take_shared(Arena* arena, std::size_t bytes, std::size_t alignment) {
  if (arena == nullptr) return nullptr;
  try {
    return arena->allocate(bytes, alignment);
  } catch (const base::Error& error) {
    base::log::warn(
        fmt::format("{} bytes are ordinary memory, which costs messages a second copy: {}", bytes,
                    error.text()));
    return nullptr;
  }
}

std::byte* take_ordinary(std::size_t bytes, std::size_t alignment) {
  void* address = nullptr;
  if (posix_memalign(&address, alignment, bytes) != 0)
    throw base::Error(base::ErrorKind::resources, fmt::format("no memory for {} bytes", bytes));
  return static_cast<std::byte*>(address);
}

}  // namespace

Memory::~Memory() {
  for (auto& [address, allocation] : allocations_) allocation->abandoned = true;
}

void* Memory::allocate(std::size_t bytes) {
  static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t size = std::max<std::size_t>(bytes, 64);
  const std::size_t alignment = size >= page ? page : 64;
  auto allocation = std::make_shared<Allocation>();  // first: it owns what is taken
  allocation->bytes = size;
  allocation->address = take_shared(arena_, size, alignment);
  if (allocation->address != nullptr)
    allocation->arena = arena_;
  else
    allocation->address = take_ordinary(size, alignment);
  std::byte* const address = allocation->address;
  const std::lock_guard lock(mutex_);
  allocations_.emplace(reinterpret_cast<std::uintptr_t>(address), std::move(allocation));
  return address;
}

bool Memory::free(void* address) noexcept {
  std::shared_ptr<Allocation> last;  // ends after the lock
  const std::lock_guard lock(mutex_);
  const auto found = allocations_.find(reinterpret_cast<std::uintptr_t>(address));
  if (found == allocations_.end()) return false;
  last = std::move(found->second);
  allocations_.erase(found);
  return true;
}

bool Memory::contains(const void* address, std::size_t bytes) const noexcept {
  const auto allocation = find(address);
  if (!allocation || allocation->arena == nullptr) return false;
  const auto inside =
      static_cast<std::size_t>(static_cast<const std::byte*>(address) - allocation->address);
  return bytes <= allocation->bytes - inside;
}

std::shared_ptr<const void> Memory::pin(const void* address) const noexcept {
  return find(address);
}

std::shared_ptr<Memory::Allocation> Memory::find(const void* address) const noexcept {
  const auto value = reinterpret_cast<std::uintptr_t>(address);
  const std::lock_guard lock(mutex_);
  const auto after = allocations_.upper_bound(value);
  if (after == allocations_.begin()) return nullptr;
  const auto& allocation = std::prev(after)->second;
  return value - reinterpret_cast<std::uintptr_t>(allocation->address) < allocation->bytes
             ? allocation
             : nullptr;
}

}  // namespace penstock::peer
