// SPDX-License-Identifier: Apache-2.0
//
// Threads of rank 0 compute a partition each, on streams of their own, and send it when it is
// ready: no thread waits for another. Rank 1 takes the partitions by two streams, half of them
// each. The requests are MPI's partitioned ones where the MPI has them, which the match makes
// channels; else channels from the beginning. All calls behind that are the same.
//
//   mpiexec -n 2 ./partitions
#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <iostream>
#include <penstock/channel.hpp>
#include <thread>
#include <vector>

namespace {

constexpr int partitions = 4, takers = 2, steps = 50;
constexpr std::size_t length = 1000, all = partitions * length;

std::int64_t value(int step, std::size_t at) {
  return 7 * step + static_cast<std::int64_t>(at);
}

struct Lane {
  penstock::Stream stream{};
  penstock::Queue queue{stream};
};

penstock::Request make_sender(std::vector<std::int64_t>& out) {
  MPI_Request made = MPI_REQUEST_NULL;
#if MPI_VERSION >= 4
  MPI_Psend_init(out.data(), partitions, length, MPI_INT64_T, 1, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                 &made);
#else
  PST_Channel_send_init(out.data(), all, MPI_INT64_T, length, 1, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                        &made);
#endif
  return penstock::Request(made);
}

penstock::Request make_receiver(std::vector<std::int64_t>& in) {
  MPI_Request made = MPI_REQUEST_NULL;
#if MPI_VERSION >= 4
  MPI_Precv_init(in.data(), partitions, length, MPI_INT64_T, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                 &made);
#else
  PST_Channel_recv_init(in.data(), all, MPI_INT64_T, length, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                        &made);
#endif
  return penstock::Request(made);
}

// What the calls that take elements are given.
MPI_Count element(std::size_t at) {
  return static_cast<MPI_Count>(at);
}

int send_partitions() {
  std::vector<std::int64_t> out(all);
  const penstock::Request channel = make_sender(out);
  penstock::match(channel);
  std::deque<Lane> lanes(partitions);
  std::vector<std::thread> threads;
  for (int mine = 0; mine < partitions; ++mine)
    threads.emplace_back([&, mine] {
      const Lane& lane = lanes[static_cast<std::size_t>(mine)];
      const std::size_t first = static_cast<std::size_t>(mine) * length;
      for (int step = 0; step < steps; ++step) {
        lane.stream.launch([&out, first, step] {
          for (std::size_t at = first; at < first + length; ++at) out[at] = value(step, at);
        });
        penstock::pready(lane.queue, mine, channel);
        PST_Channel_put_wait(lane.queue.get(), channel.get(), element(first), length);
      }
      lane.queue.synchronize();
    });
  for (std::thread& thread : threads) thread.join();
  return 0;
}

int receive_partitions() {
  std::vector<std::int64_t> in(all);
  const penstock::Request channel = make_receiver(in);
  penstock::match(channel);
  std::deque<Lane> lanes(takers);
  std::vector<int> wrong(takers);
  constexpr std::size_t half = all / takers;
  for (int step = 0; step < steps; ++step)
    for (std::size_t taker = 0; taker < takers; ++taker) {
      const Lane& lane = lanes[taker];
      PST_Channel_wait(lane.queue.get(), channel.get(), element(taker * half), half);
      lane.stream.launch([&in, &wrong, taker, step] {
        for (std::size_t at = taker * half; at < (taker + 1) * half; ++at)
          wrong[taker] += in[at] != value(step, at);
      });
      PST_Channel_release(lane.queue.get(), channel.get(), element(taker * half), half);
    }
  for (const Lane& lane : lanes) lane.queue.synchronize();
  std::cout << steps << " steps of " << partitions << " partitions, " << wrong[0] + wrong[1]
            << " wrong\n";
  return wrong[0] + wrong[1] == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  penstock::return_errors();
  int rank = 0, ranks = 0, result = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks < 2) {
    std::cerr << "partitions: needs two ranks: mpiexec -n 2 ./partitions\n";
    result = 1;
  } else if (rank < 2) {
    try {
      result = rank == 0 ? send_partitions() : receive_partitions();
    } catch (const penstock::Error& error) {
      std::cerr << "rank " << rank << ": " << error.what() << '\n';
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  MPI_Finalize();
  return result;
}
