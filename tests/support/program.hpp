// SPDX-License-Identifier: Apache-2.0
// Litmus programs as text. One step a word: s1 starts the send of channel 1, r1 the receive, w1
// waits for this end of channel 1, w* waits for all that is started, w- for the same in opposite
// order, d is a slow function. A channel's sender is the side that has its "s".
#pragma once

#include <cstddef>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "support/endpoint.hpp"
#include "support/environment.hpp"

namespace penstock::test {

struct Program {
  std::string name;
  std::string a, b;  // repeated
  Kind kind = Kind::standard;
  std::vector<int> plain_channels = {};  // these are standard sends, whatever `kind` says
  std::string first_a = "", first_b = "", last_a = "", last_b = "";  // once, before and after
};

struct Shape {
  std::size_t bytes = 8;
  std::size_t plain_bytes = 8;  // of the plain channels
  Memory memory_a = Memory::ordinary, memory_b = Memory::ordinary;
  std::size_t shift = 0;  // misalignment of the buffers
  std::size_t extra = 0;  // bytes of the receive buffer beyond the message
  int lanes = 1;          // channel c runs on lane (c - 1) % lanes
  char slow = '-';  // 'a' or 'b': that side's starts come after a slow function; '*': random delays
                    // everywhere
  int repeats = 8;
};

std::string text(const Program& program, const Shape& shape);
std::string times(const std::string& steps, unsigned count);

// One side of a program in this process.
class Side {
 public:
  Side(const Program& program, const Shape& shape, bool is_a, int self, int peer, int tag_base = 0);
  ~Side();

  std::vector<MPI_Request*> requests();  // in the order of the channels
  void enqueue();                        // the whole program, `repeats` times
  // Waits for the queues and checks what has been received. `runs`: how often what was enqueued has
  // run, if not once for each enqueue().
  void finish(std::uint64_t runs = 0);
  Lane& lane(std::size_t i) { return *lanes_[i]; }

 private:
  struct Channel;
  struct Step {
    char verb;
    int channel;
  };
  static std::vector<Step> parse(const std::string& steps);
  void add_channel(const Program& program, const Step& step, bool is_a, int self, int peer,
                   int tag);
  void run(const std::vector<Step>& steps, std::mt19937_64& random);
  void run(const Step& step);
  void start(Channel& channel);
  void wait(Channel& channel);
  void wait_all(bool reversed);
  Lane& lane_of(const Channel& channel);

  Shape shape_;
  bool slow_;
  std::vector<Step> first_, steps_, last_;
  std::uint64_t enqueued_ = 0;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<std::unique_ptr<Channel>> channels_;
};

// Runs the program between this rank and its partner (in one process on streams of their own where
// the partner is the rank itself), with one match and no wait of the host in between, and checks
// every message.
void run_program(const Program& program, const Shape& shape, int peer = partner());

// Matches; the requests stay usable through the pointers.
void match_all(const std::vector<MPI_Request*>& requests);

}  // namespace penstock::test
