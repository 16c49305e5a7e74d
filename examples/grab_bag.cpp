// SPDX-License-Identifier: Apache-2.0
//
// A task pool without a fixed plan: every other rank works at tasks and puts each result, which is
// as long as it turns out, into rank 0's bag when it is ready. Rank 0 takes whichever is there, by
// two streams at once, and adds them up. No rank knows how fast the others are, and rank 0's host
// enqueues all of it before the first result comes.
//
//   mpiexec -n 4 ./grab_bag
#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <numeric>
#include <penstock/bag.hpp>
#include <vector>

namespace {

constexpr int tasks = 200;  // of each rank that works
constexpr int slots = 4, tag = 0;
constexpr std::size_t longest = 64;

// The digits of a number in base 7, with the task's own number in front.
std::size_t work(int rank, int task, std::span<std::uint64_t> result) {
  result[0] = static_cast<std::uint64_t>(rank) * tasks + static_cast<std::uint64_t>(task);
  std::size_t length = 1;
  for (std::uint64_t rest = (result[0] + 1) * 7919; rest > 0; rest /= 7)
    result[length++] = rest % 7;
  return length;
}

std::uint64_t sum_of(std::span<const std::uint64_t> result) {
  return std::accumulate(result.begin(), result.end(), std::uint64_t{0});
}

int do_tasks(int rank) {
  penstock::Stream stream;
  penstock::Queue queue(stream);
  const penstock::BagSource<std::uint64_t> source(queue, 0, slots, longest, tag);
  penstock::match(source);
  std::array<std::uint64_t, longest> result{};
  for (int task = 0; task < tasks; ++task) {
    const std::size_t length = work(rank, task, result);
    source.put(std::span(result).first(length));
    queue.synchronize();  // this worker's host computes, and has one result at a time
  }
  return 0;
}

// What one stream of rank 0 takes.
struct Taker {
  penstock::Stream stream{};
  penstock::Queue queue{stream};
  std::vector<PST_Grabbed> grabbed{};
  std::uint64_t sum = 0;
};

int collect(int ranks) {
  std::vector<int> workers(static_cast<std::size_t>(ranks - 1));
  std::iota(workers.begin(), workers.end(), 1);
  const std::size_t results = workers.size() * tasks;
  std::array<Taker, 2> takers;
  penstock::GrabBag<std::uint64_t> bag(takers[0].queue, workers, slots, longest, tag);
  penstock::match(bag);
  for (Taker& taker : takers) {
    taker.grabbed.resize(results / takers.size());
    for (PST_Grabbed& grabbed : taker.grabbed) {
      bag.grab(taker.queue, grabbed);
      taker.stream.launch([&bag, &taker, &grabbed] { taker.sum += sum_of(bag.elements(grabbed)); });
      bag.release(taker.queue, grabbed);
    }
  }
  std::uint64_t sum = 0, expected = 0;
  for (const Taker& taker : takers) {
    taker.queue.synchronize();
    sum += taker.sum;
  }
  std::array<std::uint64_t, longest> result{};
  for (const int rank : workers)
    for (int task = 0; task < tasks; ++task)
      expected += sum_of(std::span(result).first(work(rank, task, result)));
  std::cout << results << " results of " << workers.size() << " ranks, their sum is "
            << (sum == expected ? "right" : "wrong") << '\n';
  return sum == expected ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  penstock::return_errors();
  int rank = 0, ranks = 0, result = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks < 2) {
    std::cerr << "grab_bag: needs two ranks or more: mpiexec -n 4 ./grab_bag\n";
    result = 1;
  } else {
    try {
      result = rank == 0 ? collect(ranks) : do_tasks(rank);
    } catch (const penstock::Error& error) {
      std::cerr << "rank " << rank << ": " << error.what() << '\n';
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  MPI_Finalize();
  return result;
}
