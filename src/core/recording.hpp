// SPDX-License-Identifier: Apache-2.0
// What the recorder keeps of a persistent request at its creation: all that may be freed or changed
// before it is matched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "core/channel.hpp"
#include "core/collective.hpp"
#include "group/communicator.hpp"
#include "group/layout.hpp"

namespace penstock::core {

enum class RequestKind : std::uint8_t {
  send,
  synchronous_send,
  ready_send,
  buffered_send,
  receive,
  collective
};

inline constexpr int any_rank = -1;   // MPI_ANY_SOURCE
inline constexpr int null_rank = -2;  // MPI_PROC_NULL
inline constexpr int any_tag = -1;    // MPI_ANY_TAG

struct Recording {
  RequestKind kind = RequestKind::send;
  const char* call = "";   // "MPI_Send_init", for messages
  void* buffer = nullptr;  // where the message's lowest byte lies
  std::size_t bytes = 0;   // count * size of the datatype
  std::string refusal{};   // why it can never be matched; empty: it can
  std::shared_ptr<const group::Layout> layout{};
  std::shared_ptr<const group::Communicator> communicator{};
  int peer = any_rank;  // rank in the communicator (its remote group, if it has one), any_rank or
                        // null_rank
  int peer_world = any_rank;  // rank in MPI_COMM_WORLD, or group::not_in_world
  int tag = any_tag;
  std::shared_ptr<const Collective> collective{};  // null: it is none, or none that can be matched
  std::shared_ptr<const Channel> channel{};        // null: it is none

  bool is_send() const noexcept {
    return kind == RequestKind::send || kind == RequestKind::synchronous_send ||
           kind == RequestKind::ready_send || kind == RequestKind::buffered_send;
  }
};

}  // namespace penstock::core
