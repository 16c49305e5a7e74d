// SPDX-License-Identifier: Apache-2.0
// A step of bench overlap by one library: its messages are started, something else is done, and
// they are waited for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "overlap_pattern.hpp"

namespace penstock::bench {

class OverlapSide {
 public:
  virtual ~OverlapSide() = default;
  virtual std::string name() const = 0;
  virtual void start() = 0;
  virtual void test() = 0;  // as a program does that computes: it gives MPI time
  virtual void wait() = 0;

  // Bytes of the messages from this rank, by sender, message and step; and how many bytes of what
  // has come are wrong.
  void fill(std::uint64_t step);
  std::size_t count_wrong(std::uint64_t step) const;

 protected:
  OverlapSide(std::vector<PatternMessage> messages, int rank)
      : messages_(std::move(messages)), rank_(rank) {}
  virtual std::span<std::byte> buffer(std::size_t message) const = 0;

  const std::vector<PatternMessage> messages_;  // receives, then sends

 private:
  const int rank_;
};

// MPI_Isend and MPI_Irecv, made anew each time, in ordinary memory.
std::unique_ptr<OverlapSide> make_mpi_side(std::vector<PatternMessage> messages, int rank,
                                           std::size_t bytes);
// Matched requests on a host stream, in memory of PST_Alloc_mem.
std::unique_ptr<OverlapSide> make_stream_side(std::vector<PatternMessage> messages, int rank,
                                              std::size_t bytes);

}  // namespace penstock::bench
