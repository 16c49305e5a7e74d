// SPDX-License-Identifier: Apache-2.0
#include "device_rows.hpp"

#include <memory>
#include <vector>

#include "device_memory.hpp"
#include "kernels.hpp"

namespace penstock::bench {

namespace {

using AllRows = std::vector<Memory>;

std::shared_ptr<AllRows> rows_for(std::span<const Message> messages, const Layout& layout) {
  const auto rows = std::make_shared<AllRows>();
  for (const Message& message : messages)
    rows->push_back(device_memory(layout.reach(message.bytes.size())));
  return rows;
}

}  // namespace

void pack_device_rows(Exchange& exchange, cudaStream_t stream, const Layout& layout, bool check) {
  exchange.before_send = [=, rows = rows_for(exchange.sent(), layout), messages = exchange.sent()] {
    for (std::size_t i = 0; i < messages.size(); ++i) {
      const auto bytes = messages[i].bytes;
      if (check) enqueue_scatter(stream, (*rows)[i].data(), bytes.data(), bytes.size(), layout);
      enqueue_gather(stream, bytes.data(), (*rows)[i].data(), bytes.size(), layout);
    }
  };
  exchange.after_receive = [=, rows = rows_for(exchange.received(), layout),
                            messages = exchange.received()] {
    for (std::size_t i = 0; i < messages.size(); ++i)
      enqueue_scatter(stream, (*rows)[i].data(), messages[i].bytes.data(), messages[i].bytes.size(),
                      layout);
  };
}

}  // namespace penstock::bench
