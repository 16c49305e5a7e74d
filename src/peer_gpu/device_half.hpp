// SPDX-License-Identifier: Apache-2.0
// One half of a pair served by a ring, as a kernel of the program's gets it: what is in a
// PST_Device_request.
#pragma once

#include <cstddef>
#include <cstdint>

#include "datatype/rows.hpp"
#include "peer_gpu/half_words.hpp"

namespace penstock::peer_gpu {

// How this struct and the words behind it lie, and how wide flags are: a program's kernels have the
// headers of the library that they run with, or end.
inline constexpr std::uint32_t device_layout = 1u << 8 | PENSTOCK_FLAG_BITS;

struct DeviceHalf {
  std::uint32_t layout = device_layout;  // first, whatever follows
  std::uint32_t part_units = 0;          // of each part
  PartWords* words = nullptr;            // one for each part
  Word64* cts = nullptr;                 // the sender's
  Word64* fin = nullptr;                 // the sender's, one for each part
  Cell* ring = nullptr;                  // the receiver's first slot
  std::byte* buffer = nullptr;
  HostNotice* notice = nullptr;
  gpu::Report* report = nullptr;
  gpu::QueueFailure* queue_failure = nullptr;
  // PrivateWords::life as it was when the handle was made; another value: the request was freed.
  Word64 life = 0;
  std::uint64_t bytes = 0;
  std::uint32_t units = 0;  // of a slot
  std::uint32_t id = 0;     // in reports
  // In the blocks of a kernel from this number on nothing waits: so that those before, which may,
  // leave places to the rest.
  std::uint32_t wait_blocks = 0;
  datatype::Rows rows;
  std::uint16_t parts = 1;
  bool sends = false;
  bool wide = false;      // lines of 128 bytes
  bool in_words = false;  // the message is one of whole words, without gaps
  bool checks_ready = false;
  protocol::Mode mode = protocol::Mode::standard;
};

inline Word64& PENSTOCK_HD life_of(const DeviceHalf& half) {
  return words_of(half.words).life;
}

}  // namespace penstock::peer_gpu
