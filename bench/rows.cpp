// SPDX-License-Identifier: Apache-2.0
#include "rows.hpp"

#include <cstring>
#include <memory>
#include <vector>

#include "host_device.hpp"

namespace penstock::bench {
namespace {

// A committed vector datatype, for as long as a request is made.
class VectorType {
 public:
  explicit VectorType(const Traffic::Part& part) {
    const auto row = static_cast<int>(part.row);
    MPI_Type_vector(static_cast<int>(part.bytes / part.row), row, 2 * row, MPI_BYTE, &type_);
    MPI_Type_commit(&type_);
  }
  ~VectorType() { MPI_Type_free(&type_); }
  VectorType(const VectorType&) = delete;
  VectorType& operator=(const VectorType&) = delete;
  MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

// The rows of all messages of an exchange that go one way.
class PackedRows {
 public:
  PackedRows(std::span<const Message> messages, std::size_t row, MemoryKind memory, bool check)
      : messages_(messages), row_(row), check_(check) {
    for (const Message& message : messages)
      rows_.push_back(host_memory(2 * message.bytes.size(), memory));
  }
  void pack() noexcept {
    for (std::size_t i = 0; i < messages_.size(); ++i) {
      if (check_) scatter_rows(rows_[i].all(), messages_[i].bytes, row_);
      gather_rows(messages_[i].bytes, rows_[i].all(), row_);
    }
  }
  void unpack() noexcept {
    for (std::size_t i = 0; i < messages_.size(); ++i)
      scatter_rows(rows_[i].all(), messages_[i].bytes, row_);
  }

 private:
  const std::span<const Message> messages_;
  const std::size_t row_;
  const bool check_;
  std::vector<Memory> rows_;
};

}  // namespace

Request rows_send_init(const Message& message, int tag) {
  const VectorType type(message.part);
  return send_init(message.bytes.data(), 1, type.get(), message.part.peer, tag + message.part.tag,
                   MPI_COMM_WORLD, message.part.mode);
}

Request rows_recv_init(const Message& message, int tag) {
  const VectorType type(message.part);
  return recv_init(message.bytes.data(), 1, type.get(), message.part.peer, tag + message.part.tag,
                   MPI_COMM_WORLD);
}

void gather_rows(std::span<std::byte> to, std::span<const std::byte> rows,
                 std::size_t row) noexcept {
  for (std::size_t i = 0; i < to.size(); i += row)
    std::memcpy(to.data() + i, rows.data() + 2 * i, row);
}

void scatter_rows(std::span<std::byte> rows, std::span<const std::byte> from,
                  std::size_t row) noexcept {
  for (std::size_t i = 0; i < from.size(); i += row)
    std::memcpy(rows.data() + 2 * i, from.data() + i, row);
}

void pack_rows(Exchange& exchange, Stream& stream, std::size_t row, MemoryKind memory, bool check) {
  const auto out = std::make_shared<PackedRows>(exchange.sent(), row, memory, check);
  const auto in = std::make_shared<PackedRows>(exchange.received(), row, memory, check);
  exchange.before_send = [out, &stream] {
    stream.launch([](void* rows) { static_cast<PackedRows*>(rows)->pack(); }, out.get());
  };
  exchange.after_receive = [in, &stream] {
    stream.launch([](void* rows) { static_cast<PackedRows*>(rows)->unpack(); }, in.get());
  };
}

}  // namespace penstock::bench
