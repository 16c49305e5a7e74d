// SPDX-License-Identifier: Apache-2.0
#include "api/channels.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "api/handles.hpp"
#include "core/library.hpp"
#include "core/matched_request.hpp"
#include "core/registry.hpp"
#include "core/request_error.hpp"
#include "group/mpi_check.hpp"
#include "group/mpi_communicator.hpp"
#include "group/mpi_handle.hpp"
#include "group/mpi_layout.hpp"

namespace penstock::api {

using base::Error;
using base::ErrorKind;
using channel::ChannelEnd;

core::ChannelShape channel_shape(const ChannelArguments& arguments) {
  constexpr std::uint64_t default_unit_bytes = 128;
  if (arguments.count < 0)
    throw Error(ErrorKind::argument,
                fmt::format("the count of elements is negative: {}", arguments.count));
  if (arguments.unit < 0)
    throw Error(ErrorKind::argument, fmt::format("the unit is negative: {}", arguments.unit));
  int size = 0;
  group::check_mpi(PMPI_Type_size(arguments.datatype, &size), "MPI_Type_size");
  if (size <= 0) throw Error(ErrorKind::argument, "the datatype has no bytes");
  core::ChannelShape shape;
  shape.element_bytes = static_cast<std::uint64_t>(size);
  shape.count = static_cast<std::uint64_t>(arguments.count);
  shape.unit = static_cast<std::uint64_t>(arguments.unit);
  if (shape.unit == 0)
    shape.unit = (default_unit_bytes + shape.element_bytes - 1) / shape.element_bytes;
  return shape;
}

core::Recording describe_end(bool sends, const char* call, const ChannelArguments& arguments) {
  auto layout = std::make_shared<group::MpiLayout>(arguments.datatype, arguments.count);
  core::Recording recording;
  recording.kind = sends ? core::RequestKind::send : core::RequestKind::receive;
  recording.call = call;
  recording.buffer = arguments.buffer;
  recording.bytes = layout->bytes();
  recording.refusal = layout->refusal();
  if (recording.refusal.empty() && (!layout->contiguous() || layout->lowest() != 0))
    throw Error(ErrorKind::unsupported,
                "the datatype has gaps: a channel is of elements that lie side by side");
  recording.layout = std::move(layout);
  describe_peer(recording, arguments);
  return recording;
}

ChannelEnd::Manner channel_manner() {
  const core::Library* const library = core::Library::get();
  if (!library) return {};
  return {.check = library->settings().check, .words = library->settings().channel_words};
}

std::pair<const ChannelEnd&, core::MatchedRequest&> channel_of(MPI_Request handle) {
  core::MatchedRequest& request = request_of(handle);
  const auto& recorded = request.recording().channel;
  if (!recorded || recorded->shape().slots != 0)
    throw core::RequestError(request, ErrorKind::argument,
                             " is no channel: make one with PST_Channel_send_init or "
                             "PST_Channel_recv_init");
  return {static_cast<const ChannelEnd&>(*recorded), request};
}

void require_valid(bool sends, const ChannelArguments& of, const char* call) {
  MPI_Request request = MPI_REQUEST_NULL;
  group::check_mpi(
      sends ? PMPI_Send_init(nullptr, 0, of.datatype, of.peer, of.tag, of.comm, &request)
            : PMPI_Recv_init(nullptr, 0, of.datatype, of.peer, of.tag, of.comm, &request),
      call);
  PMPI_Request_free(&request);
}

void describe_peer(core::Recording& recording, const ChannelArguments& arguments) {
  recording.communicator = group::communicator_of(arguments.comm);
  recording.peer = arguments.peer == MPI_PROC_NULL    ? core::null_rank
                   : arguments.peer == MPI_ANY_SOURCE ? core::any_rank
                                                      : arguments.peer;
  recording.peer_world = recording.peer < 0
                             ? recording.peer
                             : group::world_rank(*recording.communicator, recording.peer);
  recording.tag = arguments.tag == MPI_ANY_TAG ? core::any_tag : arguments.tag;
}

MPI_Request record_new(const char* call, MPI_Comm comm, core::Recording recording) {
  MPI_Request made = MPI_REQUEST_NULL;
  group::check_mpi(PMPI_Recv_init(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, comm, &made), call);
  try {
    core::Registry::get().record(group::handle_bits(made), std::move(recording));
  } catch (...) {
    PMPI_Request_free(&made);
    throw;
  }
  return made;
}

}  // namespace penstock::api
