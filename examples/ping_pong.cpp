// SPDX-License-Identifier: Apache-2.0
//
// Two ranks count to 2000 together: each adds 1 to a number and sends it to the other. All of it is
// enqueued at once; the streams do the rest, and the host waits once.
//
//   mpiexec -n 2 ./ping_pong
#include <cstdio>
#include <penstock/penstock.hpp>

long count_together(int rank) {
  penstock::Buffer<long> number(1);
  penstock::Stream stream;
  penstock::Queue queue(stream);
  penstock::Requests requests;
  requests.add(penstock::send_init(number, 1 - rank, 0, MPI_COMM_WORLD));
  requests.add(penstock::recv_init(number, 1 - rank, 0, MPI_COMM_WORLD));
  penstock::match(requests);

  auto add_one = [&] { ++number[0]; };
  for (int round = 0; round < 2000; ++round) {
    const bool sends = round % 2 == rank;
    if (sends) stream.launch(std::ref(add_one));
    queue.run(requests[sends ? 0 : 1]);
  }
  queue.synchronize();
  return number[0];
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size != 2) {
    if (rank == 0) std::fprintf(stderr, "two ranks play: mpiexec -n 2 %s\n", argv[0]);
    MPI_Finalize();
    return 1;
  }
  const long number = count_together(rank);
  std::printf("rank %d counted to %ld\n", rank, number);
  MPI_Finalize();
  return number == 2000 ? 0 : 1;
}
