// SPDX-License-Identifier: Apache-2.0
// G9 for bags: an end that has been killed, or that does nothing, is an error of the other one's
// queue, which names the rank. What was put before is grabbed first.
#include <atomic>
#include <cstdlib>
#include <string>

#include "fault/fault.hpp"

namespace penstock::fault {
namespace {

constexpr int slots = 2, messages = 5;

// Rank `receiver` grabs what the other one puts.
struct Bag {
  std::vector<int> memory = std::vector<int>(slots);
  const bool grabs;
  MPI_Request request = MPI_REQUEST_NULL;

  Bag(const Job& job, int receiver) : grabs(job.rank == receiver) {
    require_success(grabs ? PST_Bag_recv_init(memory.data(), slots, 1, MPI_INT, 1, &job.peer, 7,
                                              MPI_COMM_WORLD, MPI_INFO_NULL, &request)
                          : PST_Bag_send_init(slots, 1, MPI_INT, receiver, 7, MPI_COMM_WORLD,
                                              MPI_INFO_NULL, &request),
                    "PST_Bag_*_init");
    require_success(PST_Match(&request, MPI_STATUS_IGNORE), "PST_Match");
  }
};

// One message, at either end. `between`: what a grabber's stream does before it releases.
int pass(Lane& lane, const Bag& bag, PST_Grabbed& grabbed, void (*between)(void*) = nullptr) {
  static const int value = 7;
  if (!bag.grabs) return PST_Bag_put(lane.queue, bag.request, &value, 1);
  const int code = PST_Bag_grab(lane.queue, bag.request, &grabbed);
  if (code != MPI_SUCCESS) return code;
  if (between != nullptr)
    require_success(PST_Stream_launch(lane.stream, between, nullptr), "PST_Stream_launch");
  return PST_Bag_release(lane.queue, bag.request, &grabbed);
}

}  // namespace

// Rank 1 dies on its stream behind some messages: before a put, or where PENSTOCK_TEST_STEP is 1
// before a grab, where it is 2 with a message that it has grabbed and not released.
void dead_bag_peer(const Job& job) {
  const char* const text = std::getenv("PENSTOCK_TEST_STEP");
  const int step = text == nullptr ? 0 : std::atoi(text);
  Bag bag(job, step == 0 ? 0 : 1);
  Lane lane;
  PST_Grabbed grabbed{};
  int passed = 0, code = MPI_SUCCESS;
  while (code == MPI_SUCCESS) {
    const bool dies = job.rank == 1 && passed == messages;
    if (dies && step < 2)
      require_success(PST_Stream_launch(lane.stream, die_on_stream, nullptr), "launch");
    code = pass(lane, bag, grabbed, dies && step == 2 ? die_on_stream : nullptr);
    if (code == MPI_SUCCESS) code = PST_Queue_wait(lane.queue);
    if (code == MPI_SUCCESS) ++passed;
  }
  require_kind(code, PST_ERROR_PEER_DEAD, "the queue of the other end");
  require(told("rank 1"), "the error names the rank");
  // Messages lie in slots that nobody has grabbed from, or were grabbed before their source died.
  require(bag.grabs ? passed == messages : passed >= messages, "all that was put was grabbed");
  require(!bag.grabs || grabbed.slot == -1, "the grab that has failed has no slot");
  Lane other;
  require_kind(pass(other, bag, grabbed), PST_ERROR_PEER_DEAD, "a call of what is given up");
  require_success(PST_Request_free(&bag.request), "PST_Request_free");
  content_and_gone();
}

// Nothing is put, and nothing grabbed: PENSTOCK_TIMEOUT ends the grab, and the put that has no
// slot, each of which names the other end.
void silent_bag_peer(const Job& job) {
  Bag first(job, 0);
  Lane lane;
  std::atomic<bool> passed = false;
  PST_Grabbed grabbed{};
  if (first.grabs) {
    require_success(pass(lane, first, grabbed), "grab");
    require_success(PST_Stream_launch(lane.stream, set_passed, &passed), "launch");
    require_kind(PST_Queue_wait(lane.queue), PST_ERROR_TIMEOUT, "PST_Queue_wait (grab)");
    require(told("rank 1"), "the error names the source");
    require(passed && grabbed.slot == -1, "the stream has been released");
  }
  meet();
  Lane putting;
  if (!first.grabs)
    require_kind(
        pass(putting, first, grabbed) == MPI_SUCCESS ? PST_Queue_wait(putting.queue) : MPI_SUCCESS,
        PST_ERROR_PEER_FREED, "a put into a bag that was given up");
  meet();
  require_success(PST_Request_free(&first.request), "PST_Request_free");
  Bag second(job, 0);
  Lane full;
  if (!second.grabs) {
    for (int message = 0; message <= slots; ++message)
      require_success(pass(full, second, grabbed), "put");
    require_kind(PST_Queue_wait(full.queue), PST_ERROR_TIMEOUT, "PST_Queue_wait (put)");
    require(told("rank 0"), "the error names the receiver");
  }
  meet();
  require_success(PST_Request_free(&second.request), "PST_Request_free");
}

}  // namespace penstock::fault
