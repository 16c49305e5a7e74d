// SPDX-License-Identifier: Apache-2.0
#include "inside.hpp"

#include <algorithm>

#include "rows.hpp"

namespace penstock::bench {

InsideExchange::InsideExchange(const Traffic& traffic, const MemorySource& source, int tag,
                               QueueView queue, cudaStream_t stream)
    : Exchange(traffic, source), stream_(stream) {
  for (const auto& [part, sends, bytes] : messages())
    requests_.add(sends ? send_init(bytes, part.peer, tag + part.tag, MPI_COMM_WORLD, part.mode)
                        : recv_init(bytes, part.peer, tag + part.tag, MPI_COMM_WORLD));
  match(requests_);
  // As many blocks as messages of the size are cut into, a thread for each 8 bytes.
  const std::size_t words = (messages().front().part.bytes + 7) / 8;
  blocks_ = static_cast<unsigned>(std::clamp<std::size_t>((words + 255) / 256, 1, 64));
  if (words <= 32 * 1024 - 1) blocks_ = std::min(blocks_, 32u);
  const std::size_t share = (words + blocks_ - 1) / blocks_;
  threads_ = static_cast<unsigned>(std::clamp<std::size_t>((share + 31) / 32 * 32, 32, 512));
  const int most = static_cast<int>(blocks_);
  trips_.send = queue.device_request(requests_[0], most);
  trips_.receive = queue.device_request(requests_[1], most);
  trips_.leads = traffic.leads;
}

void InsideExchange::make_trips(int from, int to, int) {
  trips_.trips = to - from;
  enqueue_trips(stream_, trips_, blocks_, threads_);
}

}  // namespace penstock::bench
