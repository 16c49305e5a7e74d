// SPDX-License-Identifier: Apache-2.0
#include "core/message_of.hpp"

#include "device/gpu.hpp"

namespace penstock::core {

using transport::Direction;
using transport::Message;
using transport::Mode;

namespace {

Mode mode_of(RequestKind kind) {
  switch (kind) {
    case RequestKind::synchronous_send:
      return Mode::synchronous;
    case RequestKind::ready_send:
      return Mode::ready;
    case RequestKind::buffered_send:
      return Mode::buffered;
    default:
      return Mode::standard;
  }
}

}  // namespace

Message message_of(const MatchedRequest& request, int peer_world) {
  const Recording& recording = request.recording();
  Message message;
  message.direction = request.is_receive() ? Direction::receive : Direction::send;
  message.mode = mode_of(recording.kind);
  message.buffer = recording.buffer;
  message.bytes = recording.bytes;
  message.memory = device::memory_kind(recording.buffer);
  if (message.memory != device::MemoryKind::host) message.gpu = device::gpu_of(recording.buffer);
  message.layout = recording.layout;
  message.peer = peer_world;
  return message;
}

}  // namespace penstock::core
