// SPDX-License-Identifier: Apache-2.0
// A queue fails because of one pair while another pair's large message is under way. When
// PST_Queue_wait has returned, the buffer of that message is the program's own again: nothing of it
// is written or read any more.
//
// Ranks 0 and 2 share the large message; rank 1 frees its half of a small one to rank 0 once the
// large one has begun.
#include <algorithm>

#include "fault/fault.hpp"

namespace penstock::fault {
namespace {

constexpr std::size_t long_bytes = 48 << 20, short_bytes = 8;
constexpr int rounds = 3;
constexpr int leaver = 1;
constexpr std::byte own{0x77};

bool has_begun(const std::vector<std::byte>& in) {
  return *const_cast<const volatile std::byte*>(in.data()) != std::byte{0};
}

// The message begins with no zero: the receiver sees it come.
void fill_visibly(std::vector<std::byte>& out, int epoch) {
  fill(out, epoch);
  out[0] = std::byte{0x5a};
}
bool holds_visibly(std::vector<std::byte>& in, int epoch) {
  if (in[0] != std::byte{0x5a}) return false;
  in[0] = message(1, epoch)[0];
  return holds(in, long_bytes, epoch);
}

void let_leave() {
  int nothing = 0;
  MPI_Send(&nothing, 1, MPI_INT, leaver, 9, MPI_COMM_WORLD);
}

void leave_when_told(MPI_Request& request) {
  int nothing = 0;
  MPI_Recv(&nothing, 1, MPI_INT, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  require_success(MPI_Request_free(&request), "MPI_Request_free");
}

// The same way brings it that brought what came before: all of that is here then.
void pass_one_more_message(const Job& job) {
  if (job.rank == leaver) return;
  std::vector<std::byte> data(short_bytes);
  MPI_Request request = MPI_REQUEST_NULL;
  const bool sends = job.rank == 2;
  if (sends)
    MPI_Send_init(data.data(), short_bytes, MPI_BYTE, 0, 3, MPI_COMM_WORLD, &request);
  else
    MPI_Recv_init(data.data(), short_bytes, MPI_BYTE, 2, 3, MPI_COMM_WORLD, &request);
  require_success(PST_Match(&request, MPI_STATUS_IGNORE), "PST_Match");
  Lane lane;
  require_success(try_epoch(lane, request), "one more message");
  require_success(MPI_Request_free(&request), "MPI_Request_free");
  require_success(PST_Queue_free(&lane.queue), "PST_Queue_free");
  require_success(PST_Stream_free(&lane.stream), "PST_Stream_free");
}

// What one rank has in a round.
struct Round {
  std::vector<std::byte> buffer, little = std::vector<std::byte>(short_bytes);
  std::vector<MPI_Request> requests;
  Lane lane;

  // `large_from`: the rank that sends the large message to the other one.
  Round(const Job& job, int large_from, int epoch) {
    if (job.rank != leaver) buffer.resize(long_bytes);
    MPI_Request request = MPI_REQUEST_NULL;
    if (job.rank == leaver)
      MPI_Send_init(little.data(), short_bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &request);
    if (job.rank == 0)
      MPI_Recv_init(little.data(), short_bytes, MPI_BYTE, leaver, 1, MPI_COMM_WORLD, &request);
    if (request != MPI_REQUEST_NULL) requests.push_back(request);
    if (job.rank != leaver) {
      const int other = 2 - job.rank;
      if (job.rank == large_from) {
        fill_visibly(buffer, epoch);
        MPI_Send_init(buffer.data(), long_bytes, MPI_BYTE, other, 2, MPI_COMM_WORLD, &request);
      } else {
        MPI_Recv_init(buffer.data(), long_bytes, MPI_BYTE, other, 2, MPI_COMM_WORLD, &request);
      }
      requests.push_back(request);
    }
    const int count = static_cast<int>(requests.size());
    require_success(PST_Matchall(count, requests.data(), MPI_STATUSES_IGNORE), "PST_Matchall");
    meet();
  }
  void run() {
    require_success(
        PST_Enqueue_runall(lane.queue, static_cast<int>(requests.size()), requests.data()), "run");
  }
  void free_requests() {
    for (MPI_Request& request : requests)
      if (request != MPI_REQUEST_NULL)
        require_success(MPI_Request_free(&request), "MPI_Request_free");
  }
  void leave() {
    free_requests();
    PST_Queue_free(&lane.queue);
    require_success(PST_Stream_free(&lane.stream), "PST_Stream_free");
    meet();
  }
};

// Of the rank whose queue goes on.
void expect_all_or_none(Round& round, int code, int epoch, bool receives) {
  if (code != MPI_SUCCESS) return require_kind(code, PST_ERROR_PEER_FREED, "the other end");
  if (receives)
    require(holds_visibly(round.buffer, epoch), "a message that was given up arrived torn");
}

// Rank 0's queue fails, rank 2's goes on; the large message goes from rank `from` to the other one.
void fail_beside(const Job& job, int from) {
  for (int i = 1; i <= rounds; ++i) {
    Round round(job, from, i);
    const bool receives = job.rank == 2 - from;
    if (job.rank == leaver) {
      leave_when_told(round.requests[0]);
    } else {
      round.run();
      if (receives) {
        while (!has_begun(round.buffer)) {
        }
        let_leave();
      }
      const int code = PST_Queue_wait(round.lane.queue);
      if (job.rank == 2) expect_all_or_none(round, code, i, receives);
      if (job.rank == 0) {
        require_kind(code, PST_ERROR_PEER_FREED, "the failed queue");
        round.free_requests();
        std::fill(round.buffer.begin(), round.buffer.end(), own);
        // So much memory goes back to the system: who reads it still, crashes.
        if (!receives) round.buffer = {};
      }
    }
    meet();
    pass_one_more_message(job);
    if (job.rank == 0)
      require(std::all_of(round.buffer.begin(), round.buffer.end(),
                          [](std::byte b) { return b == own; }),
              "the buffer of a receive that was given up is still written");
    round.leave();
  }
}

}  // namespace

void failed_beside_receive(const Job& job) {
  fail_beside(job, 2);
}
void failed_beside_send(const Job& job) {
  fail_beside(job, 0);
}

}  // namespace penstock::fault
