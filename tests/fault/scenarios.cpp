// SPDX-License-Identifier: Apache-2.0
// The scenarios on host streams, and what they share.
#include "fault/fault.hpp"

namespace penstock::fault {

std::map<std::string, Scenario> scenarios() {
  return {{"dead_peer", {dead_peer}},
          {"dead_peer_in_match", {dead_peer_in_match}},
          {"dead_sender_of_wildcard", {dead_sender_of_wildcard, 3}},
          {"stopped_peer", {stopped_peer}},
          {"fatal_handler", {fatal_handler}},
          {"released_sender", {released_sender}},
          {"released_small_sender", {released_small_sender}},
          {"released_receiver", {released_receiver}},
          {"freed_peer", {freed_peer}},
          {"match_time_out", {match_time_out}},
          {"report", {report}},
          {"own_signal_handler", {own_signal_handler}},
          {"traffic", {traffic}},
          {"small_memory", {small_memory}},
          {"idle", {idle}}};
}

Lane::Lane() {
  require_success(PST_Stream_create(&stream), "PST_Stream_create");
  require_success(PST_Queue_init(&queue, PST_QUEUE_HOST, &stream), "PST_Queue_init");
}

Duplex::Duplex(const Job& job_, std::size_t bytes, bool synchronous) : job(job_), out(bytes), in(bytes) {
  const auto init = synchronous ? MPI_Ssend_init : MPI_Send_init;
  const auto count = static_cast<int>(bytes);
  require_success(init(out.data(), count, MPI_BYTE, job.peer, 41 + job.rank, MPI_COMM_WORLD, &send), "send_init");
  require_success(MPI_Recv_init(in.data(), count, MPI_BYTE, job.peer, 41 + job.peer, MPI_COMM_WORLD, &receive),
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
