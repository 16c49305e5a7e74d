// SPDX-License-Identifier: Apache-2.0
// A large message of the program's, as this process knows its end. Its maker keeps it until the
// engine says that it has ended.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "base/no_copy.hpp"
#include "core/matching/match_order.hpp"
#include "group/communicator.hpp"
#include "group/layout.hpp"
#include "overlap/station.hpp"

namespace penstock::overlap {

using Clock = std::chrono::steady_clock;

struct Message : private base::NoCopy {
  virtual ~Message() = default;

  // ---- Its maker's, before it begins
  const char* call = "";  // "MPI_Isend", for messages
  std::shared_ptr<const group::Communicator> communicator;
  int peer = core::any_rank;  // in the communicator
  int peer_world = core::any_rank;
  int tag = core::any_tag;
  std::byte* buffer = nullptr;  // where its lowest byte lies
  std::size_t bytes = 0;
  std::shared_ptr<const group::Layout> layout;  // null: no gaps
  // Whether the engine hands it out by take_ended(). Another one is asked for by ended().
  bool listed = false;
  void* request = nullptr;  // what it is the message of, for its maker

  const datatype::Segments* segments() const noexcept {
    return layout && !layout->contiguous() ? layout->segments().get() : nullptr;
  }
  std::string label() const;  // "MPI_Irecv from rank 1, tag 5, MPI_COMM_WORLD, 65536 bytes"

  // ---- What has become of it, once it has ended
  int source = core::any_rank, its_tag = core::any_tag;  // of a receive
  bool cancelled = false;
  std::optional<base::Error> error;

  // ---- The engine's, under its lock
  bool sends = false;
  bool over = false;
  Clock::time_point begun{};
  std::uint64_t serial = 0;  // of all of the process
  Message* next_ended = nullptr;
};

struct Send : Message {
  Send() { sends = true; }

  // ---- The engine's
  Announcement announced;
  std::unique_ptr<std::byte[]> packed;  // its bytes without gaps, where that is faster
  std::shared_ptr<const void> kept;     // memory that the receiver maps
};

// A message that has come, as far as its announcement.
struct Arrival {
  int sender = 0;  // in MPI_COMM_WORLD
  Announcement announced;
  std::uint64_t* answer = nullptr;  // the word, as it is mapped here
};

struct Receive : Message {
  // ---- The engine's
  Arrival arrival;  // once it is matched
  bool matched = false;
  bool left_to_program = false;  // the thread has found no free core for it
  bool claimed = false;          // somebody pulls it
  Clock::time_point matched_at{};
  int copy_failed = 0;  // errno
};

inline core::Envelope envelope_of(const Receive& message) {
  return {message.communicator->id, message.peer, message.tag};
}
inline core::Envelope envelope_of(const Announcement& line) {
  return {line.communicator, line.source, line.tag};
}

}  // namespace penstock::overlap
