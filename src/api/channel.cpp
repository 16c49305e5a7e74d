// SPDX-License-Identifier: Apache-2.0
// Channels: as requests they are persistent receives from nobody, which MPI's calls may start and
// wait for.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

#include "api/channels.hpp"
#include "api/errors.hpp"
#include "api/handles.hpp"
#include "api/recorder.hpp"
#include "channel/channel_end.hpp"
#include "core/message_memory.hpp"
#include "core/registry.hpp"
#include "group/mpi_check.hpp"
#include "group/mpi_communicator.hpp"
#include "group/mpi_layout.hpp"

using namespace penstock;
using api::ChannelArguments;
using base::Error;
using base::ErrorKind;
using channel::ChannelEnd;
using channel::Verb;

namespace {

core::Recording describe(bool sends, const char* call, const ChannelArguments& arguments) {
  const core::ChannelShape shape = api::channel_shape(arguments);
  core::Recording recording = api::describe_end(sends, call, arguments);
  std::shared_ptr<std::byte> memory;
  if (sends && arguments.count > 0) api::require_pointer(arguments.buffer, "buf");
  if (!sends && !arguments.buffer) memory = core::allocate_message_memory(recording.bytes);
  if (memory) recording.buffer = memory.get();
  recording.channel =
      std::make_shared<ChannelEnd>(shape, sends, std::move(memory), api::channel_manner());
  return recording;
}

int init(bool sends, const char* call, const ChannelArguments& arguments, MPI_Request* channel) {
  return api::guard([&](core::Library&) {
    api::require_pointer(channel, "channel");
    api::require_valid(sends, arguments, call);
    *channel = api::record_new(call, arguments.comm, describe(sends, call, arguments));
  });
}

int enqueue(Verb verb, PST_Queue queue, MPI_Request handle, MPI_Count offset, MPI_Count count) {
  return api::guard_any_thread([&](core::Library& library) {
    core::Queue& target = api::queue_of(library, queue);
    const auto [channel, request] = api::channel_of(handle);
    channel.enqueue(verb, request, target, offset, count);
  });
}

}  // namespace

int PST_Channel_send_init(const void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Count unit,
                          int dest, int tag, MPI_Comm comm, MPI_Info, MPI_Request* channel) {
  return init(true, "PST_Channel_send_init",
              {const_cast<void*>(buf), count, datatype, unit, dest, tag, comm}, channel);
}

int PST_Channel_recv_init(void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Count unit,
                          int source, int tag, MPI_Comm comm, MPI_Info, MPI_Request* channel) {
  return init(false, "PST_Channel_recv_init", {buf, count, datatype, unit, source, tag, comm},
              channel);
}

int PST_Channel_buffer(MPI_Request channel, void* bufptr) {
  return api::guard_any_thread([&](core::Library&) {
    api::require_pointer(bufptr, "bufptr");
    *static_cast<void**>(bufptr) = api::channel_of(channel).second.recording().buffer;
  });
}

int PST_Channel_put(PST_Queue queue, MPI_Request channel, MPI_Count offset, MPI_Count count) {
  return enqueue(Verb::put, queue, channel, offset, count);
}

int PST_Channel_put_wait(PST_Queue queue, MPI_Request channel, MPI_Count offset, MPI_Count count) {
  return enqueue(Verb::put_wait, queue, channel, offset, count);
}

int PST_Channel_wait(PST_Queue queue, MPI_Request channel, MPI_Count offset, MPI_Count count) {
  return enqueue(Verb::wait, queue, channel, offset, count);
}

int PST_Channel_release(PST_Queue queue, MPI_Request channel, MPI_Count offset, MPI_Count count) {
  return enqueue(Verb::release, queue, channel, offset, count);
}

int PST_Channel_test(MPI_Request handle, MPI_Count offset, MPI_Count count, int* flag) {
  return api::guard_any_thread([&](core::Library&) {
    api::require_pointer(flag, "flag");
    const auto [channel, request] = api::channel_of(handle);
    *flag = channel.test(request, offset, count) ? 1 : 0;
  });
}
