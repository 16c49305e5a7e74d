// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine.hpp"
#include "pattern.hpp"
#include "storage.hpp"

namespace penstock::bench {

// One rank's side of a windowed transfer: rank 0 sends a window of messages at once, rank 1 answers with one byte when
// it has them all. Each message of the window has a buffer of its own, so that every byte can be checked.
struct Window {
  Window(std::size_t bytes, int messages, MemoryKind memory, Mode mode, int rank, int tag);

  std::span<MPI_Request> messages() noexcept { return requests.all().first(requests.size() - 1); }
  std::span<MPI_Request> answer() noexcept { return requests.all().last(1); }
  std::span<std::byte> message(std::size_t index) noexcept { return data.all().subspan(index * stride, bytes); }

  int rank;
  std::size_t bytes;
  std::size_t stride;
  Storage data;
  Storage answer_data;
  Requests requests;
  CheckResult check_result;
};

// Millions of bytes a second, from one round of plain MPI or of the stream.
double time_round(MpiEngine& engine, Window& side, int iterations, Order order, bool check);
double time_round(StreamEngine& engine, Window& side, int iterations, Order order, bool check);

}  // namespace penstock::bench
