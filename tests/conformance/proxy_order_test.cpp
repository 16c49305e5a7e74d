// SPDX-License-Identifier: Apache-2.0
// What `proxy` may not rest on: the order of messages on two communicators, and how many calls it
// takes until MPI tells what has happened. Functions of this program stand before MPI's and use
// what freedom the standard leaves.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "conformance/one_way.hpp"

namespace penstock::test {
namespace {

template <class Function>
Function* next(const char* name, Function*) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

int leave_alone(void*, MPI_Status* status) {
  MPI_Status_set_elements(status, MPI_BYTE, 0);
  return MPI_Status_set_cancelled(status, 0);
}
int free_nothing(void*) {
  return MPI_SUCCESS;
}
int cancel_nothing(void*, int) {
  return MPI_SUCCESS;
}

// Messages on another communicator than the last persistent send's are late.
class Lateness {
 public:
  std::atomic<bool> on{false};
  std::atomic<MPI_Comm> messages{MPI_COMM_NULL};

  int keep(const void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
           MPI_Request* request) {
    Late& late = late_.emplace_back();
    int bytes = 0;
    MPI_Type_size(type, &bytes);
    late = {std::vector<char>(static_cast<std::size_t>(bytes) * static_cast<std::size_t>(count)),
            peer,
            tag,
            comm,
            {}};
    std::memcpy(late.data.data(), data, late.data.size());
    const int code =
        MPI_Grequest_start(leave_alone, free_nothing, cancel_nothing, nullptr, request);
    late.request = *request;
    return code;
  }
  void deliver() {
    on = false;
    for (Late& one : late_) {
      PMPI_Send(one.data.data(), static_cast<int>(one.data.size()), MPI_BYTE, one.peer, one.tag,
                one.comm);
      MPI_Grequest_complete(one.request);
    }
    late_.clear();
  }

 private:
  struct Late {
    std::vector<char> data;
    int peer, tag;
    MPI_Comm comm;
    MPI_Request request;
  };
  std::deque<Late> late_;
};
Lateness lateness;

// So many more calls of MPI_Test do not tell yet that a synchronous send has ended.
std::atomic<long> looks_in_vain{0};
constexpr long all_looks = 1L << 40;
std::mutex synchronous_mutex;
std::set<MPI_Request> synchronous_sends;

bool is_synchronous_send(MPI_Request request) {
  const std::lock_guard lock(synchronous_mutex);
  return synchronous_sends.contains(request);
}

// What MPI has not said to be done. A request in there that is freed is MPI's for as long as it
// likes.
std::mutex active_mutex;
std::map<MPI_Request, int> active;  // and how often MPI_Test does not tell of its end yet
std::atomic<int> freed_while_active{0};
std::atomic<int> looks_in_vain_after_cancel{0};

bool tells_nothing_yet(MPI_Request request) {
  const std::lock_guard lock(active_mutex);
  const auto found = active.find(request);
  return found != active.end() && found->second > 0 && found->second-- > 0;
}
void set_active(MPI_Request request, bool yes) {
  const std::lock_guard lock(active_mutex);
  if (yes)
    active[request] = 0;
  else
    active.erase(request);
}

constexpr int tag = 9;

TEST(ProxyOrder, G3_AReleasedSendIsNoMessageHoweverLateOtherCommunicatorsAre) {
  ASSERT_EQ(size(), 2);
  constexpr std::size_t bytes = 2000000;  // far more than MPI takes without its receive
  Sender sender(bytes, Memory::ordinary, 1);
  Receiver receiver(bytes, Memory::ordinary, 1);
  if (rank() == 0)
    sender.init(Kind::standard, 1, tag);
  else
    receiver.init(0, tag);
  match_all({rank() == 0 ? &sender.request() : &receiver.request()});
  BrokenLane lane;
  if (rank() == 0) {
    lateness.on = true;
    sender.enqueue_start(lane);
    EXPECT_PST(PST_Enqueue_wait(lane.queue(), &sender.request()));
    EXPECT_PST_KIND(PST_Queue_wait(lane.queue()), PST_ERROR_TIMEOUT);
    std::memset(sender.buffer().data(), 0x99, bytes);  // it is the program's again
  }
  meet();
  if (rank() == 1) {
    int code = PST_Enqueue_start(lane.queue(), &receiver.request());
    if (code == MPI_SUCCESS) code = PST_Enqueue_wait(lane.queue(), &receiver.request());
    if (code == MPI_SUCCESS) code = PST_Queue_wait(lane.queue());
    EXPECT_EQ(kind_of(code), PST_ERROR_PEER_FREED) << describe(code);
  }
  meet();
  lateness.deliver();
  meet();
}

TEST(ProxyOrder, G5_WhatTheReceiverHasTakenRefusesNoBufferedSendHoweverLateMpiTells) {
  for (int round = 0; round < 5; ++round) {
    OneWay pair({.bytes = 100, .kind = Kind::buffered, .tag = 10});
    looks_in_vain = all_looks;
    for (unsigned i = 0; i < slots(); ++i) {
      pair.start_receive();
      pair.start_send();
      pair.wait_receive();
      pair.wait_send();
    }
    pair.finish_receive();
    pair.synchronize_send();
    meet();               // all of them have been taken, and the sender knows
    looks_in_vain = 500;  // more than any number of passes that one would call enough
    pair.start_receive();
    pair.start_send();
    pair.wait_receive();
    pair.wait_send();
    pair.finish_receive();
    pair.finish_send();
    looks_in_vain = 0;
    pair.expect_good(slots() + 1);
    meet();
  }
}

// How many calls it takes until MPI tells that what has been cancelled is done is its own affair.
TEST(ProxyOrder, WhatIsGivenUpIsFreedWhenMpiIsDoneWithItHoweverLateItTells) {
  Receiver receiver(1000, Memory::ordinary, 1);
  Sender sender(1000, Memory::ordinary, 1);
  if (rank() == 0)
    sender.init(Kind::standard, 1, tag);
  else
    receiver.init(0, tag);
  match_all({rank() == 0 ? &sender.request() : &receiver.request()});
  if (rank() == 1) {
    BrokenLane lane;
    freed_while_active = 0;
    looks_in_vain_after_cancel = 100;
    EXPECT_PST(PST_Enqueue_start(lane.queue(), &receiver.request()));
    EXPECT_PST(PST_Enqueue_wait(lane.queue(), &receiver.request()));
    EXPECT_PST_KIND(PST_Queue_wait(lane.queue()), PST_ERROR_TIMEOUT);
    EXPECT_EQ(freed_while_active, 0);
    looks_in_vain_after_cancel = 0;
  }
  meet();
}

}  // namespace
}  // namespace penstock::test

