// SPDX-License-Identifier: Apache-2.0
// Persistent requests of large messages.
#include <exception>
#include <memory>
#include <optional>

#include "api/overlap_messages.hpp"
#include "base/forked.hpp"
#include "core/matched_request.hpp"
#include "core/registry.hpp"
#include "group/mpi_communicator.hpp"

namespace penstock::api {

std::atomic<int> active_persistent{0};

namespace large {
namespace {

// As the call that has made the request has recorded it.
void describe(Message& message, const core::Recording& recording) {
  message.call = recording.call;
  message.communicator = recording.communicator;
  message.peer = recording.peer;
  message.peer_world = recording.peer_world;
  message.tag = recording.tag;
  message.bytes = recording.bytes;
  if (!recording.refusal.empty())
    throw Error(ErrorKind::argument, message.label() + ": " + recording.refusal);
  take_layout(message, recording.buffer, recording.layout);
}

bool is_large(const core::Recording& recording) {
  const bool is_message = recording.is_send() || recording.kind == core::RequestKind::receive;
  return is_message && recording.channel == nullptr && recording.communicator &&
         recording.bytes >= engine->least_bytes() && recording.peer != core::null_rank &&
         recording.communicator->alive.load() &&
         served(group::handle_of(*recording.communicator)) != nullptr;
}

MPI_Request begin_recorded(const core::Recording& recording) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (recording.is_send()) {
    auto message = std::make_unique<Send>();
    describe(*message, recording);
    begin_send(
        std::move(message),
        recording.kind == core::RequestKind::buffered_send ? SendMode::buffered : SendMode::direct,
        &request);
  } else {
    auto message = std::make_unique<Receive>();
    describe(*message, recording);
    begin_requested(std::move(message), &request,
                    [](Receive& each) { engine->receive(each, Caller::passing); });
  }
  return request;
}

}  // namespace
}  // namespace large

std::optional<int> start_persistent(MPI_Request request) noexcept {
  if (request == MPI_REQUEST_NULL || base::forked()) return std::nullopt;
  const std::uintptr_t handle = group::handle_bits(request);
  const core::MatchedRequest* const recorded = core::Registry::get().find(handle);
  if (recorded == nullptr) return std::nullopt;
  const core::Recording& recording = recorded->recording();
  try {
    if (!large::is_large(recording)) return std::nullopt;
  } catch (const std::exception&) {
    return std::nullopt;
  }
  return large::reported(*recording.communicator, [&] {
    {
      const std::lock_guard lock(large::requests.mutex);
      if (!large::requests.persistent.try_emplace(handle, MPI_REQUEST_NULL).second)
        throw base::Error(base::ErrorKind::already_started,
                          recorded->label() + " is active: complete it before the next MPI_Start");
    }
    try {
      const MPI_Request stands_for_it = large::begin_recorded(recording);
      const std::lock_guard lock(large::requests.mutex);
      large::requests.persistent[handle] = stands_for_it;
      active_persistent.fetch_add(1, std::memory_order_relaxed);
    } catch (...) {
      const std::lock_guard lock(large::requests.mutex);
      large::requests.persistent.erase(handle);
      throw;
    }
  });
}

void free_persistent(MPI_Request request) noexcept {
  const std::lock_guard lock(large::requests.mutex);
  const auto place = large::requests.persistent.find(group::handle_bits(request));
  if (place == large::requests.persistent.end()) return;
  MPI_Request stands_for_it = place->second;
  large::requests.persistent.erase(place);
  active_persistent.fetch_sub(1, std::memory_order_relaxed);
  PMPI_Request_free(&stands_for_it);
}

void PersistentRequests::substitute(int count, MPI_Request* array) {
  if (array == nullptr) return;
  const std::lock_guard lock(large::requests.mutex);
  for (MPI_Request* each = array; each < array + count; ++each) {
    if (*each == MPI_REQUEST_NULL) continue;
    const auto place = large::requests.persistent.find(group::handle_bits(*each));
    if (place == large::requests.persistent.end()) continue;
    places_.push_back({each, *each});
    *each = place->second;
  }
}

// Those that MPI has freed have ended: the program's are inactive again.
void PersistentRequests::put_back() noexcept {
  const std::lock_guard lock(large::requests.mutex);
  for (const Place& place : places_) {
    if (*place.at == MPI_REQUEST_NULL) {
      large::requests.persistent.erase(group::handle_bits(place.persistent));
      active_persistent.fetch_sub(1, std::memory_order_relaxed);
    }
    *place.at = place.persistent;
  }
  places_.clear();
}

}  // namespace penstock::api
