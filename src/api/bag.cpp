// SPDX-License-Identifier: Apache-2.0
// Bags: requests as channels are. That of a receiver has a lane for each source, which no handle of
// MPI's stands for.
#include <penstock/bag.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/channels.hpp"
#include "api/errors.hpp"
#include "api/handles.hpp"
#include "channel/bag_end.hpp"
#include "group/mpi_check.hpp"
#include "group/mpi_layout.hpp"

using namespace penstock;
using api::ChannelArguments;
using base::Error;
using base::ErrorKind;
using channel::BagEnd;
using channel::BagShape;
using channel::BagSourceEnd;
using channel::Grabbed;

static_assert(sizeof(PST_Grabbed) == sizeof(Grabbed) &&
              offsetof(PST_Grabbed, slot) == offsetof(Grabbed, slot) &&
              offsetof(PST_Grabbed, rank) == offsetof(Grabbed, rank) &&
              offsetof(PST_Grabbed, count) == offsetof(Grabbed, count));

namespace {

BagShape shape_of(int slots, const ChannelArguments& arguments) {
  if (slots < 1)
    throw Error(ErrorKind::argument,
                "a bag has one slot or more for each source, not " + std::to_string(slots));
  if (arguments.unit < 0)
    throw Error(ErrorKind::argument,
                "the count of a slot's elements is negative: " + std::to_string(arguments.unit));
  if (arguments.unit > std::numeric_limits<std::uint32_t>::max())
    throw Error(ErrorKind::argument,
                "a slot has 2^32 - 1 elements at most, not " + std::to_string(arguments.unit));
  int size = 0;
  group::check_mpi(PMPI_Type_size(arguments.datatype, &size), "MPI_Type_size");
  if (size <= 0) throw Error(ErrorKind::argument, "the datatype has no bytes");
  return {static_cast<channel::Slot>(slots), static_cast<std::uint64_t>(arguments.unit),
          static_cast<std::uint64_t>(size)};
}

core::Recording describe(bool sends, const char* call, const BagShape& shape,
                         const ChannelArguments& arguments) {
  auto layout = std::make_shared<group::MpiLayout>(
      arguments.datatype, static_cast<MPI_Count>(shape.slots * shape.slot_elements));
  core::Recording recording;
  recording.kind = sends ? core::RequestKind::send : core::RequestKind::receive;
  recording.call = call;
  recording.buffer = arguments.buffer;
  recording.bytes = layout->bytes();
  recording.refusal = layout->refusal();
  if (recording.refusal.empty() && (!layout->contiguous() || layout->lowest() != 0))
    throw Error(ErrorKind::unsupported,
                "the datatype has gaps: a bag is of elements that lie side by side");
  recording.layout = std::move(layout);
  api::describe_peer(recording, arguments);
  return recording;
}

void require_sources(int count, const int* sources, const BagShape& shape) {
  if (count < 1)
    throw Error(ErrorKind::argument, "a bag has one source or more, not " + std::to_string(count));
  api::require_pointer(sources, "sources");
  if (std::uint64_t{shape.slots} * static_cast<std::uint64_t>(count) >
      static_cast<std::uint64_t>(std::numeric_limits<int>::max()))
    throw Error(ErrorKind::argument, "the slots of all sources are more than an int counts");
  for (int i = 0; i < count; ++i) {
    if (sources[i] < 0)
      throw Error(ErrorKind::argument, "source " + std::to_string(i) +
                                           " of the bag is no rank: " + std::to_string(sources[i]));
    if (std::find(sources, sources + i, sources[i]) != sources + i)
      throw Error(ErrorKind::argument, "rank " + std::to_string(sources[i]) +
                                           " is a source of the bag twice: name each once");
  }
}

std::vector<std::unique_ptr<core::MatchedRequest>> make_lanes(const BagShape& shape,
                                                              ChannelArguments arguments,
                                                              const std::vector<int>& sources) {
  const auto end = std::make_shared<channel::BagEndOfLane>(shape);
  std::vector<std::unique_ptr<core::MatchedRequest>> lanes;
  for (const int source : sources) {
    arguments.peer = source;
    api::require_valid(false, arguments, "PST_Bag_recv_init");
    core::Recording recording = describe(false, "PST_Bag_recv_init", shape, arguments);
    recording.channel = end;
    lanes.push_back(std::make_unique<core::MatchedRequest>(std::move(recording)));
    arguments.buffer = static_cast<std::byte*>(arguments.buffer) + shape.bytes();
  }
  return lanes;
}

// What a handle stands for, with its request.
template <class End>
std::pair<const End&, core::MatchedRequest&> bag_of(MPI_Request handle, const char* which) {
  core::MatchedRequest& request = api::request_of(handle);
  const auto* const end = dynamic_cast<const End*>(request.recording().channel.get());
  if (!end) throw core::RequestError(request, ErrorKind::argument, which);
  return {*end, request};
}
std::pair<const BagEnd&, core::MatchedRequest&> grabbing_end(MPI_Request handle) {
  return bag_of<BagEnd>(handle,
                        " is no end of a bag that is grabbed from: make one with "
                        "PST_Bag_recv_init");
}

}  // namespace

