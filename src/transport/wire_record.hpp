// SPDX-License-Identifier: Apache-2.0
// Records that two processes exchange as they lie in memory: both run the same library.
#pragma once

#include <cstring>
#include <span>
#include <type_traits>

#include "base/error.hpp"
#include "datatype/segments_cache.hpp"
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

// Takes a record from the front. One that has a version is refused if it is not ours.
template <class Record>
Record take_from_wire(std::span<const std::byte>& bytes) {
  static_assert(std::is_trivially_copyable_v<Record>);
  if (bytes.size() < sizeof(Record)) refuse_record();
  Record record;
  std::memcpy(&record, bytes.data(), sizeof(record));
  bytes = bytes.subspan(sizeof(record));
  if constexpr (requires { record.version; })
    if (record.version != Record().version) refuse_record();
  return record;
}

template <class Record>
Record from_wire(std::span<const std::byte> bytes) {
  if (bytes.size() != sizeof(Record)) refuse_record();
  return take_from_wire<Record>(bytes);
}

// Behind a record: how the message lies in its buffer, or nothing where it has no gaps.
inline void append_segments(WireRecord& record, const Segments* segments) {
  if (segments == nullptr) return;
  const std::vector<std::byte> bytes = segments->to_bytes();
  record.insert(record.end(), bytes.begin(), bytes.end());
}
inline std::shared_ptr<const Segments> segments_from_wire(std::span<const std::byte> bytes) {
  if (bytes.empty()) return nullptr;
  return datatype::segments_cache().share(
      std::make_shared<const Segments>(Segments::from_bytes(bytes)));
}

}  // namespace penstock::transport
