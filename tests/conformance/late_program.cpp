// SPDX-License-Identifier: Apache-2.0
// Destructors of static objects call the library: they run when the main thread's thread_locals
// have gone.
//   errors:       after MPI_Finalize, when every call is an error
//   communicates: before MPI_Finalize, which is called by the last of them
//   quiet:        as errors; and what has been waited for is not said to be unfinished

#include <mpi.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <new>
#include <string>
#include <thread>

#include "penstock/penstock.h"

namespace {

void demand(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "late_program: %s\n", what);
  _exit(1);
}

// From the end of main on what is deleted stays, and shows who uses it still.
struct Block {
  Block* next;
  std::size_t bytes;
  std::uint64_t state;
  alignas(16) unsigned char data[];
};
constexpr std::uint64_t alive = 0x616c697665, deleted = 0x64656164;
constexpr unsigned char dead_byte = 0xdd;
std::atomic<bool> keeping{false};
std::atomic<Block*> kept{nullptr};

void* make(std::size_t bytes) {
  auto* const block = static_cast<Block*>(std::malloc(sizeof(Block) + bytes));
  if (block == nullptr) throw std::bad_alloc();
  block->bytes = bytes;
  block->state = alive;
  return block->data;
}

void end(void* data) noexcept {
  if (data == nullptr) return;
  auto* const block =
      reinterpret_cast<Block*>(static_cast<unsigned char*>(data) - offsetof(Block, data));
  demand(block->state == alive, "memory has been deleted twice");
  if (!keeping) return std::free(block);
  block->state = deleted;
  std::memset(block->data, dead_byte, block->bytes);
  block->next = kept;
  while (!kept.compare_exchange_weak(block->next, block)) {
  }
}

bool untouched() {
  for (const Block* block = kept; block != nullptr; block = block->next)
    for (std::size_t i = 0; i < block->bytes; ++i)
      if (block->data[i] != dead_byte) return false;
  return true;
}

bool communicates = false;

// Made first, so it ends last.
struct Guard {
  ~Guard() {
    if (communicates) MPI_Finalize();
  }
} guard;

struct Owner {
  static constexpr int count = 8;
  PST_Stream stream = PST_STREAM_NULL;
  PST_Queue queue = PST_QUEUE_NULL;
  void* memory = nullptr;
  std::array<int, count> from{}, to{};
  std::array<MPI_Request, 2 * count> requests{};

  void open() {
    demand(PST_Stream_create(&stream) == MPI_SUCCESS, "no stream");
    demand(PST_Queue_init(&queue, PST_QUEUE_HOST, &stream) == MPI_SUCCESS, "no queue");
    demand(PST_Alloc_mem(100000, MPI_INFO_NULL, &memory) == MPI_SUCCESS, "no memory");
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < count; ++i) {
      MPI_Send_init(&from[i], 1, MPI_INT, rank, i, MPI_COMM_WORLD, &requests[2 * i]);
      MPI_Recv_init(&to[i], 1, MPI_INT, rank, i, MPI_COMM_WORLD, &requests[2 * i + 1]);
    }
    demand(PST_Matchall(2 * count, requests.data(), MPI_STATUSES_IGNORE) == MPI_SUCCESS,
           "no match");
  }
  void exchange(int value) {
    for (int i = 0; i < count; ++i) from[i] = value + i;
    demand(PST_Enqueue_startall(queue, 2 * count, requests.data()) == MPI_SUCCESS, "no start");
    demand(PST_Enqueue_waitall(queue, 2 * count, requests.data()) == MPI_SUCCESS, "no wait");
    demand(PST_Queue_wait(queue) == MPI_SUCCESS, "no end");
    for (int i = 0; i < count; ++i) demand(to[i] == value + i, "a wrong message");
  }
  void free_requests() {
    for (MPI_Request& request : requests)
      demand(MPI_Request_free(&request) == MPI_SUCCESS, "a request is not freed");
  }
  void close() {
    free_requests();
    demand(PST_Queue_free(&queue) == MPI_SUCCESS, "the queue is not freed");
    demand(PST_Stream_free(&stream) == MPI_SUCCESS, "the stream is not freed");
    demand(PST_Free_mem(memory) == MPI_SUCCESS, "the memory is not freed");
  }

  void expect_errors() {
    demand(PST_Queue_wait(queue) == MPI_ERR_OTHER, "PST_Queue_wait after the end");
    demand(PST_Queue_free(&queue) == MPI_ERR_OTHER, "PST_Queue_free after the end");
    demand(PST_Free_mem(memory) == MPI_ERR_OTHER, "PST_Free_mem after the end");
    demand(PST_Enqueue_start(queue, &requests[0]) == MPI_ERR_OTHER,
           "PST_Enqueue_start after the end");
    int length = 0;
    demand(PST_Describe(nullptr, 0, &length) == MPI_ERR_OTHER, "PST_Describe after the end");
    std::array<char, 200> text{};
    demand(PST_Last_error(text.data(), text.size()) == MPI_SUCCESS, "PST_Last_error after the end");
    demand(std::string(text.data()).find("has ended") != std::string::npos,
           "PST_Last_error has the wrong text");
  }

  ~Owner() {
    if (communicates) {
      exchange(70);
      close();
    } else {
      expect_errors();
    }
    demand(untouched(), "freed memory has been written");
  }
} owner;

// The ends of the requests stand in the stream behind a function of the program's, when the library
// ends.
void end_quietly(const std::string& log) {
  const auto linger = [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(100)); };
  demand(PST_Stream_launch(owner.stream, linger, nullptr) == MPI_SUCCESS, "no launch");
  owner.free_requests();
  MPI_Finalize();
  std::ifstream file(log);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  demand(text.empty(), text.c_str());
  file.close();
  std::remove(log.c_str());
}

}  // namespace

void* operator new(std::size_t bytes) {
  return make(bytes);
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return make(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* data) noexcept {
  end(data);
}
void operator delete(void* data, std::size_t) noexcept {
  end(data);
}

int main(int argc, char** argv) {
  communicates = argc > 1 && std::strcmp(argv[1], "communicates") == 0;
  const bool quiet = argc > 1 && std::strcmp(argv[1], "quiet") == 0;
  const std::string log = "late_program." + std::to_string(getpid()) + ".log";
  if (quiet) setenv("PENSTOCK_LOG_FILE", log.c_str(), 1);
  MPI_Init(&argc, &argv);
  PST_Init();
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  owner.open();
  owner.exchange(1);
  if (quiet) {
    end_quietly(log);
    return 0;
  }
  // The main thread has an error's text, too long to lie in the string itself.
  demand(PST_Queue_wait(PST_QUEUE_NULL) != MPI_SUCCESS, "a null queue was waited for");
  if (!communicates) MPI_Finalize();
  keeping = true;
  return 0;
}
