// SPDX-License-Identifier: Apache-2.0
// Q13: a peer that dies or goes silent is an error of the queue whose enqueued messages wait for
// it, and of their requests, never a hang.
#include <atomic>
#include <cstdlib>

#include "fault/fault.hpp"

namespace penstock::fault {
namespace {

constexpr std::size_t few_bytes = 64;
// Far more than MPI takes before its receive.
constexpr std::size_t many_bytes = std::size_t{4} << 20;

// With PENSTOCK_TEST_PROMISE one whose messages are enqueued at both ends, counted and not matched.
MPI_Comm comm() {
  static const MPI_Comm one = [] {
    const char* const promises = std::getenv("PENSTOCK_TEST_PROMISE");
    if (promises == nullptr) return MPI_COMM_WORLD;
    MPI_Comm made;
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    require_success(PST_Comm_enqueue_only(made), "PST_Comm_enqueue_only");
    return made;
  }();
  return one;
}

void send(Lane& lane, const std::vector<std::byte>& out, int to, MPI_Request* request) {
  require_success(PST_Enqueue_send(out.data(), static_cast<int>(out.size()), MPI_BYTE, to, 5,
                                   comm(), lane.queue, request),
                  "PST_Enqueue_send");
}
void receive(Lane& lane, std::vector<std::byte>& in, int from, MPI_Request* request) {
  require_success(PST_Enqueue_recv(in.data(), static_cast<int>(in.size()), MPI_BYTE, from, 5,
                                   comm(), lane.queue, request),
                  "PST_Enqueue_recv");
}

}  // namespace

// Rank 1 dies on its stream after some exchanges; rank 0 waits for a message that will not come
// (step 0), or for one to be taken (1), on the stream, or by MPI_Wait alone (2, 3).
void dead_enqueued_peer(const Job& job) {
  const char* const text = std::getenv("PENSTOCK_TEST_STEP");
  const int step = text == nullptr ? 0 : std::atoi(text);
  const bool sends = step % 2 == 1, stream_waits = step < 2;
  MPI_Comm unpromised;
  MPI_Comm_dup(MPI_COMM_WORLD, &unpromised);
  Lane lane;
  std::vector<std::byte> in(few_bytes);
  const auto out = message(few_bytes, 0);
  for (int i = 0; i < 50; ++i) {
    send(lane, out, job.peer, nullptr);
    receive(lane, in, job.peer, nullptr);
    require_success(PST_Enqueue_trigger(lane.queue), "trigger");
    require_success(PST_Enqueue_wait_outstanding(lane.queue), "wait");
  }
  if (job.rank == 1) {
    require_success(PST_Stream_launch(lane.stream, die_on_stream, nullptr), "launch");
    PST_Queue_wait(lane.queue);
  }
  std::atomic<bool> passed = false;
  const auto unwanted = message(many_bytes, 1);
  MPI_Request request = MPI_REQUEST_NULL;
  if (sends)
    send(lane, unwanted, job.peer, &request);
  else
    receive(lane, in, job.peer, &request);
  require_success(PST_Enqueue_trigger(lane.queue), "trigger");
  if (!stream_waits)
    require_kind(MPI_Wait(&request, MPI_STATUS_IGNORE), PST_ERROR_PEER_DEAD, "MPI_Wait alone");
  const int code = PST_Enqueue_wait_outstanding(lane.queue);
  if (stream_waits) require_success(code, "wait");
  require_success(PST_Stream_launch(lane.stream, set_passed, &passed), "PST_Stream_launch");
  require_kind(PST_Queue_wait(lane.queue), PST_ERROR_PEER_DEAD, "PST_Queue_wait");
  require_success(PST_Stream_synchronize(lane.stream), "PST_Stream_synchronize");
  require(passed, "the stream has been released");
  if (stream_waits)
    require_kind(MPI_Wait(&request, MPI_STATUS_IGNORE), PST_ERROR_PEER_DEAD, "MPI_Wait");
  // They are collective, and one member will not come.
  if (MPI_Comm promised = comm(); promised != MPI_COMM_WORLD) {
    require_kind(MPI_Comm_free(&promised), PST_ERROR_PEER_DEAD, "MPI_Comm_free");
    require_kind(PST_Comm_enqueue_only(unpromised), PST_ERROR_PEER_DEAD, "PST_Comm_enqueue_only");
  }
  content_and_gone();
}

// Rank 1 neither sends nor receives for a while: PENSTOCK_TIMEOUT ends the waits of rank 0, and
// names the message. What rank 0 has given up of its receives is no longer there; its send is still
// MPI's.
void silent_enqueued_peer(const Job& job) {
  const auto unwanted = message(many_bytes, 1), late = message(few_bytes, 2);
  std::vector<std::byte> never(few_bytes);
  if (job.rank == 0) {
    Lane receiving, sending, idle;
    MPI_Request requests[2];
    receive(receiving, never, job.peer, &requests[0]);
    receive(idle, never, job.peer, nullptr);  // not triggered
    send(sending, unwanted, job.peer, &requests[1]);
    for (Lane* lane : {&receiving, &sending}) {
      require_success(PST_Enqueue_trigger(lane->queue), "trigger");
      require_success(PST_Enqueue_wait_outstanding(lane->queue), "wait");
    }
    require_kind(PST_Queue_wait(receiving.queue), PST_ERROR_TIMEOUT, "PST_Queue_wait (receive)");
    require(told("receive from rank 1 (tag 5"), "the error names the receive");
    require_kind(PST_Queue_wait(sending.queue), PST_ERROR_TIMEOUT, "PST_Queue_wait (send)");
    require(told("send to rank 1 (tag 5"), "the error names the send");
    for (MPI_Request& request : requests)
      require_kind(MPI_Wait(&request, MPI_STATUS_IGNORE), PST_ERROR_TIMEOUT, "MPI_Wait");
    meet();
    std::vector<std::byte> in(few_bytes);
    MPI_Recv(in.data(), few_bytes, MPI_BYTE, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    require(holds(in, few_bytes, 2), "the late message came to the receive that is there");
    require(holds(never, few_bytes, 0) == false,
            "the receive that was given up has been left alone");
  } else {
    meet();
    std::vector<std::byte> in(many_bytes);
    MPI_Recv(in.data(), static_cast<int>(many_bytes), MPI_BYTE, 0, 5, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    require(holds(in, many_bytes, 1), "the send that was given up still has its bytes");
    MPI_Send(late.data(), few_bytes, MPI_BYTE, 0, 5, MPI_COMM_WORLD);
  }
  meet();
}

}  // namespace penstock::fault
