// SPDX-License-Identifier: Apache-2.0
// L21: one side is released by the watchdog. What it does with its memory afterwards must not reach
// the other side as a good message, and the other side must not write into memory that has been
// given up.
#include <algorithm>

#include "fault/fault.hpp"

namespace penstock::fault {
namespace {

constexpr std::size_t large = 300000, small = 100;

// The end of a rank whose queue may have failed.
void leave(Lane& lane) {
  PST_Queue_free(&lane.queue);
  require_success(PST_Stream_free(&lane.stream), "PST_Stream_free");
  meet();
}

bool fails_as_lost(int code) {
  PST_Error kind = PST_ERROR_NONE;
  PST_Error_kind(code, &kind);
  return kind == PST_ERROR_TIMEOUT || kind == PST_ERROR_PEER_FREED || kind == PST_ERROR_PEER_DEAD;
}

}  // namespace

void released_sender(const Job& job) {
  Duplex pair(job, large, true);
  pair.match();
  Lane lane;
  pair.run_epochs(lane, 2);
  if (job.rank == 0) {
    fill(pair.out, 3);
    lane.start(pair.send);
    lane.wait(pair.send);
    require_kind(PST_Queue_wait(lane.queue), PST_ERROR_TIMEOUT, "the send that nobody receives");
    std::fill(pair.out.begin(), pair.out.end(), std::byte{0x99});
    meet();
    meet();
  } else {
    meet();
    const int code = try_epoch(lane, pair.receive);
    require(code != MPI_SUCCESS || holds(pair.in, large, 3),
            "a receive from a released send reports success with other bytes");
    say(code == MPI_SUCCESS ? "receive succeeded with the right bytes"
                            : "receive failed, as it may");
    require(code == MPI_SUCCESS || fails_as_lost(code), "the kind of error of the receive");
    meet();
  }
  leave(lane);
}

void released_small_sender(const Job& job) {
  // More messages than the ring holds: some arrive, the one whose start came after the released
  // wait must not.
  constexpr int count = 6;
  std::vector<std::byte> data(small);
  MPI_Request request = MPI_REQUEST_NULL;
  Lane lane;
  struct Fill {
    std::vector<std::byte>* data;
    int epoch;
    static void run(void* fill) {
      auto& self = *static_cast<Fill*>(fill);
      fault::fill(*self.data, ++self.epoch);
    }
  } fill{&data, 0};
  if (job.rank == 0) {
    MPI_Send_init(data.data(), small, MPI_BYTE, 1, 5, MPI_COMM_WORLD, &request);
    require_success(PST_Match(&request, MPI_STATUS_IGNORE), "PST_Match");
    int code = MPI_SUCCESS;
    for (int i = 0; i < count && code == MPI_SUCCESS; ++i) {
      require_success(PST_Stream_launch(lane.stream, Fill::run, &fill), "PST_Stream_launch");
      code = PST_Enqueue_start(lane.queue, &request);
      if (code == MPI_SUCCESS) code = PST_Enqueue_wait(lane.queue, &request);
    }
    if (code == MPI_SUCCESS) code = PST_Queue_wait(lane.queue);
    if (code != MPI_SUCCESS) require_kind(code, PST_ERROR_TIMEOUT, "sends that nobody receives");
    say(code == MPI_SUCCESS ? "all sends were buffered" : "the ring was full");
    meet();
    meet();
  } else {
    MPI_Recv_init(data.data(), small, MPI_BYTE, 0, 5, MPI_COMM_WORLD, &request);
    require_success(PST_Match(&request, MPI_STATUS_IGNORE), "PST_Match");
    meet();
    int arrived = 0;
    for (int code = MPI_SUCCESS; code == MPI_SUCCESS && arrived < count;) {
      code = try_epoch(lane, request);
      if (code == MPI_SUCCESS) {
        ++arrived;
        require(holds(data, small, arrived), "message " + std::to_string(arrived));
      } else {
        require(fails_as_lost(code), "the kind of error of the receive");
      }
    }
    say("received " + std::to_string(arrived));
    meet();
  }
  leave(lane);
}

void released_receiver(const Job& job) {
  Duplex pair(job, large);
  pair.match();
  Lane lane;
  pair.run_epochs(lane, 2);
  if (job.rank == 1) {
    lane.start(pair.receive);
    lane.wait(pair.receive);
    require_kind(PST_Queue_wait(lane.queue), PST_ERROR_TIMEOUT, "the receive that nobody sends");
    // Frees its half: from here on the memory is its own again.
    require_success(MPI_Request_free(&pair.receive), "MPI_Request_free");
    std::fill(pair.in.begin(), pair.in.end(), std::byte{0x77});
    meet();
    meet();
    const bool untouched = std::all_of(pair.in.begin(), pair.in.end(),
                                       [](std::byte b) { return b == std::byte{0x77}; });
    require(untouched, "memory of a freed receive has been written");
  } else {
    meet();
    fill(pair.out, 3);
    const int code = try_epoch(lane, pair.send);
    require(code != MPI_SUCCESS, "a send to a released and freed receive reports success");
    require(fails_as_lost(code), "the kind of error of the send");
    meet();
  }
  leave(lane);
}

// The sender has its buffer back and frees its request; nobody receives the message, and both ends
// leave: MPI_Finalize delivers what can still be received, and nothing else.
void unreceived_buffered(const Job& job) {
  std::vector<std::byte> data(4 << 20);
  const int count = static_cast<int>(data.size());
  MPI_Request request = MPI_REQUEST_NULL;
  if (job.rank == 0)
    MPI_Bsend_init(data.data(), count, MPI_BYTE, job.peer, 6, MPI_COMM_WORLD, &request);
  else
    MPI_Recv_init(data.data(), count, MPI_BYTE, job.peer, 6, MPI_COMM_WORLD, &request);
  require_success(PST_Match(&request, MPI_STATUS_IGNORE), "PST_Match");
  Lane lane;
  if (job.rank == 0) require_success(try_epoch(lane, request), "a buffered send");
  if (job.rank == 0) require_success(MPI_Request_free(&request), "MPI_Request_free");
  meet();
  meet();
  if (job.rank == 1) require_success(MPI_Request_free(&request), "MPI_Request_free");
  leave(lane);
}

}  // namespace penstock::fault
