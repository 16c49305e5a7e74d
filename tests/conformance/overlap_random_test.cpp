// SPDX-License-Identifier: Apache-2.0
// Random programs of plain MPI calls with PENSTOCK_OVERLAP=exact, against a model: what comes is
// what MPI would bring, byte for byte, in MPI's order.
#include "conformance/overlap.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

namespace penstock::test {
namespace {

enum class How { standard, synchronous, buffered };

struct Planned {
  int source, destination, tag, comm;
  std::size_t bytes;
  How how;
  std::uint64_t number;  // in its stream
};

// All ranks make the same rounds. In one without wildcards lengths differ from message to message;
// with wildcards a receive may get any, so all have one length.
class RandomRounds {
 public:
  explicit RandomRounds(std::uint64_t salt)
      : shared_(generator(salt)),
        own_(generator(salt * 64 + static_cast<unsigned>(rank()) + 1)),
        salt_(salt) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comms_[1]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank(), &comms_[2]);
    for (const MPI_Comm comm : comms_) MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  }
  ~RandomRounds() {
    MPI_Comm_free(&comms_[1]);
    MPI_Comm_free(&comms_[2]);
  }

  void run() {
    wildcards_ = below(shared_, 3) == 0;
    plan();
    begin_all();
    complete_all();
    check_all();
    MPI_Barrier(MPI_COMM_WORLD);  // a receive of any message takes none of the next round
  }

 private:
  struct Awaited {
    Bytes bytes;
    const Planned* message;  // null: any
    MPI_Status status{};
  };

  static std::size_t below(std::mt19937_64& random, std::size_t end) { return random() % end; }
  int rank_in(int comm, int world) const { return comm == 2 ? size() - 1 - world : world; }

