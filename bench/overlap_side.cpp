// SPDX-License-Identifier: Apache-2.0
#include "overlap_side.hpp"

#include <mpi.h>

#include <cstdlib>
#include <penstock/penstock.hpp>

#include "pattern.hpp"

namespace penstock::bench {
namespace {

constexpr int tag_of_mpi = 0, tag_of_streams = 1000;

// Of two messages of a step none has the bytes of the other.
std::uint64_t writer_of(int rank, int tag) {
  return static_cast<std::uint64_t>(rank) << 16 | static_cast<std::uint64_t>(tag);
}

class MpiSide final : public OverlapSide {
 public:
  MpiSide(std::vector<PatternMessage> messages, int rank, std::size_t bytes)
      : OverlapSide(std::move(messages), rank),
        bytes_(bytes),
        memory_(messages_.size() * bytes),
        open_(messages_.size(), MPI_REQUEST_NULL) {}

  // MPICH's thread that makes progress is on for a whole run, or off.
  std::string name() const override {
    const char* const async = std::getenv("MPIR_CVAR_ASYNC_PROGRESS");
    return async != nullptr && std::string(async) == "1" ? "mpi-async" : "mpi";
  }
  void start() override {
    const int size = static_cast<int>(bytes_);
    for (std::size_t i = 0; i < messages_.size(); ++i) {
      const auto& [peer, tag, sends] = messages_[i];
      if (sends)
        MPI_Isend(buffer(i).data(), size, MPI_BYTE, peer, tag_of_mpi + tag, MPI_COMM_WORLD,
                  &open_[i]);
      else
        MPI_Irecv(buffer(i).data(), size, MPI_BYTE, peer, tag_of_mpi + tag, MPI_COMM_WORLD,
                  &open_[i]);
    }
  }
  void test() override {
    int flag = 0;
    MPI_Testall(count(), open_.data(), &flag, MPI_STATUSES_IGNORE);
  }
  void wait() override { MPI_Waitall(count(), open_.data(), MPI_STATUSES_IGNORE); }

 private:
  std::span<std::byte> buffer(std::size_t message) const override {
    return {const_cast<std::byte*>(memory_.data()) + message * bytes_, bytes_};
  }
  int count() const { return static_cast<int>(open_.size()); }

  const std::size_t bytes_;
  std::vector<std::byte> memory_;
  std::vector<MPI_Request> open_;
};

class StreamSide final : public OverlapSide {
 public:
  StreamSide(std::vector<PatternMessage> messages, int rank, std::size_t bytes)
      : OverlapSide(std::move(messages), rank), bytes_(bytes), memory_(messages_.size() * bytes) {
    for (std::size_t i = 0; i < messages_.size(); ++i) {
      const auto& [peer, tag, sends] = messages_[i];
      const int own = tag_of_streams + tag;
      requests_.add(sends ? send_init(buffer(i), peer, own, MPI_COMM_WORLD)
                          : recv_init(buffer(i), peer, own, MPI_COMM_WORLD));
    }
    match(requests_);
  }

  std::string name() const override { return "streams"; }
  void start() override {
    queue_.start(requests_.all());
    queue_.wait(requests_.all());
  }
  void test() override {}
  void wait() override { queue_.synchronize(); }

 private:
  std::span<std::byte> buffer(std::size_t message) const override {
    return {const_cast<std::byte*>(memory_.data()) + message * bytes_, bytes_};
  }

  const std::size_t bytes_;
  Buffer<std::byte> memory_;
  Stream stream_;
  Queue queue_{stream_};
  Requests requests_;
};

}  // namespace

void OverlapSide::fill(std::uint64_t step) {
  for (std::size_t i = 0; i < messages_.size(); ++i)
    fill_pattern(buffer(i), messages_[i].sends ? writer_of(rank_, messages_[i].tag) : ~0u, step);
}

std::size_t OverlapSide::count_wrong(std::uint64_t step) const {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < messages_.size(); ++i)
    if (!messages_[i].sends)
      wrong += bench::count_wrong(buffer(i), writer_of(messages_[i].peer, messages_[i].tag), step);
  return wrong;
}

std::unique_ptr<OverlapSide> make_mpi_side(std::vector<PatternMessage> messages, int rank,
                                           std::size_t bytes) {
  return std::make_unique<MpiSide>(std::move(messages), rank, bytes);
}

std::unique_ptr<OverlapSide> make_stream_side(std::vector<PatternMessage> messages, int rank,
                                              std::size_t bytes) {
  return std::make_unique<StreamSide>(std::move(messages), rank, bytes);
}

}  // namespace penstock::bench
