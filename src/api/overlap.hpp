// SPDX-License-Identifier: Apache-2.0
// Large messages of plain MPI calls, with PENSTOCK_OVERLAP=exact: which they are, and how a call of
// MPI's becomes one of the engine's (overlap/engine.hpp). Both ends of a message decide alike: by
// its bytes, and by its communicator.
#pragma once

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/no_copy.hpp"
#include "group/communicator.hpp"
#include "overlap/caller.hpp"
#include "transport/message.hpp"

namespace penstock::api {

extern std::atomic<bool> overlap_begun;
// All that a call costs where it is off.
inline bool overlaps() noexcept {
  return overlap_begun.load(std::memory_order_relaxed);
}

// Collective over MPI_COMM_WORLD. Where it fails, the log says why, and all messages stay MPI's.
void begin_overlap() noexcept;
// When the library ends: waits until others have read what we have sent.
void end_overlap() noexcept;

// For PST_Describe; empty where it is off. Any thread.
std::vector<std::pair<std::string, std::uint64_t>> count_large_messages();

// What a call names.
struct MessageCall {
  const char* call;
  transport::Direction direction;
  const void* buffer;
  MPI_Count count;
  MPI_Datatype datatype;
  int peer, tag;
  MPI_Comm comm;
};

// What is known of a message that is the engine's.
struct LargeMessage {
  std::shared_ptr<group::Communicator> communicator;
  int peer_world;
  std::size_t bytes;
};

// Nothing: it is MPI's, as is every call with wrong arguments, which MPI tells.
std::optional<LargeMessage> large_message(const MessageCall& call) noexcept;

enum class SendMode { direct, buffered };

// ---- The calls of large messages. Each returns what MPI's would.
int start_large_send(const MessageCall& call, const LargeMessage& large, SendMode mode,
                     MPI_Request* request) noexcept;
int large_send(const MessageCall& call, const LargeMessage& large, SendMode mode) noexcept;
int start_large_receive(const MessageCall& call, const LargeMessage& large,
                        MPI_Request* request) noexcept;
int large_receive(const MessageCall& call, const LargeMessage& large, MPI_Status* status) noexcept;
// Waits for a receive of MPI_Recv's that is MPI's.
int receive_small(MPI_Request request, MPI_Status* status) noexcept;
// Nothing: neither is large. `replaces`: both have one buffer.
std::optional<int> large_exchange(const MessageCall& send, const MessageCall& receive,
                                  bool replaces, MPI_Status* status) noexcept;
// Such a call as this is not served.
int refuse_large(const MessageCall& call, const LargeMessage& large) noexcept;

// ---- Probes, which look for both kinds
// Whether large messages of the communicator are the engine's.
bool probes_both(MPI_Comm comm) noexcept;
// MPI_Iprobe and, with a place for the message, MPI_Improbe. `caller`: whether the program waits
// for the message, and so has time to read those that have come.
int probe_both(overlap::Caller caller, int source, int tag, MPI_Comm comm, int* found,
               MPI_Message* message, MPI_Status* status) noexcept;
// Nothing: the message is MPI's. `request`: MPI_Imrecv's; null: it waits.
std::optional<int> receive_probed(const MessageCall& call, MPI_Message* message,
                                  MPI_Request* request, MPI_Status* status) noexcept;

// Nothing: the request is no large message's.
std::optional<int> cancel_large(MPI_Request request) noexcept;

// ---- Persistent requests
// Nothing: this start is MPI's.
std::optional<int> start_persistent(MPI_Request request) noexcept;
// Before an active one is freed.
void free_persistent(MPI_Request request) noexcept;

extern std::atomic<int> active_persistent;
// Around a call that completes requests. MPI knows nothing of what an active one of ours stands
// for: its place in the program's array is taken by the request of the message meanwhile.
class PersistentRequests : private base::NoCopy {
 public:
  PersistentRequests(int count, MPI_Request* requests) {
    if (active_persistent.load(std::memory_order_relaxed) != 0) [[unlikely]]
      substitute(count, requests);
  }
  ~PersistentRequests() { restore(); }
  void restore() noexcept {
    if (!places_.empty()) [[unlikely]]
      put_back();
  }

 private:
  struct Place {
    MPI_Request* at;
    MPI_Request persistent;
  };
  void substitute(int count, MPI_Request* requests);
  void put_back() noexcept;

  std::vector<Place> places_;
};

// Moves messages along, and completes the requests of those that have ended.
void drive_overlap(overlap::Caller caller) noexcept;

// A wait of the program's, between two looks at what it waits for.
class OverlapWait : private base::NoCopy {
 public:
  // `beside_mpi`: it waits for messages of MPI's, too, which tell nobody when they have come.
  explicit OverlapWait(bool beside_mpi) noexcept;
  ~OverlapWait();
  // Before the look: what has come by then is no reason to stay awake.
  void look() noexcept;
  void pause() noexcept;  // and tells once of a wait of PENSTOCK_TIMEOUT

 private:
  using Clock = std::chrono::steady_clock;
  void report_if_long(Clock::time_point now) noexcept;

  const bool beside_mpi_;
  const Clock::time_point begun_;
  Clock::time_point last_news_;
  std::chrono::milliseconds limit_{0};
  std::uint64_t seen_ = 0;
};

}  // namespace penstock::api
