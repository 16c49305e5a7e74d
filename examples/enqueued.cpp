// SPDX-License-Identifier: Apache-2.0
// Messages that MPI matches, in C++: each rank sends a row to the next one, of a length that
// changes from step to step, so that there is nothing to match once for all. The receiver learns
// the length from the status of its request. Then the same where both ends promise to enqueue all
// messages: they are counted, and MPI matches none.
//
//   mpiexec -n 2 ./enqueued
#include <cstdio>
#include <numeric>
#include <penstock/penstock.hpp>
#include <vector>

namespace {

constexpr int steps = 20;
constexpr int longest = 500;

int length(int step) {
  return 1 + step * 37 % longest;
}

int run(MPI_Comm comm, const char* matched, int rank, int size) {
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  std::vector<int> out(longest), in(longest);
  penstock::Stream stream;
  penstock::Queue queue(stream, comm);
  int wrong = 0;
  for (int step = 0; step < steps; ++step) {
    const auto count = static_cast<std::size_t>(length(step));
    MPI_Request received = MPI_REQUEST_NULL;
    queue.receive(in, left, 0, MPI_COMM_NULL, &received);
    queue.send(std::span(out).first(count), right, 0);
    // Runs on the stream, before the messages go.
    auto fill = [&] { std::iota(out.begin(), out.end(), 1000 * rank + step); };
    stream.launch([](void* function) { (*static_cast<decltype(fill)*>(function))(); }, &fill);
    queue.trigger();
    MPI_Status status;
    MPI_Wait(&received, &status);
    queue.synchronize();  // the next step fills `out` again
    int came = 0;
    MPI_Get_count(&status, MPI_INT, &came);
    wrong += came != length(step);
    for (int i = 0; i < came; ++i)
      wrong += in[static_cast<std::size_t>(i)] != 1000 * left + step + i;
  }
  std::printf("rank %d: %d rows %s, %d numbers wrong\n", rank, steps, matched, wrong);
  return wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  int level = 0, rank = 0, size = 1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);  // threads of Penstock call MPI
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm promised = MPI_COMM_NULL;  // a duplicate: the promise is about all its messages
  MPI_Comm_dup(MPI_COMM_WORLD, &promised);
  penstock::enqueue_only(promised);
  const int failed = run(MPI_COMM_WORLD, "matched by MPI", rank, size) +
                     run(promised, "counted by both ends", rank, size);
  MPI_Comm_free(&promised);
  MPI_Finalize();
  return failed == 0 ? 0 : 1;
}
