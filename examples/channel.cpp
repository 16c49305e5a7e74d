// SPDX-License-Identifier: Apache-2.0
//
// Rank 0 fills the tiles of an image one by one and sends each when it is ready; rank 1 takes them
// row by row, and gives each row back as soon as it has added it up. The two cut the image
// differently, and no tile waits for another. The hosts wait once.
//
//   mpiexec -n 2 ./channel
#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <iostream>
#include <penstock/channel.hpp>
#include <vector>

namespace {

constexpr std::size_t rows = 12, tile = 64, tiles_in_row = 4;
constexpr std::size_t row = tiles_in_row * tile, pixels = rows * row;
constexpr int images = 100;

std::int64_t pixel(int image, std::size_t at) {
  return image + static_cast<std::int64_t>(at);
}

int send_images() {
  std::vector<std::int64_t> out(pixels);
  penstock::Stream stream;
  penstock::Queue queue(stream);
  penstock::SendChannel<std::int64_t> channel(queue, out, 1, 0, MPI_COMM_WORLD, tile);
  penstock::match(channel);
  for (int image = 0; image < images; ++image)
    for (std::size_t first = 0; first < pixels; first += 3 * tile) {
      if (image > 0) channel.wait(first, 3 * tile);  // the image before has left
      stream.launch([&out, image, first] {
        for (std::size_t at = first; at < first + 3 * tile; ++at) out[at] = pixel(image, at);
      });
      channel.i_put(first, 3 * tile);
    }
  channel.wait(0, pixels);
  queue.synchronize();
  return 0;
}

int receive_images() {
  penstock::Stream stream;
  penstock::Queue queue(stream);
  penstock::RecvChannel<std::int64_t> channel(queue, pixels, 0, 0, MPI_COMM_WORLD, tile);
  penstock::match(channel);
  const auto in = channel.elements();
  std::vector<std::int64_t> sums(images);
  for (int image = 0; image < images; ++image)
    for (std::size_t first = 0; first < pixels; first += row) {
      channel.wait(first, row);
      stream.launch([in, first, &sum = sums[static_cast<std::size_t>(image)]] {
        for (const std::int64_t value : in.subspan(first, row)) sum += value;
      });
      channel.release(first, row);
    }
  queue.synchronize();

  int wrong = 0;
  for (int image = 0; image < images; ++image) {
    std::int64_t expected = 0;
    for (std::size_t at = 0; at < pixels; ++at) expected += pixel(image, at);
    wrong += sums[static_cast<std::size_t>(image)] != expected;
  }
  std::cout << images << " images, " << wrong << " wrong\n";
  return wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  penstock::return_errors();
  int rank = 0, ranks = 0, result = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks < 2) {
    std::cerr << "channel: needs two ranks: mpiexec -n 2 ./channel\n";
    result = 1;
  } else if (rank < 2) {
    try {
      result = rank == 0 ? send_images() : receive_images();
    } catch (const penstock::Error& error) {
      std::cerr << "rank " << rank << ": " << error.what() << '\n';
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  MPI_Finalize();
  return result;
}
