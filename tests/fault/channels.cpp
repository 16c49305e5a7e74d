// SPDX-License-Identifier: Apache-2.0
// G9 for channels: an end that has been killed, or that does nothing, is an error of the other
// one's queue, which names the unit.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>

#include "fault/fault.hpp"

namespace penstock::fault {
namespace {

// Over MPI a message that is not copied ahead of its receive is none to die in: UCX ends a process
// that reads from a dead one.
bool mpi_is_used() {
  const char* const transports = std::getenv("PENSTOCK_TRANSPORT");
  return transports != nullptr && std::string(transports) == "proxy";
}

constexpr MPI_Count units = 4;
const MPI_Count unit = mpi_is_used() ? 1000 : 20000, all = unit * units;
constexpr int channel_epochs = 12;

// Whether receive buffers are the library's, which senders may store into.
bool buffers_are_the_librarys() {
  return std::getenv("PENSTOCK_TEST_LIBRARY_BUFFER") != nullptr;
}

// From the one rank to the other.
struct Channel {
  std::vector<std::byte> bytes = std::vector<std::byte>(static_cast<std::size_t>(all));
  MPI_Request request = MPI_REQUEST_NULL;

  Channel(const Job& job, bool sends, int tag) {
    void* const in = buffers_are_the_librarys() ? nullptr : bytes.data();
    require_success(sends ? PST_Channel_send_init(bytes.data(), all, MPI_BYTE, unit, job.peer, tag,
                                                  MPI_COMM_WORLD, MPI_INFO_NULL, &request)
                          : PST_Channel_recv_init(in, all, MPI_BYTE, unit, job.peer, tag,
                                                  MPI_COMM_WORLD, MPI_INFO_NULL, &request),
                    "PST_Channel_*_init");
    require_success(PST_Match(&request, MPI_STATUS_IGNORE), "PST_Match");
  }
};

// One of the three calls that an end makes in each epoch.
int call(Lane& lane, const Channel& channel, bool sends, int step) {
  if (sends)
    return step == 0   ? PST_Channel_put(lane.queue, channel.request, 0, unit)
           : step == 1 ? PST_Channel_put(lane.queue, channel.request, unit, all - unit)
                       : PST_Channel_put_wait(lane.queue, channel.request, 0, all);
  return step == 0   ? PST_Channel_wait(lane.queue, channel.request, 0, 2 * unit)
         : step == 1 ? PST_Channel_wait(lane.queue, channel.request, 2 * unit, all - 2 * unit)
                     : PST_Channel_release(lane.queue, channel.request, 0, all);
}

void require_told(const std::string& what, const std::string& whom) {
  char text[1024] = "";
  PST_Last_error(text, sizeof text);
  require(std::string(text).find(what) != std::string::npos, whom + " names its unit: " + text);
}

}  // namespace

// Rank 1 dies on its stream, before one of its verbs in an epoch in the middle; it sends where
// PENSTOCK_TEST_STEP is 3 or more.
void dead_channel_peer(const Job& job) {
  const char* const text = std::getenv("PENSTOCK_TEST_STEP");
  const int step = text == nullptr ? 0 : std::atoi(text);
  const bool sends = (job.rank == 1) == (step >= 3);
  Channel channel(job, sends, 1), idle(job, sends, 2);
  Lane lane;
  std::atomic<bool> passed = false;
  int code = MPI_SUCCESS;
  for (int epoch = 0; code == MPI_SUCCESS; ++epoch) {
    for (int verb = 0; verb < 3 && code == MPI_SUCCESS; ++verb) {
      if (job.rank == 1 && epoch == channel_epochs / 2 && verb == step % 3)
        require_success(PST_Stream_launch(lane.stream, die_on_stream, nullptr), "launch");
      code = call(lane, channel, sends, verb);
    }
    // What is copied ahead may be sent for a while yet.
    if (epoch >= channel_epochs && code == MPI_SUCCESS) code = PST_Queue_wait(lane.queue);
  }
  require_success(PST_Stream_launch(lane.stream, set_passed, &passed), "PST_Stream_launch");
  require_kind(PST_Queue_wait(lane.queue), PST_ERROR_PEER_DEAD, "PST_Queue_wait");
  require(passed, "the stream has been released");
  // Another queue hears of it for another channel, and for this one that it is given up.
  Lane other;
  require_kind(call(other, channel, sends, 0), PST_ERROR_PEER_DEAD, "a call of what is given up");
  code = MPI_SUCCESS;
  for (int verb = 0; code == MPI_SUCCESS; verb = (verb + 1) % 3) {
    code = call(other, idle, sends, verb);
    if (code == MPI_SUCCESS) code = PST_Queue_wait(other.queue);
  }
  require_kind(code, PST_ERROR_PEER_DEAD, "another channel with a dead end");
  require_success(PST_Request_free(&channel.request), "PST_Request_free");
  content_and_gone();
}

// Rank 1 puts all units but one, and releases none: PENSTOCK_TIMEOUT ends both waits, and tells the
// units.
void silent_channel_peer(const Job& job) {
  const bool first = job.rank == 0;
  Channel in(job, !first, 1), out(job, first, 2);
  Lane taking, sending;
  if (first) {
    require_success(PST_Channel_wait(taking.queue, in.request, 0, all), "wait");
    for (int epoch = 0; epoch < 2; ++epoch) {
      require_success(PST_Channel_put(sending.queue, out.request, unit, unit), "put");
      require_success(PST_Channel_put_wait(sending.queue, out.request, unit, unit), "put_wait");
    }
    require_kind(PST_Queue_wait(taking.queue), PST_ERROR_TIMEOUT, "PST_Queue_wait (receiver)");
    require_told("unit 2 (elements " + std::to_string(2 * unit) + " to ", "the receiver's error");
    // MPI may take as much ahead of the release.
    const int code = PST_Queue_wait(sending.queue);
    if (code != MPI_SUCCESS) {
      require_kind(code, PST_ERROR_TIMEOUT, "PST_Queue_wait (sender)");
      require_told("unit 1 (elements " + std::to_string(unit) + " to ", "the sender's error");
    }
  } else {
    require_success(PST_Channel_put(sending.queue, in.request, 0, 2 * unit), "put");
    require_success(PST_Channel_put(sending.queue, in.request, 3 * unit, unit), "put");
    require_success(PST_Channel_put_wait(sending.queue, in.request, 0, all), "put_wait");
    require_success(PST_Channel_wait(taking.queue, out.request, unit, unit), "wait");
    require_success(PST_Queue_wait(sending.queue), "PST_Queue_wait");
    require_success(PST_Queue_wait(taking.queue), "PST_Queue_wait");
  }
  meet();
  if (!first) {  // hears that the other end has been given up, at the unit that it has not put
    Lane lane;
    int code = PST_Channel_put(lane.queue, in.request, 2 * unit, unit);
    if (code == MPI_SUCCESS) code = PST_Channel_put_wait(lane.queue, in.request, 2 * unit, unit);
    if (code == MPI_SUCCESS) code = PST_Queue_wait(lane.queue);
    require_kind(code, PST_ERROR_PEER_FREED, "a put to an end that has been given up");
  }
  meet();
  require_success(PST_Request_free(&in.request), "PST_Request_free");
  require_success(PST_Request_free(&out.request), "PST_Request_free");
}

}  // namespace penstock::fault
