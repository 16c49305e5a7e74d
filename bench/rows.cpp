// SPDX-License-Identifier: Apache-2.0
#include "rows.hpp"

#include <cstring>
#include <memory>
#include <vector>

#include "host_device.hpp"

namespace penstock::bench {
namespace {

Datatype vector_of(const Traffic::Part& part) {
  const Layout& layout = part.layout;
  return Datatype::vector(static_cast<int>(part.bytes / layout.row), static_cast<int>(layout.row),
                          static_cast<int>(layout.stride()), MPI_BYTE);
}

// The rows of all messages of an exchange that go one way.
class PackedRows {
 public:
  PackedRows(std::span<const Message> messages, const Layout& layout, MemoryKind memory, bool check)
      : messages_(messages), layout_(layout), check_(check) {
    for (const Message& message : messages)
      rows_.push_back(host_memory(layout.reach(message.bytes.size()), memory));
  }
  void pack() noexcept {
    for (std::size_t i = 0; i < messages_.size(); ++i) {
      if (check_) scatter_rows(rows_[i].all(), messages_[i].bytes, layout_);
      gather_rows(messages_[i].bytes, rows_[i].all(), layout_);
    }
  }
  void unpack() noexcept {
    for (std::size_t i = 0; i < messages_.size(); ++i)
      scatter_rows(rows_[i].all(), messages_[i].bytes, layout_);
  }

 private:
  const std::span<const Message> messages_;
  const Layout layout_;
  const bool check_;
  std::vector<Memory> rows_;
};

}  // namespace

Request rows_send_init(const Message& message, int tag) {
  return send_init(message.bytes.data(), 1, vector_of(message.part), message.part.peer,
                   tag + message.part.tag, MPI_COMM_WORLD, message.part.mode);
}

Request rows_recv_init(const Message& message, int tag) {
  return recv_init(message.bytes.data(), 1, vector_of(message.part), message.part.peer,
                   tag + message.part.tag, MPI_COMM_WORLD);
}

void gather_rows(std::span<std::byte> to, std::span<const std::byte> rows,
                 const Layout& layout) noexcept {
  const std::byte* from = rows.data();
  for (std::size_t i = 0; i < to.size(); i += layout.row, from += layout.stride())
    std::memcpy(to.data() + i, from, layout.row);
}

void scatter_rows(std::span<std::byte> rows, std::span<const std::byte> from,
                  const Layout& layout) noexcept {
  std::byte* to = rows.data();
  for (std::size_t i = 0; i < from.size(); i += layout.row, to += layout.stride())
    std::memcpy(to, from.data() + i, layout.row);
}

void pack_rows(Exchange& exchange, Stream& stream, const Layout& layout, MemoryKind memory,
               bool check) {
  const auto out = std::make_shared<PackedRows>(exchange.sent(), layout, memory, check);
  const auto in = std::make_shared<PackedRows>(exchange.received(), layout, memory, check);
  exchange.before_send = [out, &stream] {
    stream.launch([](void* rows) { static_cast<PackedRows*>(rows)->pack(); }, out.get());
  };
  exchange.after_receive = [in, &stream] {
    stream.launch([](void* rows) { static_cast<PackedRows*>(rows)->unpack(); }, in.get());
  };
}

}  // namespace penstock::bench
