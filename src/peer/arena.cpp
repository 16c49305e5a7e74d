// SPDX-License-Identifier: Apache-2.0
#include "peer/arena.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "base/error.hpp"
#include "peer/arena_file.hpp"

namespace penstock::peer {

namespace {

constexpr std::uint64_t first_chunk = 256 * 1024;
constexpr std::uint64_t largest_step = 16 * 1024 * 1024;
constexpr std::uint64_t worth_giving_back = 1024 * 1024;

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) noexcept {
  return (value + unit - 1) / unit * unit;
}

// Reserves memory for a part of the file, which is what keeps a full /dev/shm from ending in SIGBUS
// later.
int reserve(int descriptor, std::uint64_t offset, std::uint64_t bytes) noexcept {
  int error = 0;
  do error = posix_fallocate(descriptor, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  while (error == EINTR);
  return error;
}

[[noreturn]] void fail_to_reserve(std::uint64_t bytes, int error) {
  throw base::Error(base::ErrorKind::resources,
                    fmt::format("cannot reserve {} bytes of shared memory: {} (is /dev/shm full?)",
                                bytes, std::strerror(error)));
}

}  // namespace

std::uint64_t page_bytes() noexcept {
  static const auto bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

std::unique_ptr<Arena> Arena::create() {
  ArenaIdentity identity;
  const int descriptor = create_arena_file(identity);
  std::unique_ptr<Arena> arena(new Arena(descriptor, identity));
  try {
    if (!arena->add_chunk(first_chunk)) fail_to_reserve(first_chunk, errno);
    std::byte* header = arena->allocate(sizeof(identity.nonce), 64);
    std::memcpy(header, identity.nonce, sizeof(identity.nonce));
  } catch (...) {
    arena->unlink();
    throw;
  }
  return arena;
}

Arena::~Arena() {
  for (const auto& [offset, chunk] : by_offset_) {
    const auto taken = taken_.lower_bound(offset == 0 ? 1 : offset);  // the header at 0 is our own
    if (taken == taken_.end() || taken->first >= offset + chunk.bytes)
      munmap(chunk.address, chunk.bytes);
  }
  close(descriptor_);
}

void Arena::unlink() noexcept {
  shm_unlink(identity_.name);
}

bool Arena::add_chunk(std::uint64_t bytes) {
  if (const int error = reserve(descriptor_, file_bytes_, bytes); error != 0) {
    // What the attempt left of the file's size and pages goes back.
    if (ftruncate(descriptor_, static_cast<off_t>(file_bytes_)) != 0) errno = error;
    errno = error;
    return false;
  }
  void* address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                       descriptor_, static_cast<off_t>(file_bytes_));
  if (address == MAP_FAILED) {
    const int error = errno;
    if (ftruncate(descriptor_, static_cast<off_t>(file_bytes_)) != 0) errno = error;
    errno = error;
    return false;
  }
  note_chunk({file_bytes_, bytes, static_cast<std::byte*>(address)});
  file_bytes_ += bytes;
  return true;
}

// Where there is no memory for that, the chunk goes.
void Arena::note_chunk(const ArenaChunk& chunk) {
  const auto address = reinterpret_cast<std::uintptr_t>(chunk.address);
  try {
    by_offset_.emplace(chunk.offset, chunk);
    by_address_.emplace(address, chunk);
    ranges_.add_chunk(chunk.offset, chunk.bytes);
  } catch (...) {
    by_offset_.erase(chunk.offset);
    by_address_.erase(address);
    munmap(chunk.address, chunk.bytes);
    static_cast<void>(ftruncate(descriptor_, static_cast<off_t>(chunk.offset)) == 0);
    throw;
  }
}

// Small requests share chunks whose size grows with the file; if that much cannot be had, just
// enough is tried.
void Arena::grow(std::size_t bytes, std::size_t alignment) {
  if (bytes > std::uint64_t{1} << 62) fail_to_reserve(bytes, ENOMEM);
  const std::uint64_t needed = round_up(round_up(bytes, alignment), page_bytes());
  const std::uint64_t step =
      std::clamp(round_up(file_bytes_ / 2, page_bytes()), first_chunk, largest_step);
  if (needed < step && add_chunk(step)) return;
  if (!add_chunk(needed)) fail_to_reserve(needed, errno);
}

std::byte* Arena::allocate(std::size_t bytes, std::size_t alignment) {
  try {
    return try_to_allocate(bytes, alignment);
  } catch (const base::Error&) {
    if (!reclaim_) throw;
  }
  reclaim_();
  return try_to_allocate(bytes, alignment);
}

std::byte* Arena::try_to_allocate(std::size_t bytes, std::size_t alignment) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t size = round_up(std::max<std::size_t>(bytes, 1), 64);
  auto offset = size >= bytes ? ranges_.take(size, alignment) : std::nullopt;
  if (!offset) {
    grow(bytes, alignment);
    offset = ranges_.take(size, alignment);
  }
  try {
    if (has_holes_) fill_holes(*offset, size);
    taken_.emplace(*offset, size);
  } catch (...) {
    ranges_.give(*offset, size);
    throw;
  }
  return address_of(*offset);
}

