// SPDX-License-Identifier: Apache-2.0
#include "api/partitioned.hpp"

#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "api/channels.hpp"
#include "api/errors.hpp"
#include "api/handles.hpp"
#include "channel/channel_end.hpp"
#include "core/registry.hpp"
#include "group/mpi_check.hpp"
#include "group/mpi_handle.hpp"

namespace penstock::api {

using base::Error;
using base::ErrorKind;

namespace {

// Elements of a unit: a whole partition, unless `info` says less.
MPI_Count unit_of(const PartitionedArguments& arguments) {
  if (arguments.info == MPI_INFO_NULL) return arguments.count;
  char value[MPI_MAX_INFO_VAL + 1] = "";
  int found = 0;
  group::check_mpi(PMPI_Info_get(arguments.info, "penstock_unit", MPI_MAX_INFO_VAL, value, &found),
                   "MPI_Info_get");
  if (found == 0) return arguments.count;
  const std::string_view text(value);
  MPI_Count unit = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), unit);
  if (error != std::errc() || end != text.data() + text.size() || unit <= 0 ||
      arguments.count % unit != 0)
    throw Error(ErrorKind::argument,
                fmt::format("penstock_unit is '{}', and has to be a number that the {} elements of "
                            "a partition are a multiple of",
                            text, arguments.count));
  return unit;
}

ChannelArguments channel_arguments(const PartitionedArguments& from) {
  MPI_Count count = 0;
  if (__builtin_mul_overflow(from.count, static_cast<MPI_Count>(from.partitions), &count))
    throw Error(ErrorKind::argument, "all partitions together are more elements than MPI counts");
  return {from.buffer, count, from.datatype, 0, from.peer, from.tag, from.comm};
}

core::Recording describe(bool sends, const char* call, const PartitionedArguments& from) {
  ChannelArguments arguments = channel_arguments(from);
  arguments.unit = unit_of(from);
  const core::ChannelShape shape = channel_shape(arguments);
  core::Recording recording = describe_end(sends, call, arguments);
  const channel::Partitions partitions{static_cast<std::uint64_t>(from.partitions),
                                       static_cast<std::uint64_t>(from.count)};
  recording.channel =
      std::make_shared<channel::ChannelEnd>(shape, partitions, sends, channel_manner());
  return recording;
}

core::Recording describe_refused(bool sends, const char* call, const PartitionedArguments& from,
                                 const Error& why) {
  core::Recording recording;
  recording.kind = sends ? core::RequestKind::send : core::RequestKind::receive;
  recording.call = call;
  recording.refusal = why.text();
  describe_peer(recording, {nullptr, 0, from.datatype, 0, from.peer, from.tag, from.comm});
  return recording;
}

core::Recording describe_or_refuse(bool sends, const char* call, const PartitionedArguments& from) {
  try {
    return describe(sends, call, from);
  } catch (const Error& error) {
    return describe_refused(sends, call, from, error);
  }
}

// ---- Calls

int ready(const char* call, PST_Queue queue, MPI_Request handle, int low, int high) {
  return guard_any_thread([&](core::Library& library) {
    core::Queue& target = queue_of(library, queue);
    const auto [channel, request] = channel_of(handle);
    channel.ready(call, request, target, low, high);
  });
}

}  // namespace

void record_partitioned(bool sends, const char* call, const PartitionedArguments& arguments,
                        MPI_Request request) {
  core::Registry::get().record(group::handle_bits(request),
                               describe_or_refuse(sends, call, arguments));
}

}  // namespace penstock::api

using namespace penstock;

int PST_Pready(PST_Queue queue, int partition, MPI_Request request) {
  return api::ready("PST_Pready", queue, request, partition, partition);
}

int PST_Pready_range(PST_Queue queue, int partition_low, int partition_high, MPI_Request request) {
  return api::ready("PST_Pready_range", queue, request, partition_low, partition_high);
}

int PST_Pready_list(PST_Queue queue, int length, const int partitions[], MPI_Request request) {
  return api::guard_any_thread([&](core::Library& library) {
    core::Queue& target = api::queue_of(library, queue);
    const auto [channel, end] = api::channel_of(request);
    if (length < 0)
      throw base::Error(base::ErrorKind::argument,
                        fmt::format("the length of the list is negative: {}", length));
    if (length > 0) api::require_pointer(partitions, "partitions");
    channel.ready("PST_Pready_list", end, target,
                  std::span(partitions, static_cast<std::size_t>(length)));
  });
}

int PST_Parrived(MPI_Request request, int partition, int* flag) {
  return api::guard_any_thread([&](core::Library&) {
    api::require_pointer(flag, "flag");
    const auto [channel, end] = api::channel_of(request);
    *flag = channel.arrived(end, partition) ? 1 : 0;
  });
}
