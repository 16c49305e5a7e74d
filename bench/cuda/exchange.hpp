// SPDX-License-Identifier: Apache-2.0
// The same program by several libraries: rank 0 sends `count` messages to rank 1, which answers with one.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench_options.hpp"
#include "device_memory.hpp"

namespace penstock::bench {

struct Traffic {
  int rank = 0;
  std::size_t bytes = 0;  // of each message
  int count = 1;
  std::size_t answer_bytes = 0;
  Order order = Order::sequential;
  cudaStream_t stream = nullptr;

  std::size_t stride() const { return (bytes + 127) / 128 * 128; }
};

class Exchange {
 public:
  explicit Exchange(const Traffic& traffic);
  virtual ~Exchange() = default;

  // Enqueues one round trip, or makes it. `first` and `last` are the ends of a chain or of a graph.
  virtual void round_trip(bool first, bool last) = 0;
  virtual bool on_stream() const { return true; }

  // What comes before a send and after a receive; none by default.
  std::function<void()> before_send, after_receive;

  std::vector<std::span<std::byte>> sent() const { return traffic_.rank == 0 ? all_messages() : the_answer(); }
  std::vector<std::span<std::byte>> received() const { return traffic_.rank == 0 ? the_answer() : all_messages(); }

  // Rank 0 sends `messages` and receives the answer, rank 1 the other way round.
  DeviceMemory messages;
  DeviceMemory answer;

 protected:
  void prepare() const {
    if (before_send) before_send();
  }
  void use() const {
    if (after_receive) after_receive();
  }
  std::span<std::byte> message(int index) const {
    return messages.all().subspan(static_cast<std::size_t>(index) * traffic_.stride(), traffic_.bytes);
  }
  std::vector<std::span<std::byte>> all_messages() const {
    std::vector<std::span<std::byte>> all;
    for (int i = 0; i < traffic_.count; ++i) all.push_back(message(i));
    return all;
  }
  std::vector<std::span<std::byte>> the_answer() const { return {answer.all()}; }
  Traffic traffic_;
};

std::unique_ptr<Exchange> make_penstock_exchange(const Traffic& traffic, const Options& options);
// Null, with the reason, where there is no such library, or none that takes device memory.
std::unique_ptr<Exchange> make_nccl_exchange(const Traffic& traffic, std::string& why_not);
std::unique_ptr<Exchange> make_mpi_exchange(const Traffic& traffic, std::string& why_not);

}  // namespace penstock::bench
