// SPDX-License-Identifier: Apache-2.0
// Plain MPI calls whose large messages are the library's (PENSTOCK_OVERLAP=exact), beside small
// ones that are MPI's: what comes is what MPI would bring, byte for byte, in MPI's order. The limit
// is 1000 bytes here.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "support/endpoint.hpp"
#include "support/environment.hpp"
#include "support/pattern.hpp"
#include "support/random_datatype.hpp"

namespace penstock::test {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::size_t limit = 1000;
constexpr std::size_t large = 5000;

Bytes content(std::uint64_t key, std::uint64_t number, std::size_t bytes) {
  Bytes result(bytes);
  fill_pattern(result.data(), bytes, key, number);
  return result;
}

std::uint64_t key_of(int source, int tag, std::uint64_t salt) {
  return salt * 1'000'003 + static_cast<std::uint64_t>(source) * 1009 +
         static_cast<std::uint64_t>(tag);
}

void expect_content(const Bytes& found, std::uint64_t key, std::uint64_t number,
                    const std::string& what) {
  EXPECT_EQ(check_pattern(found.data(), found.size(), key, number), "") << what;
}

int count_of(std::size_t bytes) {
  return static_cast<int>(bytes);
}

// How many messages this process has sent past MPI.
long sent_by_library() {
  int length = 0;
  PST_Describe(nullptr, 0, &length);
  std::string text(static_cast<std::size_t>(length) + 1, '\0');
  PST_Describe(text.data(), length + 1, &length);
  const auto at = text.find("\"sent\": \"");
  return at == std::string::npos ? -1 : std::atol(text.c_str() + at + 9);
}

void expect_status(const MPI_Status& status, int source, int tag, std::size_t bytes) {
  int count = -1, cancelled = -1;
  MPI_Get_count(&status, MPI_BYTE, &count);
  MPI_Test_cancelled(&status, &cancelled);
  EXPECT_EQ(status.MPI_SOURCE, source);
  EXPECT_EQ(status.MPI_TAG, tag);
  EXPECT_EQ(count, count_of(bytes));
  EXPECT_EQ(cancelled, 0);
}

// ---- Random programs

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

TEST(Overlap, DatatypesWithGaps) {
  const int messages = long_run() ? 300 : 8;
  for (int i = 0; i < messages; ++i) {
    RandomDatatypes random(seed() * 1000 + static_cast<unsigned>(i));
    const Signature signature = random.signature(6);
    MPI_Datatype from = random.datatype(signature), to = random.datatype(signature);
    int size = 0;
    MPI_Type_size(from, &size);
    // From some bytes to some hundreds of kilobytes.
    const int count = size == 0 ? 1 : random.from_to(1, 100'000) / size + 1;
    const auto room = [&](MPI_Datatype datatype, std::byte fill) {
      const Reach reach = reach_of(datatype, count);
      return std::pair(Bytes(static_cast<std::size_t>(reach.end - reach.first), fill),
                       -reach.first);
    };
    auto [out, out_first] = room(from, std::byte{1});
    fill_pattern(out.data(), out.size(), static_cast<unsigned>(i), 1);
    auto [in, in_first] = room(to, std::byte{0xee});
    auto [expected, expected_first] = room(to, std::byte{0xee});
    const long before = sent_by_library();
    MPI_Request requests[2];
    EXPECT_PST(MPI_Irecv(in.data() + in_first, count, to, previous_rank(), i, MPI_COMM_WORLD,
                         &requests[0]));
    EXPECT_PST(MPI_Isend(out.data() + out_first, count, from, next_rank(), i, MPI_COMM_WORLD,
                         &requests[1]));
    EXPECT_PST(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    const bool ours = static_cast<std::size_t>(size) * static_cast<std::size_t>(count) >= limit;
    EXPECT_EQ(sent_by_library() - before, ours ? 1 : 0);
    int packed = 0, position = 0;
    MPI_Pack_size(count, from, MPI_COMM_WORLD, &packed);
    Bytes between(static_cast<std::size_t>(packed) + 1);
    MPI_Pack(out.data() + out_first, count, from, between.data(), packed, &position,
             MPI_COMM_WORLD);
    const int length = position;
    position = 0;
    MPI_Unpack(between.data(), length, &position, expected.data() + expected_first, count, to,
               MPI_COMM_WORLD);
    EXPECT_EQ(in, expected) << "message " << i;
    MPI_Type_free(&from);
    MPI_Type_free(&to);
  }
}

// ---- Programs that end with MPI

TEST(Overlap, ASendEndsWhileItsReceiverIsInACallThatWeDoNotSee) {
  const bool receives = rank() % 2 == 1;
  const int partner = receives ? rank() - 1 : rank() + 1;
  Bytes bytes(large, std::byte{0xee});
  MPI_Request request = MPI_REQUEST_NULL;
  if (partner >= size()) {
    MPI_Barrier(MPI_COMM_WORLD);
    return;
  }
  if (receives) {
    EXPECT_PST(
        MPI_Irecv(bytes.data(), count_of(large), MPI_BYTE, partner, 1, MPI_COMM_WORLD, &request));
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_PST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    expect_content(bytes, 1, 1, "behind the barrier");
  } else {
    bytes = content(1, 1, large);
    EXPECT_PST(MPI_Send(bytes.data(), count_of(large), MPI_BYTE, partner, 1, MPI_COMM_WORLD));
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

// The sender is in MPI_Send until its message has been read, which a waiting probe does like any
// other wait.
TEST(Overlap, AProbeThatWaitsReadsOtherMessages) {
  const bool receives = rank() % 2 == 1;
  const int partner = receives ? rank() - 1 : rank() + 1;
  if (partner >= size()) return;
  for (unsigned number = 0; number < 100; ++number) {
    const bool takes = number % 2 == 1;
    if (!receives) {  // when the receiver is about to probe
      EXPECT_PST(MPI_Recv(nullptr, 0, MPI_BYTE, partner, 32, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      const Bytes out = content(2, number, large), small = content(3, number, 10);
      EXPECT_PST(MPI_Send(out.data(), count_of(large), MPI_BYTE, partner, 30, MPI_COMM_WORLD));
      EXPECT_PST(MPI_Send(small.data(), 10, MPI_BYTE, partner, 31, MPI_COMM_WORLD));
      continue;
    }
    Bytes in(large, std::byte{0xee}), small(10, std::byte{0xee});
    MPI_Request request;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status{};
    EXPECT_PST(
        MPI_Irecv(in.data(), count_of(large), MPI_BYTE, partner, 30, MPI_COMM_WORLD, &request));
    EXPECT_PST(MPI_Send(nullptr, 0, MPI_BYTE, partner, 32, MPI_COMM_WORLD));
    if (takes) {
      EXPECT_PST(MPI_Mprobe(partner, 31, MPI_COMM_WORLD, &message, &status));
      EXPECT_PST(MPI_Mrecv(small.data(), 10, MPI_BYTE, &message, MPI_STATUS_IGNORE));
    } else {
      EXPECT_PST(MPI_Probe(partner, 31, MPI_COMM_WORLD, &status));
      EXPECT_PST(
          MPI_Recv(small.data(), 10, MPI_BYTE, partner, 31, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    expect_status(status, partner, 31, 10);
    EXPECT_PST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    expect_content(in, 2, number, "beside a probe");
    expect_content(small, 3, number, "probed");
  }
}

// As where MPI holds a small message at a sender that computes: the large one was sent later, and
// is announced at once.
TEST(Overlap, ASmallMessageMayComeLongBehindALargeOne) {
  const bool receives = rank() % 2 == 1;
  const int partner = receives ? rank() - 1 : rank() + 1;
  if (partner >= size()) return;
  if (!receives) {
    const Bytes out = content(2, 1, large), small = content(3, 1, 10);
    MPI_Request send;
    EXPECT_PST(
        MPI_Isend(out.data(), count_of(large), MPI_BYTE, partner, 15, MPI_COMM_WORLD, &send));
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    EXPECT_PST(MPI_Send(small.data(), 10, MPI_BYTE, partner, 15, MPI_COMM_WORLD));
    EXPECT_PST(MPI_Wait(&send, MPI_STATUS_IGNORE));
    return;
  }
  Bytes in(large, std::byte{0xee}), small(10, std::byte{0xee});
  MPI_Status status{};
  EXPECT_PST(MPI_Recv(small.data(), 10, MPI_BYTE, partner, 15, MPI_COMM_WORLD, &status));
  expect_status(status, partner, 15, 10);
  EXPECT_PST(MPI_Recv(in.data(), count_of(large), MPI_BYTE, partner, 15, MPI_COMM_WORLD, &status));
  expect_status(status, partner, 15, large);
  expect_content(small, 3, 1, "behind a large one");
  expect_content(in, 2, 1, "behind a small one");
}

TEST(Overlap, MoreMessagesThanARingHolds) {
  constexpr int messages = 100;
  std::vector<Bytes> out, in;
  std::vector<MPI_Request> requests(2 * messages);
  for (int i = 0; i < messages; ++i) {
    out.push_back(content(key_of(rank(), 3, 7), static_cast<unsigned>(i), large));
    in.emplace_back(large, std::byte{0xee});
  }
  for (int i = 0; i < messages; ++i)
    EXPECT_PST(MPI_Isend(out[static_cast<std::size_t>(i)].data(), count_of(large), MPI_BYTE,
                         next_rank(), 3, MPI_COMM_WORLD, &requests[static_cast<std::size_t>(i)]));
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < messages; ++i)
    EXPECT_PST(MPI_Irecv(in[static_cast<std::size_t>(i)].data(), count_of(large), MPI_BYTE,
                         previous_rank(), 3, MPI_COMM_WORLD,
                         &requests[static_cast<std::size_t>(messages + i)]));
  EXPECT_PST(MPI_Waitall(2 * messages, requests.data(), MPI_STATUSES_IGNORE));
  for (int i = 0; i < messages; ++i)
    expect_content(in[static_cast<std::size_t>(i)], key_of(previous_rank(), 3, 7),
                   static_cast<unsigned>(i), "message " + std::to_string(i));
}

// More than a process has words for at first, received from the last one on.
TEST(Overlap, AnyNumberOfSendsIsReceivedInAnyOrder) {
  constexpr int messages = 9000;
  const Bytes out = content(key_of(rank(), 0, 19), 1, limit + messages);
  std::vector<MPI_Request> requests(messages);
  for (int i = 0; i < messages; ++i)
    EXPECT_PST(MPI_Isend(out.data() + i, count_of(limit), MPI_BYTE, next_rank(), i, MPI_COMM_WORLD,
                         &requests[static_cast<std::size_t>(i)]));
  const Bytes expected = content(key_of(previous_rank(), 0, 19), 1, limit + messages);
  Bytes in(limit);
  for (int i = messages - 1; i >= 0; --i) {
    std::ranges::fill(in, std::byte{0xee});
    EXPECT_PST(MPI_Recv(in.data(), count_of(limit), MPI_BYTE, previous_rank(), i, MPI_COMM_WORLD,
                        MPI_STATUS_IGNORE));
    ASSERT_TRUE(std::equal(in.begin(), in.end(), expected.begin() + i)) << "message " << i;
  }
  EXPECT_PST(MPI_Waitall(messages, requests.data(), MPI_STATUSES_IGNORE));
}

TEST(Overlap, BlockingExchanges) {
  for (int round = 0; round < 20; ++round) {
    const auto number = static_cast<unsigned>(round);
    Bytes out = content(key_of(rank(), 0, 9), number, large), in(large, std::byte{0xee});
    MPI_Status status{};
    EXPECT_PST(MPI_Sendrecv(out.data(), count_of(large), MPI_BYTE, next_rank(), 0, in.data(),
                            count_of(large), MPI_BYTE, previous_rank(), 0, MPI_COMM_WORLD,
                            &status));
    expect_status(status, previous_rank(), 0, large);
    expect_content(in, key_of(previous_rank(), 0, 9), number, "MPI_Sendrecv");
    // One half large, the other one small.
    Bytes small(10, std::byte{0xee});
    const std::size_t mine = rank() % 2 == 0 ? large : 10;
    const bool even_before = previous_rank() % 2 == 0;
    Bytes& to = even_before ? in : small;
    EXPECT_PST(MPI_Sendrecv(out.data(), count_of(mine), MPI_BYTE, next_rank(), 1, to.data(),
                            count_of(to.size()), MPI_BYTE, previous_rank(), 1, MPI_COMM_WORLD,
                            &status));
    expect_status(status, previous_rank(), 1, to.size());
    expect_content(to, key_of(previous_rank(), 0, 9), number, "of two kinds");
    EXPECT_PST(MPI_Sendrecv_replace(out.data(), count_of(large), MPI_BYTE, next_rank(), 2,
                                    previous_rank(), 2, MPI_COMM_WORLD, &status));
    expect_status(status, previous_rank(), 2, large);
    expect_content(out, key_of(previous_rank(), 0, 9), number, "MPI_Sendrecv_replace");
    EXPECT_PST(MPI_Sendrecv(out.data(), count_of(large), MPI_BYTE, MPI_PROC_NULL, 1, in.data(),
                            count_of(large), MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status));
    EXPECT_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
  }
}

TEST(Overlap, ABufferedSendReturnsBeforeItsReceive) {
  Bytes out = content(key_of(rank(), 4, 2), 1, large), in(large, std::byte{0xee});
  EXPECT_PST(MPI_Bsend(out.data(), count_of(large), MPI_BYTE, next_rank(), 4, MPI_COMM_WORLD));
  std::ranges::fill(out, std::byte{0x11});
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_PST(MPI_Recv(in.data(), count_of(large), MPI_BYTE, previous_rank(), 4, MPI_COMM_WORLD,
                      MPI_STATUS_IGNORE));
  expect_content(in, key_of(previous_rank(), 4, 2), 1, "MPI_Bsend");
}

TEST(Overlap, ASynchronousSendEndsNoEarlierThanItsReceiveBegins) {
  Bytes out = content(key_of(rank(), 5, 2), 1, large), in(large, std::byte{0xee});
  MPI_Request request;
  EXPECT_PST(
      MPI_Issend(out.data(), count_of(large), MPI_BYTE, next_rank(), 5, MPI_COMM_WORLD, &request));
  for (int i = 0; i < 20; ++i) {
    int done = 0;
    EXPECT_PST(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
    EXPECT_EQ(done, 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_PST(MPI_Recv(in.data(), count_of(large), MPI_BYTE, previous_rank(), 5, MPI_COMM_WORLD,
                      MPI_STATUS_IGNORE));
  EXPECT_PST(MPI_Wait(&request, MPI_STATUS_IGNORE));
  expect_content(in, key_of(previous_rank(), 5, 2), 1, "MPI_Issend");
}

TEST(Overlap, SeveralThreadsAtOnce) {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  if (level != MPI_THREAD_MULTIPLE) GTEST_SKIP() << "needs MPI_THREAD_MULTIPLE";
  std::vector<std::thread> threads;
  for (int tag = 20; tag < 24; ++tag)
    threads.emplace_back([tag] {
      for (unsigned round = 0; round < 50; ++round) {
        const std::size_t bytes = round % 3 == 0 ? 100 : large + round;
        const Bytes out = content(key_of(rank(), tag, 3), round, bytes);
        Bytes in(bytes, std::byte{0xee});
        MPI_Request requests[2];
        EXPECT_PST(MPI_Irecv(in.data(), count_of(bytes), MPI_BYTE, previous_rank(), tag,
                             MPI_COMM_WORLD, &requests[0]));
        EXPECT_PST(MPI_Isend(out.data(), count_of(bytes), MPI_BYTE, next_rank(), tag,
                             MPI_COMM_WORLD, &requests[1]));
        EXPECT_PST(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        expect_content(in, key_of(previous_rank(), tag, 3), round, "thread " + std::to_string(tag));
      }
    });
  for (std::thread& each : threads) each.join();
}

TEST(Overlap, ACancelledReceiveLeavesItsMessageToTheNext) {
  Bytes first(large, std::byte{0xee}), second(large, std::byte{0xee});
  MPI_Request requests[2];
  EXPECT_PST(MPI_Irecv(first.data(), count_of(large), MPI_BYTE, previous_rank(), 6, MPI_COMM_WORLD,
                       &requests[0]));
  EXPECT_PST(MPI_Irecv(second.data(), count_of(large), MPI_BYTE, previous_rank(), 6, MPI_COMM_WORLD,
                       &requests[1]));
  EXPECT_PST(MPI_Cancel(&requests[0]));
  MPI_Status status{};
  EXPECT_PST(MPI_Wait(&requests[0], &status));
  int cancelled = 0;
  MPI_Test_cancelled(&status, &cancelled);
  EXPECT_EQ(cancelled, 1);
  MPI_Barrier(MPI_COMM_WORLD);
  const Bytes out = content(key_of(rank(), 6, 2), 1, large);
  MPI_Request send;
  EXPECT_PST(
      MPI_Isend(out.data(), count_of(large), MPI_BYTE, next_rank(), 6, MPI_COMM_WORLD, &send));
  EXPECT_PST(MPI_Wait(&requests[1], &status));
  EXPECT_PST(MPI_Wait(&send, MPI_STATUS_IGNORE));
  expect_content(second, key_of(previous_rank(), 6, 2), 1, "behind a cancelled one");
  EXPECT_EQ(check_value(first.data(), first.size(), std::byte{0xee}), "");
  EXPECT_PST(
      MPI_Isend(out.data(), count_of(large), MPI_BYTE, next_rank(), 6, MPI_COMM_WORLD, &send));
  EXPECT_PST_KIND(MPI_Cancel(&send), PST_ERROR_UNSUPPORTED);
  EXPECT_PST(MPI_Recv(first.data(), count_of(large), MPI_BYTE, previous_rank(), 6, MPI_COMM_WORLD,
                      MPI_STATUS_IGNORE));
  EXPECT_PST(MPI_Wait(&send, MPI_STATUS_IGNORE));
}

TEST(Overlap, ProbesSeeBothKinds) {
  const Bytes out = content(key_of(rank(), 7, 2), 1, large);
  MPI_Request sends[3];
  EXPECT_PST(
      MPI_Isend(out.data(), count_of(large), MPI_BYTE, next_rank(), 7, MPI_COMM_WORLD, &sends[0]));
  EXPECT_PST(MPI_Isend(out.data(), 12, MPI_BYTE, next_rank(), 8, MPI_COMM_WORLD, &sends[1]));
  EXPECT_PST(
      MPI_Isend(out.data(), count_of(large), MPI_BYTE, next_rank(), 9, MPI_COMM_WORLD, &sends[2]));
  MPI_Status status{};
  EXPECT_PST(MPI_Probe(previous_rank(), 8, MPI_COMM_WORLD, &status));
  expect_status(status, previous_rank(), 8, 12);
  EXPECT_PST(MPI_Probe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &status));
  expect_status(status, previous_rank(), 7, large);
  int found = 0;
  while (found == 0) EXPECT_PST(MPI_Iprobe(previous_rank(), 7, MPI_COMM_WORLD, &found, &status));
  expect_status(status, previous_rank(), 7, large);
  MPI_Message message = MPI_MESSAGE_NULL;
  EXPECT_PST(MPI_Mprobe(previous_rank(), 7, MPI_COMM_WORLD, &message, &status));
  expect_status(status, previous_rank(), 7, large);
  EXPECT_PST(MPI_Iprobe(previous_rank(), 7, MPI_COMM_WORLD, &found, &status));
  EXPECT_EQ(found, 0);
  Bytes in(large, std::byte{0xee});
  EXPECT_PST(MPI_Mrecv(in.data(), count_of(large), MPI_BYTE, &message, &status));
  EXPECT_EQ(message, MPI_MESSAGE_NULL);
  expect_status(status, previous_rank(), 7, large);
  expect_content(in, key_of(previous_rank(), 7, 2), 1, "MPI_Mrecv");
  found = 0;
  while (found == 0)
    EXPECT_PST(MPI_Improbe(previous_rank(), 9, MPI_COMM_WORLD, &found, &message, &status));
  MPI_Request request;
  std::ranges::fill(in, std::byte{0xee});
  EXPECT_PST(MPI_Imrecv(in.data(), count_of(large), MPI_BYTE, &message, &request));
  EXPECT_PST(MPI_Wait(&request, &status));
  expect_status(status, previous_rank(), 9, large);
  expect_content(in, key_of(previous_rank(), 7, 2), 1, "MPI_Imrecv");
  EXPECT_PST(MPI_Improbe(previous_rank(), 8, MPI_COMM_WORLD, &found, &message, &status));
  ASSERT_EQ(found, 1);
  EXPECT_PST(MPI_Mrecv(in.data(), 12, MPI_BYTE, &message, &status));
  expect_status(status, previous_rank(), 8, 12);
  EXPECT_PST(MPI_Waitall(3, sends, MPI_STATUSES_IGNORE));
}

TEST(Overlap, PersistentRequestsMeetOtherCalls) {
  Bytes out(large), in(large), small_out(100), small_in(100);
  std::array<MPI_Request, 4> requests;
  MPI_Send_init(out.data(), count_of(large), MPI_BYTE, next_rank(), 10, MPI_COMM_WORLD,
                &requests[0]);
  MPI_Recv_init(in.data(), count_of(large), MPI_BYTE, previous_rank(), 10, MPI_COMM_WORLD,
                &requests[1]);
  MPI_Send_init(small_out.data(), 100, MPI_BYTE, next_rank(), 10, MPI_COMM_WORLD, &requests[2]);
  MPI_Recv_init(small_in.data(), 100, MPI_BYTE, previous_rank(), 10, MPI_COMM_WORLD, &requests[3]);
  const auto handles = requests;
  const long before = sent_by_library();
  for (unsigned round = 0; round < 12; ++round) {
    fill_pattern(out.data(), large, key_of(rank(), 10, 1), round);
    fill_pattern(small_out.data(), 100, key_of(rank(), 10, 1), 100 + round);
    std::ranges::fill(in, std::byte{0xee});
    EXPECT_PST(MPI_Startall(4, requests.data()));
    std::array<MPI_Status, 4> statuses{};
    int done = 0, index = 0;
    switch (round % 4) {
      case 0:
        EXPECT_PST(MPI_Waitall(4, requests.data(), statuses.data()));
        expect_status(statuses[1], previous_rank(), 10, large);
        break;
      case 1:
        while (done == 0) EXPECT_PST(MPI_Testall(4, requests.data(), &done, statuses.data()));
        expect_status(statuses[1], previous_rank(), 10, large);
        break;
      case 2:
        for (int i = 0; i < 4; ++i)
          EXPECT_PST(MPI_Waitany(4, requests.data(), &index, &statuses[0]));
        EXPECT_PST(MPI_Waitany(4, requests.data(), &index, &statuses[0]));
        EXPECT_EQ(index, MPI_UNDEFINED);
        break;
      default:
        while (done == 0) EXPECT_PST(MPI_Request_get_status(requests[1], &done, &statuses[1]));
        expect_status(statuses[1], previous_rank(), 10, large);
        for (MPI_Request& each : requests) EXPECT_PST(MPI_Wait(&each, MPI_STATUS_IGNORE));
    }
    EXPECT_EQ(requests, handles);
    expect_content(in, key_of(previous_rank(), 10, 1), round, "a persistent receive");
    expect_content(small_in, key_of(previous_rank(), 10, 1), 100 + round, "a small one");
  }
  EXPECT_EQ(sent_by_library() - before, 12);
  // Its other end is another call.
  MPI_Request plain;
  fill_pattern(out.data(), large, key_of(rank(), 10, 1), 50);
  EXPECT_PST(
      MPI_Isend(out.data(), count_of(large), MPI_BYTE, next_rank(), 10, MPI_COMM_WORLD, &plain));
  EXPECT_PST(MPI_Start(&requests[1]));
  EXPECT_PST(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
  EXPECT_PST(MPI_Wait(&plain, MPI_STATUS_IGNORE));
  expect_content(in, key_of(previous_rank(), 10, 1), 50, "a persistent receive of MPI_Isend");
  EXPECT_PST(MPI_Start(&requests[1]));
  EXPECT_PST(MPI_Cancel(&requests[1]));
  MPI_Status status{};
  int cancelled = 0;
  EXPECT_PST(MPI_Wait(&requests[1], &status));
  MPI_Test_cancelled(&status, &cancelled);
  EXPECT_EQ(cancelled, 1);
  // An active one is freed, and its message still comes.
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_PST(MPI_Start(&requests[0]));
  for (MPI_Request& each : requests) EXPECT_PST(MPI_Request_free(&each));
  std::ranges::fill(in, std::byte{0xee});
  EXPECT_PST(MPI_Recv(in.data(), count_of(large), MPI_BYTE, previous_rank(), 10, MPI_COMM_WORLD,
                      MPI_STATUS_IGNORE));
  expect_content(in, key_of(previous_rank(), 10, 1), 50, "of a request that was freed");
  MPI_Barrier(MPI_COMM_WORLD);
}

// ---- Wrong arguments. Before the broken promises: MPICH gives a later error of its own the code
// of an earlier request's, where both have had the same place in its ring of 128 errors.

int last_tag() {
  int* last = nullptr;
  int found = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &last, &found);
  return *last;
}

int class_of(int code) {
  int result = MPI_SUCCESS;
  MPI_Error_class(code, &result);
  return result;
}

struct WrongCall {
  const void* buffer;
  int count;
  MPI_Datatype datatype;
  int peer, tag;
  int error;  // its class
};

TEST(Overlap, WrongArgumentsAreMpisErrors) {
  Bytes bytes(large);
  MPI_Datatype uncommitted;
  MPI_Type_contiguous(count_of(large), MPI_BYTE, &uncommitted);
  MPI_Request request = MPI_REQUEST_NULL;
  const int length = count_of(large);
  std::vector<WrongCall> both{{bytes.data(), length, MPI_BYTE, size(), 0, MPI_ERR_RANK},
                              {bytes.data(), length, MPI_BYTE, -7, 0, MPI_ERR_RANK},
                              {bytes.data(), length, MPI_BYTE, 0, -5, MPI_ERR_TAG},
                              {bytes.data(), -length, MPI_BYTE, 0, 0, MPI_ERR_COUNT},
                              {bytes.data(), 1, uncommitted, 0, 0, MPI_ERR_TYPE},
                              {bytes.data(), length, MPI_DATATYPE_NULL, 0, 0, MPI_ERR_TYPE},
                              {nullptr, length, MPI_BYTE, 0, 0, MPI_ERR_BUFFER}};
  if (last_tag() < std::numeric_limits<int>::max())
    both.push_back({bytes.data(), length, MPI_BYTE, 0, last_tag() + 1, MPI_ERR_TAG});
  std::vector<WrongCall> sends = both;
  sends.push_back({bytes.data(), length, MPI_BYTE, MPI_ANY_SOURCE, 0, MPI_ERR_RANK});
  sends.push_back({bytes.data(), length, MPI_BYTE, 0, MPI_ANY_TAG, MPI_ERR_TAG});
  const long before = sent_by_library();
  for (const WrongCall& each : sends) {
    const auto expect_error = [&](int code) {
      EXPECT_EQ(class_of(code), each.error) << describe(code) << ", case " << &each - sends.data();
    };
    for (const auto call : {MPI_Isend, MPI_Issend, MPI_Irsend, MPI_Ibsend})
      expect_error(call(each.buffer, each.count, each.datatype, each.peer, each.tag, MPI_COMM_WORLD,
                        &request));
    for (const auto call : {MPI_Send, MPI_Ssend, MPI_Rsend, MPI_Bsend})
      expect_error(
          call(each.buffer, each.count, each.datatype, each.peer, each.tag, MPI_COMM_WORLD));
  }
  for (const WrongCall& each : both) {
    void* const buffer = const_cast<void*>(each.buffer);
    EXPECT_EQ(class_of(MPI_Irecv(buffer, each.count, each.datatype, each.peer, each.tag,
                                 MPI_COMM_WORLD, &request)),
              each.error);
    EXPECT_EQ(class_of(MPI_Recv(buffer, each.count, each.datatype, each.peer, each.tag,
                                MPI_COMM_WORLD, MPI_STATUS_IGNORE)),
              each.error);
  }
  EXPECT_EQ(sent_by_library(), before);
  MPI_Type_free(&uncommitted);
}

// The message stays for a call that can receive it, and its sender waits for that one.
TEST(Overlap, AWrongReceiveOfAProbedMessageLeavesIt) {
  const Bytes out = content(key_of(rank(), 18, 1), 1, large);
  Bytes in(large, std::byte{0xee});
  constexpr int most = std::numeric_limits<int>::max();
  MPI_Datatype uncommitted, huge;
  MPI_Type_contiguous(count_of(large), MPI_BYTE, &uncommitted);
  MPI_Type_contiguous(most, MPI_LONG, &huge);
  MPI_Type_commit(&huge);
  const int length = count_of(large);
  for (const bool waits : {true, false}) {
    MPI_Request send, request = MPI_REQUEST_NULL;
    EXPECT_PST(MPI_Isend(out.data(), length, MPI_BYTE, next_rank(), 18, MPI_COMM_WORLD, &send));
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status{};
    EXPECT_PST(MPI_Mprobe(previous_rank(), 18, MPI_COMM_WORLD, &message, &status));
    const auto receive = [&](void* buffer, int count, MPI_Datatype datatype) {
      return waits ? MPI_Mrecv(buffer, count, datatype, &message, &status)
                   : MPI_Imrecv(buffer, count, datatype, &message, &request);
    };
    EXPECT_EQ(class_of(receive(in.data(), 1, uncommitted)), MPI_ERR_TYPE);
    EXPECT_EQ(class_of(receive(in.data(), length, MPI_DATATYPE_NULL)), MPI_ERR_TYPE);
    EXPECT_EQ(class_of(receive(in.data(), -1, MPI_BYTE)), MPI_ERR_COUNT);
    EXPECT_EQ(class_of(receive(nullptr, length, MPI_BYTE)), MPI_ERR_BUFFER);
    EXPECT_NE(receive(in.data(), most, huge), MPI_SUCCESS);
    EXPECT_NE(message, MPI_MESSAGE_NULL);
    EXPECT_EQ(check_value(in.data(), in.size(), std::byte{0xee}), "");
    EXPECT_PST(receive(in.data(), length, MPI_BYTE));
    EXPECT_EQ(message, MPI_MESSAGE_NULL);
    if (!waits) EXPECT_PST(MPI_Wait(&request, &status));
    expect_status(status, previous_rank(), 18, large);
    expect_content(in, key_of(previous_rank(), 18, 1), 1, "behind wrong receives");
    EXPECT_PST(MPI_Wait(&send, MPI_STATUS_IGNORE));
    std::ranges::fill(in, std::byte{0xee});
  }
  MPI_Type_free(&uncommitted);
  MPI_Type_free(&huge);
}

// It would go by MPI, where a plain other end does not look for it.
TEST(Overlap, AnEnqueuedMessageOfThatSizeIsRefused) {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  if (level != MPI_THREAD_MULTIPLE) GTEST_SKIP() << "needs MPI_THREAD_MULTIPLE";
  Lane lane;
  Bytes bytes(large), out = content(key_of(rank(), 40, 1), 1, 10), in(10, std::byte{0xee});
  EXPECT_PST_KIND(PST_Enqueue_send(bytes.data(), count_of(large), MPI_BYTE, next_rank(), 40,
                                   MPI_COMM_WORLD, lane.queue(), nullptr),
                  PST_ERROR_UNSUPPORTED);
  EXPECT_NE(last_error().find("PST_Comm_enqueue_only"), std::string::npos) << last_error();
  EXPECT_PST_KIND(PST_Enqueue_recv(bytes.data(), count_of(large), MPI_BYTE, previous_rank(), 40,
                                   MPI_COMM_WORLD, lane.queue(), nullptr),
                  PST_ERROR_UNSUPPORTED);
  MPI_Request receive;
  EXPECT_PST(MPI_Irecv(in.data(), 10, MPI_BYTE, previous_rank(), 40, MPI_COMM_WORLD, &receive));
  EXPECT_PST(PST_Enqueue_send(out.data(), 10, MPI_BYTE, next_rank(), 40, MPI_COMM_WORLD,
                              lane.queue(), nullptr));
  EXPECT_PST(PST_Enqueue_trigger(lane.queue()));
  EXPECT_PST(PST_Enqueue_wait_outstanding(lane.queue()));
  EXPECT_PST(MPI_Wait(&receive, MPI_STATUS_IGNORE));
  EXPECT_PST(PST_Queue_wait(lane.queue()));
  expect_content(in, key_of(previous_rank(), 40, 1), 1, "a small enqueued one");
}

// A half of it that has begun could not give its message back.
TEST(Overlap, AnExchangeWithAWrongHalfTakesNoMessage) {
  const Bytes out = content(key_of(rank(), 16, 1), 1, large);
  Bytes in(large, std::byte{0xee});
  MPI_Request send;
  EXPECT_PST(
      MPI_Isend(out.data(), count_of(large), MPI_BYTE, next_rank(), 16, MPI_COMM_WORLD, &send));
  int found = 0;
  while (found == 0)
    EXPECT_PST(MPI_Iprobe(previous_rank(), 16, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE));
  EXPECT_EQ(class_of(MPI_Sendrecv(out.data(), count_of(large), MPI_BYTE, size(), 17, in.data(),
                                  count_of(large), MPI_BYTE, previous_rank(), 16, MPI_COMM_WORLD,
                                  MPI_STATUS_IGNORE)),
            MPI_ERR_RANK);
  EXPECT_EQ(check_value(in.data(), in.size(), std::byte{0xee}), "");
  EXPECT_PST(MPI_Recv(in.data(), count_of(large), MPI_BYTE, previous_rank(), 16, MPI_COMM_WORLD,
                      MPI_STATUS_IGNORE));
  EXPECT_PST(MPI_Wait(&send, MPI_STATUS_IGNORE));
  expect_content(in, key_of(previous_rank(), 16, 1), 1, "behind a wrong exchange");
}

// ---- Promises that are broken

TEST(Overlap, AReceiveOfAnotherLengthIsAnError) {
  const Bytes out = content(1, 1, large);
  Bytes in(large + 1);
  for (const std::size_t length : {large + 1, large - 1}) {
    MPI_Request requests[2];
    MPI_Status statuses[2] = {};
    EXPECT_PST(MPI_Irecv(in.data(), count_of(length), MPI_BYTE, previous_rank(), 11, MPI_COMM_WORLD,
                         &requests[0]));
    EXPECT_PST(MPI_Isend(out.data(), count_of(large), MPI_BYTE, next_rank(), 11, MPI_COMM_WORLD,
                         &requests[1]));
    EXPECT_PST(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
    EXPECT_PST_KIND(MPI_Wait(&requests[0], &statuses[0]), PST_ERROR_ASSERTION);
    EXPECT_NE(last_error().find("as long as their messages"), std::string::npos) << last_error();
  }
}

TEST(Overlap, ALargeReceiveOfASmallMessageIsAnErrorAndNoHang) {
  const Bytes out = content(1, 1, large);
  Bytes in(large);
  MPI_Request send;
  EXPECT_PST(MPI_Isend(out.data(), 100, MPI_BYTE, next_rank(), 12, MPI_COMM_WORLD, &send));
  EXPECT_PST_KIND(MPI_Recv(in.data(), count_of(large), MPI_BYTE, previous_rank(), 12,
                           MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                  PST_ERROR_ASSERTION);
  EXPECT_NE(last_error().find("MPI has a message for it of 100 bytes"), std::string::npos)
      << last_error();
  MPI_Request receive;
  EXPECT_PST(MPI_Irecv(in.data(), count_of(large), MPI_BYTE, previous_rank(), 12, MPI_COMM_WORLD,
                       &receive));
  int code = MPI_SUCCESS;
  for (int done = 0; code == MPI_SUCCESS && done == 0;)
    code = MPI_Test(&receive, &done, MPI_STATUS_IGNORE);
  EXPECT_EQ(kind_of(code), PST_ERROR_ASSERTION) << describe(code);
  EXPECT_PST(
      MPI_Recv(in.data(), 100, MPI_BYTE, previous_rank(), 12, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  EXPECT_PST(MPI_Wait(&send, MPI_STATUS_IGNORE));
}

// As from a language whose calls reach MPI past the library.
TEST(Overlap, ALargeMessageThatCameByMpiIsAnErrorAndNoHang) {
  const Bytes out = content(1, 1, large);
  Bytes in(large);
  MPI_Request send;
  EXPECT_PST(
      PMPI_Isend(out.data(), count_of(large), MPI_BYTE, next_rank(), 13, MPI_COMM_WORLD, &send));
  EXPECT_PST_KIND(MPI_Recv(in.data(), count_of(large), MPI_BYTE, MPI_ANY_SOURCE, 13, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE),
                  PST_ERROR_ASSERTION);
  EXPECT_PST(PMPI_Recv(in.data(), count_of(large), MPI_BYTE, previous_rank(), 13, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE));
  EXPECT_PST(MPI_Wait(&send, MPI_STATUS_IGNORE));
}

TEST(Overlap, AProbeOfBothKindsInOneStreamIsAnError) {
  const Bytes out = content(1, 1, large);
  MPI_Request sends[2];
  EXPECT_PST(
      MPI_Isend(out.data(), count_of(large), MPI_BYTE, next_rank(), 14, MPI_COMM_WORLD, &sends[0]));
  EXPECT_PST(MPI_Isend(out.data(), 10, MPI_BYTE, next_rank(), 14, MPI_COMM_WORLD, &sends[1]));
  MPI_Barrier(MPI_COMM_WORLD);
  int code = MPI_SUCCESS;
  for (int tries = 0; code == MPI_SUCCESS && tries < 1'000'000; ++tries) {
    int found = 0;
    code = MPI_Iprobe(previous_rank(), 14, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
  }
  EXPECT_EQ(kind_of(code), PST_ERROR_ASSERTION) << describe(code);
  Bytes in(large);
  EXPECT_PST(
      MPI_Recv(in.data(), 10, MPI_BYTE, previous_rank(), 14, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  EXPECT_PST(MPI_Recv(in.data(), count_of(large), MPI_BYTE, previous_rank(), 14, MPI_COMM_WORLD,
                      MPI_STATUS_IGNORE));
  EXPECT_PST(MPI_Waitall(2, sends, MPI_STATUSES_IGNORE));
}

// ---- What stays MPI's

// With PENSTOCK_CMA=0.
TEST(OverlapApart, WhereMemoryIsOutOfReachAllMessagesAreMpis) {
  const Bytes out = content(key_of(rank(), 1, 1), 1, large);
  Bytes in(large + 100, std::byte{0xee});
  MPI_Request requests[2];
  MPI_Status statuses[2] = {};
  EXPECT_PST(MPI_Irecv(in.data(), count_of(in.size()), MPI_BYTE, previous_rank(), 1, MPI_COMM_WORLD,
                       &requests[0]));
  EXPECT_PST(MPI_Isend(out.data(), count_of(large), MPI_BYTE, next_rank(), 1, MPI_COMM_WORLD,
                       &requests[1]));
  EXPECT_PST(MPI_Waitall(2, requests, statuses));
  expect_status(statuses[0], previous_rank(), 1, large);
  in.resize(large);
  expect_content(in, key_of(previous_rank(), 1, 1), 1, "by MPI, into a longer receive");
  EXPECT_EQ(sent_by_library(), 0);
}

TEST(Overlap, NobodyIsSentNothing) {
  Bytes bytes(large);
  MPI_Request requests[2];
  MPI_Status status{};
  EXPECT_PST(MPI_Isend(bytes.data(), count_of(large), MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD,
                       &requests[0]));
  EXPECT_PST(MPI_Irecv(bytes.data(), count_of(large), MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD,
                       &requests[1]));
  EXPECT_PST(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  EXPECT_PST(
      MPI_Recv(bytes.data(), count_of(large), MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status));
  EXPECT_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
}

}  // namespace
}  // namespace penstock::test