extern "C" int PMPI_Send_init(const void* data, int count, MPI_Datatype type, int peer, int tag,
                              MPI_Comm comm, MPI_Request* request) {
  using namespace penstock::test;
  static const auto own = next("PMPI_Send_init", &PMPI_Send_init);
  lateness.messages = comm;
  return own(data, count, type, peer, tag, comm, request);
}

extern "C" int PMPI_Ssend_init(const void* data, int count, MPI_Datatype type, int peer, int tag,
                               MPI_Comm comm, MPI_Request* request) {
  using namespace penstock::test;
  static const auto own = next("PMPI_Ssend_init", &PMPI_Ssend_init);
  const int code = own(data, count, type, peer, tag, comm, request);
  const std::lock_guard lock(synchronous_mutex);
  synchronous_sends.insert(*request);
  return code;
}

extern "C" int PMPI_Isend(const void* data, int count, MPI_Datatype type, int peer, int tag,
                          MPI_Comm comm, MPI_Request* request) {
  using namespace penstock::test;
  static const auto own = next("PMPI_Isend", &PMPI_Isend);
  if (!lateness.on || comm == lateness.messages)
    return own(data, count, type, peer, tag, comm, request);
  return lateness.keep(data, count, type, peer, tag, comm, request);
}

extern "C" int PMPI_Start(MPI_Request* request) {
  using namespace penstock::test;
  static const auto own = next("PMPI_Start", &PMPI_Start);
  set_active(*request, true);
  return own(request);
}

extern "C" int PMPI_Cancel(MPI_Request* request) {
  using namespace penstock::test;
  static const auto own = next("PMPI_Cancel", &PMPI_Cancel);
  {
    const std::lock_guard lock(active_mutex);
    if (const auto found = active.find(*request); found != active.end())
      found->second = looks_in_vain_after_cancel;
  }
  return own(request);
}

extern "C" int PMPI_Request_free(MPI_Request* request) {
  using namespace penstock::test;
  static const auto own = next("PMPI_Request_free", &PMPI_Request_free);
  {
    // MPI gives its handle to another request, which may be a barrier's.
    const std::lock_guard lock(synchronous_mutex);
    synchronous_sends.erase(*request);
  }
  {
    const std::lock_guard lock(active_mutex);
    if (active.erase(*request) > 0) ++freed_while_active;
  }
  return own(request);
}

extern "C" int PMPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  using namespace penstock::test;
  static const auto own = next("PMPI_Test", &PMPI_Test);
  if (looks_in_vain > 0 && is_synchronous_send(*request)) {
    --looks_in_vain;
    *flag = 0;
    return MPI_SUCCESS;
  }
  if (tells_nothing_yet(*request)) {
    *flag = 0;
    return MPI_SUCCESS;
  }
  const MPI_Request tested = *request;
  const int code = own(request, flag, status);
  if (*flag != 0) set_active(tested, false);
  return code;
}
