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
WireRecord to_wire(const Record& record) {
  static_assert(std::is_trivially_copyable_v<Record>);
  WireRecord bytes(sizeof(record));
  std::memcpy(bytes.data(), &record, sizeof(record));
  return bytes;
}

[[noreturn]] inline void refuse_record() {
  throw base::Error(base::ErrorKind::internal, "the peer process runs another version of Penstock");
}

// A record that has a version is refused if it is not ours.
template <class Record>
Record from_wire(std::span<const std::byte> bytes) {
  static_assert(std::is_trivially_copyable_v<Record>);
  if (bytes.size() != sizeof(Record)) refuse_record();
  Record record;
  std::memcpy(&record, bytes.data(), sizeof(record));
  if constexpr (requires { record.version; })
    if (record.version != Record().version) refuse_record();
  return record;
}

}  // namespace penstock::transport