void Arena::fill_holes(std::uint64_t offset, std::uint64_t bytes) {
  const std::uint64_t begin = offset / page_bytes() * page_bytes();
  const std::uint64_t end = round_up(offset + bytes, page_bytes());
  if (const int error = reserve(descriptor_, begin, end - begin); error != 0)
    fail_to_reserve(bytes, error);
}

void Arena::free(std::byte* address) noexcept {
  const std::lock_guard lock(mutex_);
  const ArenaChunk* chunk = chunk_of(address);
  if (chunk == nullptr) return;
  const std::uint64_t offset = chunk->offset + static_cast<std::uint64_t>(address - chunk->address);
  const auto range = taken_.find(offset);
  if (range == taken_.end()) return;
  const std::uint64_t bytes = range->second;
  taken_.erase(range);
  ranges_.give(offset, bytes);
  if (bytes >= worth_giving_back) release_pages(offset, bytes);
}

void Arena::release_pages(std::uint64_t offset, std::uint64_t bytes) noexcept {
  const std::uint64_t begin = round_up(offset, page_bytes());
  const std::uint64_t end = (offset + bytes) / page_bytes() * page_bytes();
  if (fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(begin),
                static_cast<off_t>(end - begin)) == 0)
    has_holes_ = true;
}

std::optional<ArenaAddress> Arena::find(const void* address, std::size_t bytes) const {
  const std::lock_guard lock(mutex_);
  const ArenaChunk* chunk = chunk_of(address);
  if (chunk == nullptr) return std::nullopt;
  const auto inside =
      static_cast<std::uint64_t>(static_cast<const std::byte*>(address) - chunk->address);
  if (bytes > chunk->bytes - inside) return std::nullopt;
  return ArenaAddress{chunk->offset, chunk->bytes, chunk->offset + inside};
}

const Arena::ArenaChunk* Arena::chunk_of(const void* address) const {
  const auto value = reinterpret_cast<std::uintptr_t>(address);
  auto after = by_address_.upper_bound(value);
  if (after == by_address_.begin()) return nullptr;
  const ArenaChunk& chunk = std::prev(after)->second;
  return value - reinterpret_cast<std::uintptr_t>(chunk.address) < chunk.bytes ? &chunk : nullptr;
}

std::byte* Arena::address_of(std::uint64_t offset) const {
  const ArenaChunk& chunk = std::prev(by_offset_.upper_bound(offset))->second;
  return chunk.address + (offset - chunk.offset);
}

std::byte* Arena::at(const ArenaAddress& place) const {
  const std::lock_guard lock(mutex_);
  return address_of(place.offset);
}

std::size_t Arena::file_bytes() const {
  const std::lock_guard lock(mutex_);
  return file_bytes_;
}

std::size_t Arena::free_bytes() const {
  const std::lock_guard lock(mutex_);
  return ranges_.free_bytes();
}

}  // namespace penstock::peer
