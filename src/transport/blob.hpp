// SPDX-License-Identifier: Apache-2.0
// Records that two processes exchange as they lie in memory: both run the same library.
#pragma once

#include <cstring>
#include <span>
#include <type_traits>

#include "base/error.hpp"
#include "transport/message.hpp"

namespace penstock::transport {

template <class Record>
Blob to_blob(const Record& record) {
  static_assert(std::is_trivially_copyable_v<Record>);
  Blob blob(sizeof(record));
  std::memcpy(blob.data(), &record, sizeof(record));
  return blob;
}

[[noreturn]] inline void refuse_blob() {
  throw base::Error(base::ErrorKind::internal, "the peer process runs another version of Penstock");
}

// A record that has a version is refused if it is not ours.
template <class Record>
Record from_blob(std::span<const std::byte> blob) {
  static_assert(std::is_trivially_copyable_v<Record>);
  if (blob.size() != sizeof(Record)) refuse_blob();
  Record record;
  std::memcpy(&record, blob.data(), sizeof(record));
  if constexpr (requires { record.version; })
    if (record.version != Record().version) refuse_blob();
  return record;
}

}  // namespace penstock::transport
