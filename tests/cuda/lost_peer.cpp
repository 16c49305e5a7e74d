// SPDX-License-Identifier: Apache-2.0
// G9 on CUDA queues: a process is killed while the other's queues wait for it. The waits end with
// PST_ERROR_PEER_DEAD, long before PENSTOCK_TIMEOUT, the streams go on, and so does the process. Or
// it lives, and its GPU's context does not.
#include <unistd.h>

#include <gpu_runtime.hpp>
#include <new>
#include <string>

#include "cuda/request_kernels.hpp"
#include "fault/fault.hpp"
#include "support/cuda/kernels.hpp"

namespace penstock::fault {
namespace {

constexpr std::size_t small = 100, large = std::size_t{1} << 20;

void require_cuda(cudaError_t code, const char* call) {
  require(code == cudaSuccess, std::string(call) + ": " + cudaGetErrorString(code));
}

struct CudaLane {
  cudaStream_t stream = nullptr;
  PST_Queue queue = PST_QUEUE_NULL;
  CudaLane() {
    require_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
    require_success(PST_Queue_init(&queue, PENSTOCK_HIP ? PST_QUEUE_HIP : PST_QUEUE_CUDA, &stream),
                    "PST_Queue_init");
  }
  void start(MPI_Request& request) { require_success(PST_Enqueue_start(queue, &request), "start"); }
  void wait(MPI_Request& request) { require_success(PST_Enqueue_wait(queue, &request), "wait"); }
};

// Two messages of a kind between `peer` and this rank, which may be the same.
struct CudaDuplex {
  void *out = nullptr, *in = nullptr;
  MPI_Request both[2];
  CudaDuplex(int peer, std::size_t bytes, int tag) {
    require_cuda(cudaMalloc(&out, bytes), "cudaMalloc");
    require_cuda(cudaMalloc(&in, bytes), "cudaMalloc");
    const auto count = static_cast<int>(bytes);
    require_success(MPI_Ssend_init(out, count, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &both[0]),
                    "send_init");
    require_success(MPI_Recv_init(in, count, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &both[1]),
                    "recv_init");
    require_success(PST_Matchall(2, both, MPI_STATUSES_IGNORE), "PST_Matchall");
  }
  MPI_Request& send() { return both[0]; }
  MPI_Request& receive() { return both[1]; }
  void run_epochs(CudaLane& lane, int count) {
    for (int i = 0; i < count; ++i) {
      require_success(PST_Enqueue_startall(lane.queue, 2, both), "startall");
      require_success(PST_Enqueue_waitall(lane.queue, 2, both), "waitall");
    }
    require_success(PST_Queue_wait(lane.queue), "PST_Queue_wait");
  }
};

// The queue has failed for the dead peer, its stream has run dry, and it stays failed.
void expect_broken(CudaLane& lane, MPI_Request& request, const std::string& what) {
  require_kind(PST_Queue_wait(lane.queue), PST_ERROR_PEER_DEAD, what);
  require_cuda(cudaStreamQuery(lane.stream), "cudaStreamQuery of a released stream");
  require_kind(PST_Enqueue_start(lane.queue, &request), PST_ERROR_PEER_DEAD, "a later start");
  require_kind(PST_Queue_free(&lane.queue), PST_ERROR_PEER_DEAD, "PST_Queue_free");
  require_cuda(cudaStreamDestroy(lane.stream), "cudaStreamDestroy");
}

}  // namespace

std::map<std::string, Scenario> scenarios() {
  return {{"dead_peer", {dead_peer}},
          {"dead_context", {dead_context}},
          {"dead_lane_peer", {dead_lane_peer}},
          {"dead_peer_in_kernel", {dead_peer_in_kernel}}};
}

namespace {

void need_gpu() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0) return;
  say("skipped: no GPU");
  MPI_Finalize();
  _exit(77);
}

constexpr int messages = 3;