int PST_Bag_recv_init(void* buf, int slots, MPI_Count slot_count, MPI_Datatype datatype,
                      int nsources, const int sources[], int tag, MPI_Comm comm, MPI_Info,
                      MPI_Request* bag) {
  return api::guard([&](core::Library&) {
    api::require_pointer(bag, "bag");
    ChannelArguments arguments{buf, 0, datatype, slot_count, MPI_ANY_SOURCE, tag, comm};
    api::require_valid(false, arguments, "PST_Bag_recv_init");
    const BagShape shape = shape_of(slots, arguments);
    require_sources(nsources, sources, shape);
    if (shape.bytes() > 0) api::require_pointer(buf, "buf");
    std::vector<int> ranks(sources, sources + nsources);
    auto lanes = make_lanes(shape, arguments, ranks);
    core::Recording recording = describe(false, "PST_Bag_recv_init", shape, arguments);
    recording.bytes *= static_cast<std::size_t>(nsources);
    recording.channel = std::make_shared<BagEnd>(shape, std::move(lanes), std::move(ranks));
    *bag = api::record_new("PST_Bag_recv_init", comm, std::move(recording));
  });
}

int PST_Bag_send_init(int slots, MPI_Count slot_count, MPI_Datatype datatype, int dest, int tag,
                      MPI_Comm comm, MPI_Info, MPI_Request* bag) {
  return api::guard([&](core::Library&) {
    api::require_pointer(bag, "bag");
    const ChannelArguments arguments{nullptr, 0, datatype, slot_count, dest, tag, comm};
    api::require_valid(true, arguments, "PST_Bag_send_init");
    const BagShape shape = shape_of(slots, arguments);
    core::Recording recording = describe(true, "PST_Bag_send_init", shape, arguments);
    recording.channel = std::make_shared<BagSourceEnd>(shape);
    *bag = api::record_new("PST_Bag_send_init", comm, std::move(recording));
  });
}

int PST_Bag_put(PST_Queue queue, MPI_Request handle, const void* source, MPI_Count count) {
  return api::guard_any_thread([&](core::Library& library) {
    core::Queue& target = api::queue_of(library, queue);
    const auto [end, request] =
        bag_of<BagSourceEnd>(handle,
                             " is no end of a bag that is put at: make one with "
                             "PST_Bag_send_init");
    if (count > 0) api::require_pointer(source, "source");
    end.put(request, target, source, count);
  });
}

int PST_Bag_grab(PST_Queue queue, MPI_Request handle, PST_Grabbed* grabbed) {
  return api::guard_any_thread([&](core::Library& library) {
    core::Queue& target = api::queue_of(library, queue);
    const auto [end, request] = grabbing_end(handle);
    api::require_pointer(grabbed, "grabbed");
    end.grab(request, target, reinterpret_cast<Grabbed*>(grabbed));
  });
}

int PST_Bag_release(PST_Queue queue, MPI_Request handle, const PST_Grabbed* grabbed) {
  return api::guard_any_thread([&](core::Library& library) {
    core::Queue& target = api::queue_of(library, queue);
    const auto [end, request] = grabbing_end(handle);
    api::require_pointer(grabbed, "grabbed");
    end.release(request, target, reinterpret_cast<const Grabbed*>(grabbed));
  });
}
