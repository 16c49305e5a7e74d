// SPDX-License-Identifier: Apache-2.0
// A child of fork() gets an error of its own from every call, may end as it likes, and leaves
// everything of its parent's as it is. A child says by its exit status which of its checks has
// failed.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "penstock/penstock.hpp"
#include "support/endpoint.hpp"
#include "support/environment.hpp"
#include "support/program.hpp"

namespace penstock::test {
namespace {

constexpr std::size_t small = 100;
constexpr std::size_t large = 4 << 20;  // of which PST_Free_mem gives the pages back
constexpr int epochs = 4;

template <class Body>
void expect_good_child(Body&& body) {
  std::fflush(nullptr);  // a child that exits flushes a copy
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(body());
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

int is_refused(int code, const char* call) {
  if (kind_of(code) == PST_ERROR_FORKED && last_error().find("fork") != std::string::npos) return 0;
  std::fprintf(stderr, "in the child %s gives %s\n", call, describe(code).c_str());
  return 1;
}
#define REFUSED(call) is_refused(call, #call)

// A message to the next rank and one from the rank before, on one lane.
struct Messages {
  explicit Messages(std::size_t bytes)
      : to((rank() + 1) % size()),
        from((rank() + size() - 1) % size()),
        sender(bytes, Memory::allocated, sequence_key(rank(), to, 1)),
        receiver(bytes, Memory::allocated, sequence_key(from, rank(), 1)) {
    sender.init(Kind::standard, to, 1);
    receiver.init(from, 1);
    match_all({&sender.request(), &receiver.request()});
  }
  void run() {
    for (int epoch = 0; epoch < epochs; ++epoch) {
      receiver.enqueue_start(lane);
      sender.enqueue_start(lane);
      receiver.enqueue_wait(lane);
      sender.enqueue_wait(lane);
    }
    lane.finish();
    receiver.expect_good(enqueued += epochs);
  }

  int to, from;
  Lane lane;
  Sender sender;
  Receiver receiver;
  std::uint64_t enqueued = 0;
};

int refuses_all(Messages& messages, PST_Stream stream) {
  PST_Queue queue = messages.lane.queue();
  MPI_Request request = messages.sender.request(), made = MPI_REQUEST_NULL;
  int flag = 1;
  char text[100];
  MPI_Status status;
  const auto nothing = [](void*) {};
  int failures = PST_Initialized(&flag) != MPI_SUCCESS || flag != 0;
  failures += REFUSED(PST_Init());
  failures += REFUSED(PST_Describe(text, sizeof text, &flag));
  failures += REFUSED(PST_Comm_attach(MPI_COMM_WORLD));
  failures += REFUSED(PST_Enqueue_start(queue, &request));
  failures += REFUSED(PST_Enqueue_startall(queue, 1, &request));
  failures += REFUSED(PST_Enqueue_wait(queue, &request));
  failures += REFUSED(PST_Enqueue_waitall(queue, 1, &request));
  failures += REFUSED(PST_Enqueue_wait_outstanding(queue));
  failures += REFUSED(PST_Queue_test(queue, &flag));
  failures += REFUSED(PST_Queue_wait(queue));
  failures += REFUSED(PST_Queue_init(&queue, PST_QUEUE_HOST, &stream));
  failures += REFUSED(PST_Queue_free(&queue));
  failures += REFUSED(PST_Stream_launch(stream, nothing, nullptr));
  failures += REFUSED(PST_Stream_synchronize(stream));
  failures += REFUSED(PST_Stream_free(&stream));
  failures += REFUSED(PST_Stream_create(&stream));
  failures += REFUSED(PST_Match(&request, &status));
  failures += REFUSED(PST_Matchall(1, &request, &status));
  failures += REFUSED(PST_Imatch(&request, &made));
  failures += REFUSED(PST_Imatchall(1, &request, &made));
  failures += REFUSED(PST_Is_matched(request, &flag));
  failures += REFUSED(PST_Match_status(request, &status));
  failures += REFUSED(PST_Request_transport(request, text, sizeof text));
  failures += REFUSED(PST_Send_init(text, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &made));
  failures += REFUSED(PST_Recv_init(text, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &made));
  failures += REFUSED(PST_Request_free(&request));
  failures += REFUSED(PST_Finalize());
  return failures;
}

std::vector<std::byte> pattern() {
  std::vector<std::byte> bytes(large);
  for (std::size_t i = 0; i < large; ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 251 + 1);
  return bytes;
}

TEST(Fork, EveryCallIsRefusedInAChild) {
  Messages messages(small);
  messages.run();
  PST_Stream stream = PST_STREAM_NULL;
  ASSERT_PST(PST_Stream_create(&stream));
  expect_good_child([&] { return refuses_all(messages, stream); });
  messages.run();
  EXPECT_PST(PST_Stream_free(&stream));
}

TEST(Fork, MemoryOfTheParentIsNeitherFreedNorGivenToAChild) {
  std::byte* memory = nullptr;
  ASSERT_PST(PST_Alloc_mem(large, MPI_INFO_NULL, &memory));
  const auto kept = pattern();
  std::copy(kept.begin(), kept.end(), memory);
  expect_good_child([&] {
    std::byte* taken = nullptr;
    const int failures =
        REFUSED(PST_Free_mem(memory)) + REFUSED(PST_Alloc_mem(large, MPI_INFO_NULL, &taken));
    if (taken != nullptr) std::fill_n(taken, large, std::byte{});
    return failures;
  });
  EXPECT_TRUE(std::equal(kept.begin(), kept.end(), memory))
      << "the child has written its parent's memory";
  EXPECT_PST(PST_Free_mem(memory));
}

// Errors are fatal by default: nor does a child end the job of its parent.
TEST(Fork, AnErrorInAChildEndsNothing) {
  Messages messages(small);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  expect_good_child([&] { return REFUSED(PST_Queue_wait(messages.lane.queue())); });
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  messages.run();
}

// Of a request that has been started the queue's thread would do it, which is not in the child.
TEST(Fork, AChildDoesNotFreeItsParentsHalf) {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  if (level == MPI_THREAD_MULTIPLE)
    GTEST_SKIP() << "another thread may have held MPI's own locks at the fork";
  Messages messages(small);
  expect_good_child([&] {
    MPI_Request request = messages.sender.request();
    return MPI_Request_free(&request) == MPI_SUCCESS ? 0 : 1;
  });
  messages.run();
}

struct Owners {
  penstock::Stream stream;
  penstock::Queue queue{stream};
  penstock::Buffer<std::byte> out{large}, in{large};
  Request send = send_init(out.all(), (rank() + 1) % size(), 9, MPI_COMM_WORLD);
  Request receive = recv_init(in.all(), (rank() + size() - 1) % size(), 9, MPI_COMM_WORLD);
};

void run(Owners& owners, const std::vector<std::byte>& message) {
  std::copy(message.begin(), message.end(), owners.out.begin());
  std::fill(owners.in.begin(), owners.in.end(), std::byte{});
  MPI_Request both[] = {owners.receive.get(), owners.send.get()};
  owners.queue.start(both);
  owners.queue.wait(both);
  owners.queue.synchronize();
  EXPECT_TRUE(std::equal(message.begin(), message.end(), owners.in.begin()));
}

// The owners are static ones of the child, whose destructors exit() runs.
TEST(Fork, OwnersThatEndInAChildFreeNothing) {
  static std::unique_ptr<Owners> owners;
  owners = std::make_unique<Owners>();
  MPI_Request both[] = {owners->receive.get(), owners->send.get()};
  match(both);
  const auto message = pattern();
  run(*owners, message);
  expect_good_child([&]() -> int { std::exit(0); });
  EXPECT_TRUE(std::equal(message.begin(), message.end(), owners->out.begin()))
      << "the child has erased the buffer";
  EXPECT_TRUE(std::equal(message.begin(), message.end(), owners->in.begin()))
      << "the child has erased the buffer";
  run(*owners, message);
  owners.reset();
}

// The thread that has moved enqueued messages is not there.
TEST(Fork, AChildOfAProcessWithEnqueuedMessagesEnds) {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  if (level != MPI_THREAD_MULTIPLE) GTEST_SKIP() << "enqueued messages need MPI_THREAD_MULTIPLE";
  Lane lane;
  const int out = rank();
  int in = -1;
  const auto exchange = [&] {
    EXPECT_PST(PST_Enqueue_recv(&in, 1, MPI_INT, previous_rank(), 5, MPI_COMM_WORLD, lane.queue(),
                                nullptr));
    EXPECT_PST(
        PST_Enqueue_send(&out, 1, MPI_INT, next_rank(), 5, MPI_COMM_WORLD, lane.queue(), nullptr));
    EXPECT_PST(PST_Enqueue_trigger(lane.queue()));
    lane.finish();
    EXPECT_EQ(in, previous_rank());
  };
  exchange();
  expect_good_child([&]() -> int {
    if (REFUSED(PST_Enqueue_trigger(lane.queue())) != 0) return 1;
    std::exit(0);
  });
  exchange();
  EXPECT_PST(lane.free_queue());
  expect_good_child([]() -> int { std::exit(0); });
}

TEST(Fork, AParentWithWorkUnderWayGoesOn) {
  Messages messages(small);
  for (int child = 0; child < 3; ++child) {
    messages.receiver.enqueue_start(messages.lane);
    messages.sender.enqueue_start(messages.lane);
    expect_good_child([] { return std::system("true") == 0 ? 0 : 1; });
    messages.receiver.enqueue_wait(messages.lane);
    messages.sender.enqueue_wait(messages.lane);
    ++messages.enqueued;
  }
  messages.run();
}

}  // namespace
}  // namespace penstock::test
