// SPDX-License-Identifier: Apache-2.0
// Programs in which something fails on purpose. Each runs on two ranks or a few more; run_fault.py
// starts them, breaks what they do not break themselves, and reads what they print. A rank that is
// content prints "rank N content".
#pragma once

#include <mpi.h>
#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "penstock/penstock.h"

namespace penstock::fault {

struct Job {
  int rank = 0, peer = 0;  // the peer: of two ranks
  pid_t pids[4] = {0, 0, 0, 0};
};

struct Scenario {
  void (*run)(const Job&);
  int ranks = 2;
};
std::map<std::string, Scenario> scenarios();

void say(const std::string& text);                      // one line with the rank
void require(bool condition, const std::string& text);  // ends the job with a message
void require_success(int code, const std::string& what);
void require_kind(int code, PST_Error kind, const std::string& what);
bool told(const char* what);  // by the last error
// Ends this process without MPI_Finalize, which a lost peer would hold up.
[[noreturn]] void content_and_gone();
void meet();
[[noreturn]] void die();  // SIGKILL to this process
// For streams: die(), and set the std::atomic<bool> that is given.
void die_on_stream(void*);
void set_passed(void* flag);

std::vector<std::byte> message(std::size_t bytes, int epoch);
void fill(std::vector<std::byte>& buffer, int epoch);  // in place: requests know the address
bool holds(const std::vector<std::byte>& buffer, std::size_t bytes, int epoch);

// A stream and a queue that may be broken by the end.
struct Lane {
  PST_Stream stream = PST_STREAM_NULL;
  PST_Queue queue = PST_QUEUE_NULL;
  Lane();
  void start(MPI_Request& request) { require_success(PST_Enqueue_start(queue, &request), "start"); }
  void wait(MPI_Request& request) { require_success(PST_Enqueue_wait(queue, &request), "wait"); }
};

// One epoch of a request whose peer may have given up: any of the three calls may be the first to
// say so.
int try_epoch(Lane& lane, MPI_Request& request);

// The two ends between the ranks, with room for a message each; tags 41 (from rank 0) and 42 (from
// rank 1).
struct Duplex {
  Job job;
  std::vector<std::byte> out, in;
  MPI_Request send = MPI_REQUEST_NULL, receive = MPI_REQUEST_NULL;
  Duplex(const Job& job, std::size_t bytes, bool synchronous = false);
  void match();
  void run_epochs(Lane& lane, int count);  // both ways, waits for the host at the end
};

void dead_peer(const Job& job);
void dead_window_peer(const Job& job);
void silent_window_peer(const Job& job);
void stopped_window_peer(const Job& job);
void dead_channel_peer(const Job& job);
void silent_channel_peer(const Job& job);
void dead_bag_peer(const Job& job);
void silent_bag_peer(const Job& job);
void dead_enqueued_peer(const Job& job);
void silent_enqueued_peer(const Job& job);
void dead_overlap_peer(const Job& job);
void late_overlap_peer(const Job& job);
void dead_member(const Job& job);
void dead_in_collective_call(const Job& job);
void silent_member(const Job& job);
void dead_context(const Job& job);
void dead_lane_peer(const Job& job);
void dead_peer_in_kernel(const Job& job);
void dead_parent(const Job& job);
void dead_peer_in_match(const Job& job);
void dead_peer_at_end(const Job& job);
void dead_sender_of_wildcard(const Job& job);
void stopped_peer(const Job& job);
void fatal_handler(const Job& job);
void released_sender(const Job& job);
void released_small_sender(const Job& job);
void released_receiver(const Job& job);
void freed_peer(const Job& job);
void unreceived_buffered(const Job& job);
void failed_beside_receive(const Job& job);
void failed_beside_send(const Job& job);
void match_time_out(const Job& job);
void report(const Job& job);
void own_signal_handler(const Job& job);
void traffic(const Job& job);
void small_memory(const Job& job);
void no_memory(const Job& job);
void no_memory_for_list(const Job& job);
void idle(const Job& job);

}  // namespace penstock::fault
