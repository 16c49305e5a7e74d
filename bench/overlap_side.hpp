// SPDX-License-Identifier: Apache-2.0
// A step of bench overlap by one library: its messages are started, something else is done, and
// they are waited for.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "exchange.hpp"

namespace penstock::bench {

class OverlapSide : public Exchange {
 public:
  virtual std::string name() const = 0;
  virtual void start() = 0;
  virtual void test() {}  // as a program does that computes: it gives MPI time
  virtual void wait() = 0;

  void make_trips(int from, int to, int /*total*/) final {
    for (int i = from; i < to; ++i) {
      start();
      wait();
    }
  }
  // Bytes by sender, message and step; and how many bytes of what has come are wrong.
  void fill(std::uint64_t step) const;
  std::size_t count_wrong(std::uint64_t step) const;

 protected:
  using Exchange::Exchange;
};

// MPI_Isend and MPI_Irecv, made anew each time, in ordinary memory.
std::unique_ptr<OverlapSide> make_mpi_overlap(const Traffic& traffic);
// The same calls, whose large messages are Penstock's. Null unless PENSTOCK_OVERLAP=exact.
std::unique_ptr<OverlapSide> make_engine_overlap(const Traffic& traffic);
// Matched requests on a host stream, in memory of PST_Alloc_mem.
std::unique_ptr<OverlapSide> make_stream_overlap(const Traffic& traffic);

}  // namespace penstock::bench