// The even rank's program dies on its GPU in a kernel before its first start. The other ends of its
// messages are in host memory: what a broken context does to other processes on the GPU is not ours
// to say.
void send_from_broken_context(const Job& job) {
  require_cuda(cudaSetDevice(0), "cudaSetDevice");
  void* memory = nullptr;
  require_cuda(cudaMalloc(&memory, large), "cudaMalloc");
  MPI_Request sends[messages];
  for (int i = 0; i < messages; ++i)
    require_success(MPI_Send_init(memory, i == 1 ? int{large} : int{small}, MPI_BYTE, job.peer, i,
                                  MPI_COMM_WORLD, &sends[i]),
                    "send_init");
  require_success(PST_Matchall(messages, sends, MPI_STATUSES_IGNORE), "PST_Matchall");
  CudaLane first, second;
  meet();
  test::enqueue_count(first.stream, nullptr);
  // The first two behind it, the last one after it has shown. A launch that fails is told by the
  // next call at the latest.
  for (int i = 0; i < 2; ++i) PST_Enqueue_start(first.queue, &sends[i]);
  require(PST_Queue_wait(first.queue) != MPI_SUCCESS, "PST_Queue_wait of a stream that has failed");
  PST_Enqueue_start(second.queue, &sends[2]);
  require(PST_Queue_wait(second.queue) != MPI_SUCCESS,
          "PST_Queue_wait where nothing runs any more");
}

void receive_from_broken_context(const Job& job) {
  std::vector<std::byte> buffers[messages];
  MPI_Request receives[messages];
  for (int i = 0; i < messages; ++i) {
    buffers[i].resize(i == 1 ? large : small);
    require_success(MPI_Recv_init(buffers[i].data(), static_cast<int>(buffers[i].size()), MPI_BYTE,
                                  job.peer, i, MPI_COMM_WORLD, &receives[i]),
                    "recv_init");
  }
  require_success(PST_Matchall(messages, receives, MPI_STATUSES_IGNORE), "PST_Matchall");
  Lane lanes[messages];
  for (int i = 0; i < messages; ++i) {
    lanes[i].start(receives[i]);
    lanes[i].wait(receives[i]);
  }
  meet();
  for (int i = 0; i < messages; ++i)
    require_kind(PST_Queue_wait(lanes[i].queue), PST_ERROR_PEER_FREED,
                 "message " + std::to_string(i));
}

}  // namespace

void dead_context(const Job& job) {
  need_gpu();
  if (job.rank == 0)
    send_from_broken_context(job);
  else
    receive_from_broken_context(job);
  meet();
  content_and_gone();
}

