// SPDX-License-Identifier: Apache-2.0
// What the calls that make channels and bags share. As requests both are persistent receives from
// nobody, which MPI's calls may start and wait for.
#pragma once

#include <mpi.h>

#include <utility>

#include "channel/channel_end.hpp"
#include "core/recording.hpp"

namespace penstock::api {

struct ChannelArguments {
  void* buffer;
  MPI_Count count;
  MPI_Datatype datatype;
  MPI_Count unit;
  int peer;
  int tag;
  MPI_Comm comm;
};

// How both ends divide the elements. Throws Error.
core::ChannelShape channel_shape(const ChannelArguments& arguments);
// What is recorded of an end, but for its buffer's owner and the channel itself. Throws Error.
core::Recording describe_end(bool sends, const char* call, const ChannelArguments& arguments);
// As the library's settings have it; by default before it is initialised.
channel::ChannelEnd::Manner channel_manner();
// The channel that a request is, with the request. Throws Error.
std::pair<const channel::ChannelEnd&, core::MatchedRequest&> channel_of(MPI_Request handle);

// MPI's own checks of the envelope and of the datatype. Throws Error(mpi).
void require_valid(bool sends, const ChannelArguments& of, const char* call);
void describe_peer(core::Recording& recording, const ChannelArguments& arguments);
// A new request with that recording. Throws Error.
MPI_Request record_new(const char* call, MPI_Comm comm, core::Recording recording);

}  // namespace penstock::api
