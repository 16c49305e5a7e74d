// SPDX-License-Identifier: Apache-2.0
// Alltoalls whose senders write right into the receivers' buffers: by pairs (put-lock), and between
// two barriers (put-fence).
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>

#include "conformance/collective_blocks.hpp"
#include "support/rounds.hpp"

namespace penstock::test {
namespace {

bool writes_across() {
  const char* const setting = std::getenv("PENSTOCK_CMA");
  return setting == nullptr || std::string(setting) != "0";
}

std::byte put_byte(int from, int to, std::size_t index, int epoch) {
  const auto mixed = static_cast<unsigned>(from) * 89u + static_cast<unsigned>(to) * 43u +
                     static_cast<unsigned>(index) * 5u + static_cast<unsigned>(epoch) * 71u;
  return static_cast<std::byte>(mixed ^ (mixed >> 8));
}

// How many bytes go from a rank to a rank.
using PutPattern = std::function<std::size_t(int from, int to)>;

// Blocks in memory of the library, each with room for `most` bytes, the last rank's first, with
// holes between them and at odd places.
class PutBlocks {
 public:
  PutBlocks(PutPattern pattern, std::size_t most, bool in_place)
      : pattern_(std::move(pattern)),
        stride_(most + 3),
        in_place_(in_place),
        input_(bytes(), true, Memory::allocated),
        output_(bytes(), true, Memory::allocated) {
    for (int peer = 0; peer < size(); ++peer) {
      sends_.push_back(static_cast<MPI_Count>(pattern_(rank(), peer)));
      receives_.push_back(static_cast<MPI_Count>(pattern_(peer, rank())));
      places_.push_back(static_cast<MPI_Aint>(place(peer)));
    }
  }

  MPI_Request request(const char* algorithm, MPI_Comm comm = MPI_COMM_WORLD) {
    const AlgorithmInfo info(algorithm);
    MPI_Request request;
    EXPECT_PST(PST_Alltoallv_init(in_place_ ? MPI_IN_PLACE : input_.address(), sends_.data(),
                                  places_.data(), MPI_BYTE, output_.address(), receives_.data(),
                                  places_.data(), MPI_BYTE, comm, info.get(), &request));
    return request;
  }
  void fill(int epoch) {
    output_.clear();
    GuardedBlock& filled = in_place_ ? output_ : input_;
    for (int to = 0; to < size(); ++to)
      for (std::size_t i = 0; i < pattern_(rank(), to); ++i)
        filled.data()[place(to) + i] = put_byte(rank(), to, i, epoch);
  }
  bool has_come(int epoch) const {
    std::vector<std::byte> expected(bytes());
    for (int from = 0; from < size(); ++from)
      for (std::size_t i = 0; i < pattern_(from, rank()); ++i)
        expected[place(from) + i] = put_byte(from, rank(), i, epoch);
    return std::equal(expected.begin(), expected.end(), output_.data()) && output_.borders_hold();
  }
  std::vector<GuardedBlock*> blocks() { return {&input_, &output_}; }

 private:
  std::size_t bytes() const { return stride_ * static_cast<std::size_t>(size()); }
  std::size_t place(int peer) const {
    return static_cast<std::size_t>(size() - 1 - peer) * stride_;
  }

  const PutPattern pattern_;
  const std::size_t stride_;
  const bool in_place_;
  GuardedBlock input_, output_;
  std::vector<MPI_Count> sends_, receives_;
  std::vector<MPI_Aint> places_;
};

std::size_t uneven_puts(int from, int to) {
  return static_cast<std::size_t>((from + 2 * to) % 4) * 1003;
}
std::size_t uneven_both_ways(int from, int to) {
  return static_cast<std::size_t>((from + to) % 3) * 1003;
}
std::size_t next_only(int from, int to) {
  return to == (from + 1) % size() ? 300007 : 0;
}
std::size_t first_to_last(int from, int to) {
  return from == 0 && to == size() - 1 ? 777 : 0;
}

class CollectivePuts : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (only_transport() != "peer") GTEST_SKIP() << "peer alone writes into others' buffers";
  }
  static void expect_served(const PutPattern& pattern, std::size_t most, bool in_place = false) {
    PutBlocks exchange(pattern, most, in_place);
    EXPECT_TRUE(run_epochs(
        exchange.request(GetParam()), exchange.blocks(), rounds_each,
        [&](int epoch) { exchange.fill(epoch); },
        [&](int epoch) { EXPECT_TRUE(exchange.has_come(epoch)) << "epoch " << epoch; }));
  }
};
INSTANTIATE_TEST_SUITE_P(Puts, CollectivePuts, ::testing::Values("put-lock", "put-fence"));

TEST_P(CollectivePuts, BlocksOfAnyLengthLieWhereTheyBelong) {
  expect_served(uneven_puts, 3009);
  expect_served(uneven_both_ways, 2006, true);
}

TEST_P(CollectivePuts, RanksWithNothingForEachOther) {
  expect_served(next_only, 300007);
  expect_served(first_to_last, 777);
  expect_served([](int, int) { return std::size_t{0}; }, 1);
}

