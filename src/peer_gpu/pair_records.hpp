// SPDX-License-Identifier: Apache-2.0
// What the two ends of a pair between GPUs tell each other: the sender in its offer, the receiver
// in its answer.
#pragma once

#include <cstdint>

#include "gpu/device_arena.hpp"
#include "peer/arena.hpp"
#include "peer/handshake.hpp"
#include "peer_gpu/batch.hpp"
#include "peer_gpu/exposed_memory.hpp"
#include "peer_gpu/gpu_shares.hpp"

namespace penstock::peer_gpu {

// Whether an end's kernels can stand at gates (gate.hpp), and are always to where the other end's
// can too.
enum class GateUse : std::uint32_t { none, possible, wanted };

// What both letters hold.
struct EndRecord {
  MemoryRecord buffer;
  Rows rows;                      // how the message lies there
  peer::ArenaAddress gate;        // where its calls may stand at it
  DevicePlace words;              // SenderWords, or ReceiverWords and a ring
  peer::ArenaAddress host_words;  // EndWords
  std::uint32_t has_gate = 0;
  std::uint32_t needs_gate = 0;  // there was no place for it to wait by kernels
};

struct OfferRecord {
  std::uint64_t version = peer::handshake_version;
  std::uint64_t eager_max = 0;
  std::uint32_t checks_ready = 0;
  std::uint32_t native_atomics = 0;  // may be used, where the link has them
  GateUse gates = GateUse::none;
  std::uint32_t padding = 0;
  EndRecord end;
};

struct AnswerRecord {
  std::uint64_t version = peer::handshake_version;
  std::uint32_t checks_ready = 0;
  Path path = Path::ring;
  std::uint8_t always_at_gates = 0;
  std::uint8_t padding[2] = {};
  std::uint32_t native_atomics = 0;
  std::uint32_t parts = 1;
  EndRecord end;
};

}  // namespace penstock::peer_gpu