  std::size_t random_size() {
    switch (below(shared_, 5)) {
      case 0:
        return limit - 1 - below(shared_, 3);
      case 1:
        return limit + below(shared_, 2);
      case 2:
        return below(shared_, 200);
      case 3:
        return 20'000 + below(shared_, 100'000);
      default:
        return limit + below(shared_, 5000);
    }
  }

  void plan() {
    planned_.clear();
    std::map<std::tuple<int, int, int, int>, std::uint64_t> numbers;
    const std::size_t one_length = limit + below(shared_, 30'000);
    const std::size_t messages = 1 + below(shared_, 40);
    for (std::size_t i = 0; i < messages; ++i) {
      Planned each{};
      each.source = static_cast<int>(below(shared_, static_cast<std::size_t>(size())));
      each.destination = static_cast<int>(below(shared_, static_cast<std::size_t>(size())));
      each.tag = static_cast<int>(below(shared_, 3));
      each.comm = static_cast<int>(below(shared_, 3));
      each.bytes = random_size();
      if (wildcards_) each.bytes = one_length;
      each.how = static_cast<How>(below(shared_, 3));
      // A buffered one of MPI's would need a buffer.
      if (each.how == How::buffered && each.bytes < limit) each.how = How::standard;
      each.number = numbers[{each.source, each.destination, each.tag, each.comm}]++;
      planned_.push_back(each);
    }
  }

  // Sends in their order and receives in theirs, and both mixed as this rank likes.
  void begin_all() {
    requests_.clear();
    awaited_.clear();
    sent_.clear();
    std::vector<const Planned*> sends, receives;
    for (const Planned& each : planned_) {
      if (each.source == rank()) sends.push_back(&each);
      if (each.destination == rank()) receives.push_back(&each);
    }
    sent_.reserve(sends.size());
    awaited_.reserve(receives.size());
    std::size_t send = 0, receive = 0;
    while (send < sends.size() || receive < receives.size()) {
      const bool sending =
          receive == receives.size() || (send < sends.size() && below(own_, 2) == 0);
      if (sending)
        begin_send(*sends[send++]);
      else
        begin_receive(*receives[receive++]);
    }
  }

  std::uint64_t key(const Planned& message) const {
    return key_of(message.source, message.tag, salt_ * 3 + static_cast<unsigned>(message.comm));
  }

  void begin_send(const Planned& message) {
    sent_.push_back(content(key(message), message.number, message.bytes + 1));
    const auto call = message.how == How::synchronous ? MPI_Issend
                      : message.how == How::buffered  ? MPI_Ibsend
                                                      : MPI_Isend;
    requests_.push_back(MPI_REQUEST_NULL);
    sent_by_[requests_.size() - 1] = sent_.size() - 1;
    EXPECT_PST(call(sent_.back().data(), count_of(message.bytes), MPI_BYTE,
                    rank_in(message.comm, message.destination), message.tag, comms_[message.comm],
                    &requests_.back()));
  }

  void begin_receive(const Planned& message) {
    // With wildcards all of them: else one could take another's message, and that one would wait.
    awaited_.push_back(
        {Bytes(message.bytes, std::byte{0xee}), wildcards_ ? nullptr : &message, {}});
    requests_.push_back(MPI_REQUEST_NULL);
    places_[requests_.size() - 1] = awaited_.size() - 1;
    EXPECT_PST(MPI_Irecv(awaited_.back().bytes.data(), count_of(message.bytes), MPI_BYTE,
                         wildcards_ ? MPI_ANY_SOURCE : rank_in(message.comm, message.source),
                         wildcards_ ? MPI_ANY_TAG : message.tag, comms_[message.comm],
                         &requests_.back()));
    comm_of_[awaited_.size() - 1] = message.comm;
  }

  // A completed send's buffer is the program's again.
  void note(std::size_t request, const MPI_Status& status) {
    if (const auto sent = sent_by_.find(request); sent != sent_by_.end())
      std::ranges::fill(sent_[sent->second], std::byte{0x11});
    const auto place = places_.find(request);
    if (place != places_.end()) awaited_[place->second].status = status;
  }

  void complete_all() {
    const int all = static_cast<int>(requests_.size());
    std::vector<MPI_Status> statuses(requests_.size());
    std::vector<int> indices(requests_.size());
    const auto pending = [&] {
      return std::ranges::any_of(requests_,
                                 [](MPI_Request each) { return each != MPI_REQUEST_NULL; });
    };
    while (pending()) {
      int index = MPI_UNDEFINED, flag = 0, some = 0;
      MPI_Status status{};
      switch (below(own_, 7)) {
        case 0:
          EXPECT_PST(MPI_Waitany(all, requests_.data(), &index, &status));
          note(static_cast<std::size_t>(index), status);
          break;
        case 1:
          EXPECT_PST(MPI_Testany(all, requests_.data(), &index, &flag, &status));
          if (flag != 0 && index != MPI_UNDEFINED) note(static_cast<std::size_t>(index), status);
          break;
        case 2:
          EXPECT_PST(MPI_Waitsome(all, requests_.data(), &some, indices.data(), statuses.data()));
          for (int i = 0; i < some; ++i)
            note(static_cast<std::size_t>(indices[static_cast<std::size_t>(i)]),
                 statuses[static_cast<std::size_t>(i)]);
          break;
        case 3:
          EXPECT_PST(MPI_Testsome(all, requests_.data(), &some, indices.data(), statuses.data()));
          for (int i = 0; i < some; ++i)
            note(static_cast<std::size_t>(indices[static_cast<std::size_t>(i)]),
                 statuses[static_cast<std::size_t>(i)]);
          break;
        case 4: {
          const std::size_t one = below(own_, requests_.size());
          if (requests_[one] == MPI_REQUEST_NULL) break;
          EXPECT_PST(MPI_Test(&requests_[one], &flag, &status));
          if (flag != 0) note(one, status);
          break;
        }
        case 5: {
          const std::size_t one = below(own_, requests_.size());
          if (requests_[one] == MPI_REQUEST_NULL) break;
          EXPECT_PST(MPI_Wait(&requests_[one], &status));
          note(one, status);
          break;
        }
        default: {
          if (below(own_, 4) != 0) break;
          std::vector<bool> open(requests_.size());
          for (std::size_t i = 0; i < open.size(); ++i) open[i] = requests_[i] != MPI_REQUEST_NULL;
          EXPECT_PST(MPI_Waitall(all, requests_.data(), statuses.data()));
          for (std::size_t i = 0; i < open.size(); ++i)
            if (open[i]) note(i, statuses[i]);
        }
      }
    }
    places_.clear();
    sent_by_.clear();
  }

  void check_all() {
    std::map<std::tuple<int, int, int>, std::uint64_t> numbers;
    for (std::size_t i = 0; i < awaited_.size(); ++i) {
      const Awaited& each = awaited_[i];
      const int comm = comm_of_[i];
      const int source = rank_in(comm, each.status.MPI_SOURCE);
      if (each.message != nullptr)
        expect_status(each.status, rank_in(comm, each.message->source), each.message->tag,
                      each.message->bytes);
      const std::uint64_t number = numbers[{source, each.status.MPI_TAG, comm}]++;
      expect_content(each.bytes,
                     key_of(source, each.status.MPI_TAG, salt_ * 3 + static_cast<unsigned>(comm)),
                     number, "receive " + std::to_string(i) + (wildcards_ ? " of any" : ""));
    }
    comm_of_.clear();
  }

  std::mt19937_64 shared_, own_;
  const std::uint64_t salt_;
  std::array<MPI_Comm, 3> comms_{MPI_COMM_WORLD, MPI_COMM_NULL, MPI_COMM_NULL};
  bool wildcards_ = false;
  std::vector<Planned> planned_;
  std::vector<MPI_Request> requests_;
  std::vector<Bytes> sent_;
  std::vector<Awaited> awaited_;
  std::map<std::size_t, std::size_t> places_, sent_by_;  // by request
  std::map<std::size_t, int> comm_of_;
};

TEST(Overlap, RandomPrograms) {
  const long before = sent_by_library();
  ASSERT_GE(before, 0) << "run it with PENSTOCK_OVERLAP=exact";
  const int programs = long_run() ? 400 : 15;
  for (int i = 0; i < programs; ++i) {
    RandomRounds rounds(seed() + static_cast<unsigned>(i));
    for (int round = 0; round < 4; ++round) rounds.run();
  }
  long sent = sent_by_library() - before, by_all = 0;
  MPI_Allreduce(&sent, &by_all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  EXPECT_GT(by_all, programs);
}

}  // namespace
}  // namespace penstock::test
