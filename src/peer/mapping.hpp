// SPDX-License-Identifier: Apache-2.0
// Another process's arena, mapped here chunk by chunk as pairs need it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "peer/arena.hpp"

namespace penstock::peer {

class Mapping {
 public:
  // Null, with the reason in `why_not`, when the file cannot be opened here or is not the one that
  // is meant.
  static std::unique_ptr<Mapping> open(const ArenaIdentity& identity, std::string& why_not);
  ~Mapping();

  // The address of that place here. Throws Error(resources). Any thread.
  std::byte* at(const ArenaAddress& place);

 private:
  struct MappedChunk {
    std::byte* address;
    std::uint64_t bytes;
  };

  explicit Mapping(int descriptor) : descriptor_(descriptor) {}

  int descriptor_;
  std::mutex mutex_;
  std::map<std::uint64_t, MappedChunk> chunks_;
};

}  // namespace penstock::peer
