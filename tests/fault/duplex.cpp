// SPDX-License-Identifier: Apache-2.0
// What the scenarios on host streams share.
#include "fault/fault.hpp"

namespace penstock::fault {

Lane::Lane() {
  require_success(PST_Stream_create(&stream), "PST_Stream_create");
  require_success(PST_Queue_init(&queue, PST_QUEUE_HOST, &stream), "PST_Queue_init");
}

Duplex::Duplex(const Job& job_, std::size_t bytes, bool synchronous)
    : job(job_), out(bytes), in(bytes) {
  const auto init = synchronous ? MPI_Ssend_init : MPI_Send_init;
  const auto count = static_cast<int>(bytes);
  require_success(init(out.data(), count, MPI_BYTE, job.peer, 41 + job.rank, MPI_COMM_WORLD, &send),
                  "send_init");
  require_success(
      MPI_Recv_init(in.data(), count, MPI_BYTE, job.peer, 41 + job.peer, MPI_COMM_WORLD, &receive),
      "recv_init");
}

void Duplex::match() {
  MPI_Request both[2] = {send, receive};
  require_success(PST_Matchall(2, both, MPI_STATUSES_IGNORE), "PST_Matchall");
}

int try_epoch(Lane& lane, MPI_Request& request) {
  if (const int code = PST_Enqueue_start(lane.queue, &request); code != MPI_SUCCESS) return code;
  if (const int code = PST_Enqueue_wait(lane.queue, &request); code != MPI_SUCCESS) return code;
  return PST_Queue_wait(lane.queue);
}

void Duplex::run_epochs(Lane& lane, int count) {
  for (int epoch = 1; epoch <= count; ++epoch) {
    fill(out, epoch);
    lane.start(send);
    lane.start(receive);
    lane.wait(send);
    lane.wait(receive);
    require_success(PST_Queue_wait(lane.queue), "PST_Queue_wait");
    require(holds(in, in.size(), epoch), "the message of epoch " + std::to_string(epoch));
  }
}

}  // namespace penstock::fault
