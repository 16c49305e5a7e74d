// SPDX-License-Identifier: Apache-2.0
// Keeps equal descriptions of messages once, for all requests whose messages lie so, and drops each
// with the last of them: ten thousand requests of one irregular datatype have one list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "base/no_copy.hpp"
#include "datatype/segments.hpp"

namespace penstock::datatype {

class SegmentsCache : private base::NoCopy {
 public:
  // Any thread. What is returned equals `segments`. Throws std::bad_alloc.
  std::shared_ptr<const Segments> share(std::shared_ptr<const Segments> segments);
  // Those that are kept, and those that are gone and not yet forgotten: no more than twice as many.
  std::size_t size() const;

 private:
  void forget_those_gone();

  mutable std::mutex mutex_;
  std::unordered_multimap<std::uint64_t, std::weak_ptr<const Segments>> known_;  // by their hash
  std::size_t enough_ = 64;  // entries, after which those that are gone are looked for
};

SegmentsCache& segments_cache();  // of this process

}  // namespace penstock::datatype