void dead_peer(const Job& job) {
  need_gpu();
  int devices = 0;
  require_cuda(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
  require_cuda(cudaSetDevice(job.rank % devices), "cudaSetDevice");
  // One queue for each thing that a queue can wait for: a message of the ring, the start of its
  // receive, a message to pull, and a receive to push into.
  CudaDuplex messages[4] = {
      {job.peer, small, 1}, {job.peer, small, 2}, {job.peer, large, 3}, {job.peer, large, 4}};
  CudaDuplex own(job.rank, large, 5);
  CudaLane lanes[4], other;
  for (int i = 0; i < 4; ++i) messages[i].run_epochs(lanes[i], 3);
  own.run_epochs(other, 1);
  MPI_Request* const waiting[4] = {&messages[0].receive(), &messages[1].send(),
                                   &messages[2].receive(), &messages[3].send()};
  if (job.rank == 0) {
    for (int i = 0; i < 4; ++i) {
      lanes[i].start(*waiting[i]);
      lanes[i].wait(*waiting[i]);
    }
  }
  meet();
  if (job.rank == 1) die();
  for (int i = 0; i < 4; ++i)
    expect_broken(lanes[i], *waiting[i], "PST_Queue_wait of queue " + std::to_string(i));
  // A request of the dead peer's that has not failed yet, on a queue of its own.
  CudaLane late;
  int code = PST_Enqueue_start(late.queue, &messages[0].send());
  if (code == MPI_SUCCESS) code = PST_Queue_wait(late.queue);
  require_kind(code, PST_ERROR_PEER_DEAD, "a start after the peer's end");
  own.run_epochs(other, 3);
  content_and_gone();
}

// A kernel of the program's waits for the dead peer, and a later one starts a message to it.
void dead_peer_in_kernel(const Job& job) {
  need_gpu();
  int devices = 0;
  require_cuda(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
  require_cuda(cudaSetDevice(job.rank % devices), "cudaSetDevice");
  test::load_request_kernels();
  void* buffers[2] = {nullptr, nullptr};
  for (void*& buffer : buffers) require_cuda(cudaMalloc(&buffer, small), "cudaMalloc");
  void* pinned = nullptr;
  require_cuda(cudaHostAlloc(&pinned, sizeof(test::Findings), cudaHostAllocDefault),
               "cudaHostAlloc");
  auto* const findings = new (pinned) test::Findings{};
  MPI_Request both[2];
  require_success(MPI_Send_init(buffers[0], small, MPI_BYTE, job.peer, 1, MPI_COMM_WORLD, &both[0]),
                  "send_init");
  require_success(MPI_Recv_init(buffers[1], small, MPI_BYTE, job.peer, 1, MPI_COMM_WORLD, &both[1]),
                  "recv_init");
  require_success(PST_Matchall(2, both, MPI_STATUSES_IGNORE), "PST_Matchall");
  CudaLane waiting, starting;
  test::KernelEnd in{{}, static_cast<std::byte*>(buffers[1]), 1};
  test::KernelEnd out{{}, static_cast<std::byte*>(buffers[0]), 1};
  require_success(PST_Request_device(waiting.queue, both[1], 1, &in.handle), "PST_Request_device");
  require_success(PST_Request_device(starting.queue, both[0], 1, &out.handle),
                  "PST_Request_device");
  if (job.rank == 0) test::enqueue_wait(waiting.stream, in, 1, 1, findings);
  meet();
  if (job.rank == 1) die();
  require_kind(PST_Queue_wait(waiting.queue), PST_ERROR_PEER_DEAD, "a kernel's wait");
  require(findings->refused == 1, "the kernel hears of it");
  // The half is given up in memory of the device, soon after the death is known.
  require_kind(PST_Enqueue_start(starting.queue, &both[0]), PST_ERROR_PEER_DEAD, "a later start");
  content_and_gone();
}

// What lies in a slot is taken, whether its sender lives or not; what will not come any more ends
// the wait of the stream.
void dead_lane_peer(const Job& job) {
  need_gpu();
  int devices = 0;
  require_cuda(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
  require_cuda(cudaSetDevice(job.rank % devices), "cudaSetDevice");
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  require_success(PST_Comm_enqueue_only(comm), "PST_Comm_enqueue_only");
  CudaLane lane;
  void *out = nullptr, *in = nullptr;
  require_cuda(cudaMalloc(&out, small), "cudaMalloc");
  require_cuda(cudaMalloc(&in, small), "cudaMalloc");
  const auto receive = [&](MPI_Request* request) {
    require_success(PST_Enqueue_recv(in, small, MPI_BYTE, job.peer, 1, comm, lane.queue, request),
                    "receive");
  };
  const auto send = [&] {
    require_success(PST_Enqueue_send(out, small, MPI_BYTE, job.peer, 1, comm, lane.queue, nullptr),
                    "send");
  };
  const auto trigger_and_wait = [&] {
    require_success(PST_Enqueue_trigger(lane.queue), "trigger");
    require_success(PST_Enqueue_wait_outstanding(lane.queue), "wait");
  };
  for (int i = 0; i < 20; ++i) {
    receive(nullptr);
    send();
    trigger_and_wait();
  }
  require_success(PST_Queue_wait(lane.queue), "PST_Queue_wait");
  if (job.rank == 1) {
    send();
    trigger_and_wait();
    require_success(PST_Queue_wait(lane.queue), "PST_Queue_wait");
  }
  meet();
  if (job.rank == 1) die();
  for (const bool there : {true, false}) {
    MPI_Request request;
    receive(&request);
    trigger_and_wait();
    const int code = PST_Queue_wait(lane.queue);
    if (there) {
      require_success(code, "a message that lies in its slot");
      require_success(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
      continue;
    }
    require_kind(code, PST_ERROR_PEER_DEAD, "PST_Queue_wait");
    require_kind(MPI_Wait(&request, MPI_STATUS_IGNORE), PST_ERROR_PEER_DEAD, "MPI_Wait");
    require_cuda(cudaStreamQuery(lane.stream), "cudaStreamQuery of a released stream");
  }
  require_kind(MPI_Comm_free(&comm), PST_ERROR_PEER_DEAD, "MPI_Comm_free");
  content_and_gone();
}

}  // namespace penstock::fault
