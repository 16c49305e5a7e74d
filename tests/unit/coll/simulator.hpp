// SPDX-License-Identifier: Apache-2.0
// Carries out the schedules of all ranks in one process, in a random order that a seed decides, and
// says what is wrong with them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "coll/schedule.hpp"

namespace penstock::coll {

// Of one rank.
struct RankMemory {
  std::array<std::vector<std::byte>, 3> buffers;

  std::vector<std::byte>& operator[](Buffer buffer) {
    return buffers[static_cast<std::size_t>(buffer)];
  }
  const std::vector<std::byte>& operator[](Buffer buffer) const {
    return buffers[static_cast<std::size_t>(buffer)];
  }
};

// A buffered send ends before or after its receive has started, a synchronous one with it.
enum class SendMode { buffered, synchronous };

// What a reduce does with two values. The order of values and each bracket change the bits.
float combined(float first, float second);

class Simulator {
 public:
  // Temporaries are made here. Values that are combined are floats. `owners`: whose input and
  // output each rank has, where several have the same; their programs use them until each one's
  // first phase, and from its end on.
  Simulator(const std::vector<Schedule>& schedules, std::vector<RankMemory>& memories,
            SendMode mode, std::uint32_t seed, std::vector<int> owners = {});

  // Says what is wrong first, or nothing.
  std::string run();

 private:
  struct Message {
    int source = 0, destination = 0;
    std::size_t phase = 0;
    int next = -1;  // of the same ranks and phase
    const Send* send = nullptr;
    const Receive* receive = nullptr;
    bool sent = false, received = false;  // these have been started
    bool taken = false;                   // a buffered one's bytes have left
    std::vector<std::byte> bytes;
  };
  struct Rank {
    std::size_t next_phase = 0;
    std::vector<int> open;  // messages of each phase that have not ended
    std::vector<Region> sending, receiving;
    bool ended = false;
    std::vector<std::vector<std::size_t>> starts, sends;  // messages, by phase
  };
  enum class Act : std::uint8_t { begin_phase, take, deliver };
  struct Event {
    Act act;
    std::size_t of;  // a rank, or a message
  };

  void match();
  template <class End>
  std::size_t number_of(int source, int destination, std::size_t phase, End Message::*end);
  void list_messages(int rank);

  void carry_out(const Event& event);
  void begin_phase(std::size_t rank);
  void take(std::size_t number);
  void deliver(std::size_t number);
  void end_send(const Message& message);
  void end_receive(const Message& message);
  void end_one(std::size_t rank, std::size_t phase);
  void end(std::size_t rank);
  void start_receive(std::size_t number);
  void start_send(std::size_t number);
  void may_deliver(std::size_t number);

  void carry_out(std::size_t rank, const LocalStep& step);
  void check_step(std::size_t rank, const LocalStep& step);
  void combine(std::size_t rank, const Reduce& reduce);
  void check_region(std::size_t rank, const Region& region);
  // Whether some rank with the same memory sends, or receives, there.
  bool meets(std::size_t rank, std::vector<Region> Rank::*messages, const Region& region) const;
  void check_programs(std::size_t rank, const Region& region);
  std::vector<std::byte>& memory_of(std::size_t rank, Buffer buffer);
  std::byte* at(std::size_t rank, const Region& region);
  void complain(const std::string& text);

  const std::vector<Schedule>& schedules_;
  std::vector<RankMemory>& memories_;
  const SendMode mode_;
  const std::vector<int> owners_;
  std::minstd_rand random_;
  std::vector<Rank> ranks_;
  std::vector<Message> messages_;
  std::vector<int> numbers_;  // of the first message, by phase, source and destination
  std::vector<Event> events_;
  std::string complaint_;
};

}  // namespace penstock::coll
