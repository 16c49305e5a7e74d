// SPDX-License-Identifier: Apache-2.0
#include "peer/mapping.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/descriptor.hpp"
#include "base/error.hpp"

namespace penstock::peer {

std::unique_ptr<Mapping> Mapping::open(const ArenaIdentity& identity, std::string& why_not) {
  const int descriptor = base::beyond_standard_streams(shm_open(identity.name, O_RDWR, 0));
  if (descriptor < 0) {
    why_not = errno == ENOENT ? std::string("peer is on another host, or sees another /dev/shm")
                              : fmt::format("the peer's shared memory cannot be opened: {}",
                                            std::strerror(errno));
    return nullptr;
  }
  std::unique_ptr<Mapping> mapping(new Mapping(descriptor));
  std::uint64_t nonce[2] = {};
  if (pread(descriptor, nonce, sizeof(nonce), 0) != static_cast<ssize_t>(sizeof(nonce)) ||
      std::memcmp(nonce, identity.nonce, sizeof(nonce)) != 0) {
    why_not = "the shared memory of the peer's name is not the peer's";
    return nullptr;
  }
  return mapping;
}

Mapping::~Mapping() {
  for (const auto& [offset, chunk] : chunks_) munmap(chunk.address, chunk.bytes);
  close(descriptor_);
}

std::byte* Mapping::at(const ArenaAddress& place) {
  const std::lock_guard lock(mutex_);
  auto known = chunks_.find(place.chunk);
  if (known == chunks_.end()) {
    struct stat status {};
    if (fstat(descriptor_, &status) != 0 ||
        static_cast<std::uint64_t>(status.st_size) < place.chunk + place.chunk_bytes)
      throw base::Error(base::ErrorKind::internal,
                        "the peer names a place outside its shared memory");
    void* address = mmap(nullptr, place.chunk_bytes, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_POPULATE, descriptor_, static_cast<off_t>(place.chunk));
    if (address == MAP_FAILED)
      throw base::Error(base::ErrorKind::resources,
                        fmt::format("cannot map {} bytes of the peer's shared memory: {}",
                                    place.chunk_bytes, std::strerror(errno)));
    known =
        chunks_
            .emplace(place.chunk, MappedChunk{static_cast<std::byte*>(address), place.chunk_bytes})
            .first;
  }
  return known->second.address + (place.offset - place.chunk);
}

}  // namespace penstock::peer