struct SteppedPuts {
  PutBlocks& exchange;
  int filled = 0, checked = 0, wrong = 0;
};

// Without a synchronisation: the stream fills, runs and checks, and ranks linger now and then.
TEST_P(CollectivePuts, G10_EpochsFollowEachOtherOnTheStream) {
  for (const bool in_place : {false, true}) {
    Lane lane;
    PutBlocks exchange(uneven_both_ways, 2006, in_place);
    MPI_Request request = exchange.request(GetParam());
    EXPECT_PST(PST_Match(&request, MPI_STATUS_IGNORE));
    SteppedPuts stepped{exchange};
    const int rounds = fewer_rounds(500, 10);
    for (int round = 0; round < rounds; ++round) {
      lane.launch(
          [](void* argument) {
            auto& own = *static_cast<SteppedPuts*>(argument);
            own.exchange.fill(++own.filled);
          },
          &stepped);
      if (round % size() == rank()) enqueue_delay(lane.stream(), 20);
      EXPECT_PST(PST_Enqueue_run(lane.queue(), &request));
      lane.launch(
          [](void* argument) {
            auto& own = *static_cast<SteppedPuts*>(argument);
            own.wrong += own.exchange.has_come(++own.checked) ? 0 : 1;
          },
          &stepped);
    }
    lane.finish();
    EXPECT_EQ(stepped.checked, rounds);
    EXPECT_EQ(stepped.wrong, 0);
    EXPECT_PST(PST_Request_free(&request));
  }
}

TEST_P(CollectivePuts, TellTheirAlgorithm) {
  PutBlocks exchange(uneven_puts, 3009, false);
  MPI_Request request = exchange.request(GetParam());
  EXPECT_PST(PST_Match(&request, MPI_STATUS_IGNORE));
  char algorithm[32] = "";
  EXPECT_PST(PST_Request_algorithm(request, algorithm, sizeof algorithm));
  EXPECT_STREQ(algorithm, GetParam());
  EXPECT_EQ(transport_of(request), "peer");
  EXPECT_PST(PST_Request_free(&request));
}

// Nobody writes into the buffer of a member that is gone, and all hear of it.
TEST_P(CollectivePuts, AMemberThatHasFreedItsRequest) {
  if (size() < 2) GTEST_SKIP() << "needs two ranks";
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  PutBlocks exchange([](int, int) { return std::size_t{100}; }, 100, false);
  MPI_Request request = exchange.request(GetParam(), comm);
  EXPECT_PST(PST_Match(&request, MPI_STATUS_IGNORE));
  const bool last = rank() == size() - 1;
  if (last) EXPECT_PST(PST_Request_free(&request));
  meet();
  if (!last) {
    PST_Stream stream;
    PST_Queue queue;
    EXPECT_PST(PST_Stream_create(&stream));
    EXPECT_PST(PST_Queue_create(MPI_COMM_NULL, stream, &queue));
    int code = PST_Enqueue_run(queue, &request);
    if (code == MPI_SUCCESS) code = PST_Queue_wait(queue);
    EXPECT_EQ(kind_of(code), PST_ERROR_PEER_FREED) << describe(code);
    PST_Queue_free(&queue);
    PST_Stream_free(&stream);
  }
  meet();
  if (!last) EXPECT_PST(PST_Request_free(&request));
  MPI_Comm_free(&comm);
}

class CollectivePutErrors : public CollectivePuts {
 protected:
  void SetUp() override {
    if (size() < 2) GTEST_SKIP() << "needs two ranks";
    if (queue_type != PST_QUEUE_HOST) GTEST_SKIP() << "of memory of the host";
  }
};
INSTANTIATE_TEST_SUITE_P(Puts, CollectivePutErrors, ::testing::Values("put-lock", "put-fence"));

// One cause on all members, though it is one member's memory.
TEST_P(CollectivePutErrors, MemoryThatOthersCannotWriteTo) {
  const bool by_peer = only_transport().empty() || only_transport() == "peer";
  if (by_peer && writes_across()) GTEST_SKIP() << "the kernel writes to it";
  const AlgorithmInfo info(GetParam());
  const bool last = rank() == size() - 1;
  const auto ranks = static_cast<std::size_t>(size());
  GuardedBlock input(ranks * 8),
      output(ranks * 8, true, last ? Memory::ordinary : Memory::allocated);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Request request;
  EXPECT_PST(PST_Alltoall_init(input.address(), 8, MPI_BYTE, output.address(), 8, MPI_BYTE, comm,
                               info.get(), &request));
  EXPECT_PST_KIND(PST_Match(&request, MPI_STATUS_IGNORE), PST_ERROR_UNSUPPORTED);
  const std::string why =
      by_peer ? "rank " + std::to_string(size() - 1) +
                    ": peer: rank 0 of MPI_COMM_WORLD cannot write to the receive buffer"
              : "peer: not in PENSTOCK_TRANSPORT";
  EXPECT_NE(last_error().find(why), std::string::npos) << last_error();
  EXPECT_PST(PST_Request_free(&request));
  MPI_Comm_free(&comm);
}

}  // namespace
}  // namespace penstock::test
