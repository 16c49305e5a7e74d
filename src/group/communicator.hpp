// SPDX-License-Identifier: Apache-2.0
// A communicator's identity, the same on all its members without communication. Creation calls on a
// parent are ordered alike on all of them. So the identity of a child is a hash of the parent's, of
// how and as which one it was created, and of its members.
#pragma once

#include <atomic>
#include <compare>
#include <cstdint>
#include <functional>
#include <string>

namespace penstock::group {

// Stands for the rank in MPI_COMM_WORLD of a process that is outside it. -1 and -2 stand for
// MPI_ANY_SOURCE and MPI_PROC_NULL (core/recording.hpp).
inline constexpr int not_in_world = -3;

struct CommunicatorId {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  auto operator<=>(const CommunicatorId&) const = default;
};

// What the program has promised of a communicator, for the rooms above.
class CommunicatorPromise {
 public:
  virtual ~CommunicatorPromise() = default;
};

// With PENSTOCK_OVERLAP=exact.
enum class LargeMessages : std::uint8_t { undecided, ours, of_mpi };

// What a request keeps of its communicator. Shared by all requests on it, and outlives the MPI
// handle.
struct Communicator {
  CommunicatorId id;
  bool known = false;         // identity known on all members; otherwise PST_Comm_attach is needed
  std::string why_unknown;    // "created by MPI_Comm_create_from_group", ...
  int rank = -1;              // ours in it
  std::uintptr_t handle = 0;  // the MPI_Comm; valid while alive, see group/mpi_communicator.hpp
  std::atomic<bool> alive{true};
  // Messages that have been enqueued on it and not been handed to MPI yet; where lanes bring them,
  // those that have not ended.
  std::atomic<std::int64_t> enqueued{0};
  std::atomic<CommunicatorPromise*> promise{nullptr};  // its maker's; null: none
  std::atomic<bool> left_to_mpi{false};                // with a barrier of ours that has not ended
  // Whose its large messages are; the same on all members, once decided.
  std::atomic<LargeMessages> large_messages{LargeMessages::undecided};
  std::atomic<std::uint64_t> collectives{0};  // that have been made to be matched
  std::string name;  // "MPI_COMM_WORLD", MPI_Comm_get_name's answer, or "communicator 1a2b3c4d"
};

}  // namespace penstock::group

template <>
struct std::hash<penstock::group::CommunicatorId> {
  std::size_t operator()(const penstock::group::CommunicatorId& id) const noexcept {
    return id.low;
  }
};
