// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine.hpp"
#include "pattern.hpp"
#include "storage.hpp"

namespace penstock::bench {

// Who sends windows to whom.
struct Pairing {
  int rank;
  int peer;
  bool sends;
};

// One rank's side of a windowed transfer: a window of messages goes at once, and is answered with
// one byte when all of it has come. Each message of the window has a buffer of its own, so that
// every byte can be checked.
struct Window {
  Window(std::size_t bytes, int messages, MemoryKind memory, Mode mode, Pairing pairing, int tag,
         Calls calls = Calls::persistent);
  void match();

  std::span<std::byte> message(std::size_t index) noexcept {
    return data.all().subspan(index * stride, bytes);
  }

  Pairing pairing;
  std::size_t bytes;
  std::size_t stride;
  Storage data;
  Storage answer_data;
  Batch messages;
  Batch answer;
  CheckResult check_result;
};

struct WindowTime {
  double us;
  double call_us;  // what enqueueing all of it has cost the caller; Penstock's only
};

// Of one round of plain MPI or of the stream, on this rank.
template <class Engine>
WindowTime time_round(Engine& engine, Window& side, int iterations, Order order, bool check);

}  // namespace penstock::bench
