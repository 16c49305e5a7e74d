// SPDX-License-Identifier: Apache-2.0
// Messages of random datatypes, another one at each end with the same signature: what arrives is
// what MPI's own unpacking leaves, and no byte beside it changes. PENSTOCK_TEST_SEED is the first
// seed, PENSTOCK_TEST_SEEDS how many messages there are.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <latch>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "conformance/exchange.hpp"
#include "penstock/penstock.hpp"
#include "support/endpoint.hpp"
#include "support/environment.hpp"
#include "support/pattern.hpp"
#include "support/random_datatype.hpp"
#include "support/rounds.hpp"
#if PENSTOCK_TEST_CUDA
#include "cuda/graph.hpp"
#endif

namespace penstock::test {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::byte untouched{0xee};
constexpr std::size_t guard = 64;
constexpr int epochs = 3;

Bytes content(std::uint64_t seed, int epoch, std::size_t bytes) {
  Bytes result(bytes);
  fill_pattern(result.data(), bytes, seed, static_cast<std::uint64_t>(epoch));
  return result;
}

// One end's buffer, with room around it. MPI looks at an image of it in memory of the host.
class Side {
 public:
  // `shift`: of the buffer, from where the memory is aligned.
  Side(MPI_Datatype datatype, int count, Memory memory, std::size_t shift)
      : datatype_(datatype),
        count_(count),
        memory_(memory),
        before_(guard + shift),
        reach_(reach_of(datatype, count)) {
    base_ = allocate(memory, bytes(), untouched);
  }
  ~Side() {
    MPI_Type_free(&datatype_);
    test::free(memory_, base_);
  }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  MPI_Datatype datatype() const { return datatype_; }
  int count() const { return count_; }
  std::byte* buffer() const { return base_ + before_ - reach_.first; }
  std::size_t bytes() const {
    return static_cast<std::size_t>(reach_.end - reach_.first) + before_ + guard;
  }
  void fill(const Bytes& packed, int count) { set(image(packed, count)); }
  void clear() { set(Bytes(bytes(), untouched)); }
  // What a message of so many elements leaves of memory that was clear.
  bool holds(const Bytes& packed, int count) const {
    Bytes found(bytes());
    copy_bytes(found.data(), base_, bytes());
    return std::memcmp(found.data(), image(packed, count).data(), bytes()) == 0;
  }

 private:
  void set(const Bytes& image) { copy_bytes(base_, image.data(), image.size()); }
  Bytes image(const Bytes& packed, int count) const {
    Bytes image(bytes(), untouched);
    int position = 0;
    MPI_Unpack(packed.data(), static_cast<int>(packed.size()), &position,
               image.data() + before_ - reach_.first, count, datatype_, MPI_COMM_SELF);
    return image;
  }

  MPI_Datatype datatype_;
  int count_;
  Memory memory_;
  std::size_t before_;
  Reach reach_;
  std::byte* base_ = nullptr;
};

struct Message {
  MPI_Datatype sent = MPI_DATATYPE_NULL;  // one element
  MPI_Datatype received = MPI_DATATYPE_NULL;
  int received_count = 1;  // what the send fills
  int room = 1;            // of the receive, in elements
  Kind kind = Kind::standard;
  Memory from = Memory::ordinary, to = Memory::ordinary;
  std::size_t sent_shift = 0, received_shift = 0;

  std::size_t bytes() const {
    int size = 0;
    MPI_Type_size(sent, &size);
    return static_cast<std::size_t>(size);
  }
};

Message random_message(std::uint64_t seed) {
  Message message;
  RandomDatatypes random(seed);
  const int sizes[] = {12, 60, 2000};
  Signature signature = random.signature(sizes[random.below(3)]);
  const Memory memories[] = {Memory::ordinary, Memory::allocated, Memory::pinned};
  message.from = memories[random.below(3)];
  message.to = memories[random.below(3)];
  message.received_count = random.from_to(1, 3);
  message.room = message.received_count + (random.below(3) == 0 ? random.below(3) : 0);
  message.received = random.datatype(signature);
  signature.count *= message.received_count;
  message.sent = random.datatype(signature);
  const Kind kinds[] = {Kind::standard, Kind::synchronous, Kind::buffered};
  message.kind = kinds[random.below(served(Kind::buffered) ? 3 : 2)];
  return message;
}

// This rank's half of a message to another, or from it.
class TypedHalf {
 public:
  TypedHalf(Message message, std::uint64_t seed, bool sends, int peer, int tag)
      : seed_(seed), sends_(sends), sent_(message.received_count), bytes_(message.bytes()) {
    if (sends) {
      side_ = std::make_unique<Side>(message.sent, 1, message.from, message.sent_shift);
      init(message.kind, peer, tag);
      MPI_Type_free(&message.received);
    } else {
      side_ = std::make_unique<Side>(message.received, message.room, message.to,
                                     message.received_shift);
      EXPECT_EQ(MPI_Recv_init(side_->buffer(), side_->count(), side_->datatype(), peer, tag,
                              MPI_COMM_WORLD, &request_),
                MPI_SUCCESS);
      MPI_Type_free(&message.sent);
    }
  }
  ~TypedHalf() {
    if (request_ != MPI_REQUEST_NULL) MPI_Request_free(&request_);
  }
  TypedHalf(const TypedHalf&) = delete;
  TypedHalf& operator=(const TypedHalf&) = delete;

  MPI_Request& request() { return request_; }
  void prepare(int epoch) {
    if (sends_)
      side_->fill(content(seed_, epoch, bytes_), 1);
    else
      side_->clear();
  }
  void check(int epoch) const {
    const Bytes packed = content(seed_, epoch, bytes_);
    EXPECT_TRUE(sends_ ? side_->holds(packed, 1) : side_->holds(packed, sent_))
        << (sends_ ? "send" : "receive") << " of seed " << seed_ << ", epoch " << epoch << ", "
        << bytes_ << " bytes";
  }

 private:
  void init(Kind kind, int peer, int tag) {
    const auto make = kind == Kind::standard      ? MPI_Send_init
                      : kind == Kind::synchronous ? MPI_Ssend_init
                                                  : MPI_Bsend_init;
    EXPECT_EQ(make(side_->buffer(), 1, side_->datatype(), peer, tag, MPI_COMM_WORLD, &request_),
              MPI_SUCCESS);
  }

  std::uint64_t seed_;
  bool sends_;
  int sent_ = 0;  // of the receiver's elements
  std::size_t bytes_ = 0;
  std::unique_ptr<Side> side_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

int messages() {
  const char* text = std::getenv("PENSTOCK_TEST_SEEDS");
  if (text != nullptr) return std::atoi(text);
  return long_run() ? 10000 : fewer_rounds(300, 3);
}

enum class Way { enqueued, captured };

// Enqueues the requests, every time anew or by a graph that was captured once. Anew on two queues
// by turns: kernels of a GPU's first queue have another form than those of its others.
class Repeated {
 public:
  Repeated(Way way, std::vector<MPI_Request>& requests) : requests_(requests) {
#if PENSTOCK_TEST_CUDA
    if (way == Way::captured)
      graph_ = std::make_unique<Graph>(lanes_[0].stream(), [this] { enqueue(lanes_[0]); });
#else
    EXPECT_EQ(way, Way::enqueued);
#endif
  }
  void run() {
#if PENSTOCK_TEST_CUDA
    if (graph_) {
      graph_->launch();
      return lanes_[0].finish();
    }
#endif
    Lane& lane = lanes_[runs_++ % 2];
    enqueue(lane);
    lane.finish();
  }

 private:
  void enqueue(Lane& lane) {
    EXPECT_PST(
        PST_Enqueue_runall(lane.queue(), static_cast<int>(requests_.size()), requests_.data()));
  }

  std::vector<MPI_Request>& requests_;
  Lane lanes_[2];
  unsigned runs_ = 0;
#if PENSTOCK_TEST_CUDA
  std::unique_ptr<Graph> graph_;
#endif
};

// Each rank sends `count` messages to the next one: those of the numbers from `first` on that are
// its own.
template <class Make>
void run_messages(std::uint64_t first, int count, Way way, Make make) {
  std::vector<std::unique_ptr<TypedHalf>> halves;
  std::vector<MPI_Request> requests;
  const int next = (rank() + 1) % size(), previous = (rank() + size() - 1) % size();
  for (int i = 0; i < count; ++i) {
    const auto number = [&](int of) { return first + static_cast<std::uint64_t>(size() * i + of); };
    const std::uint64_t ours = number(rank()), theirs = number(previous);
    halves.push_back(std::make_unique<TypedHalf>(make(ours), ours, true, next, i));
    halves.push_back(std::make_unique<TypedHalf>(make(theirs), theirs, false, previous, i));
  }
  for (const auto& half : halves) requests.push_back(half->request());
  const int all = static_cast<int>(requests.size());
  ASSERT_PST(PST_Matchall(all, requests.data(), MPI_STATUSES_IGNORE));
  Repeated repeated(way, requests);
  for (int epoch = 0; epoch < epochs; ++epoch) {
    for (const auto& half : halves) half->prepare(epoch);
    repeated.run();
    for (const auto& half : halves) half->check(epoch);
  }
}

void run_all(Way way) {
  constexpr int at_once = 20;
  const std::uint64_t first = seed();
  for (int done = 0; done < messages() && !testing::Test::HasFailure(); done += at_once) {
    SCOPED_TRACE("from seed " + std::to_string(first));
    run_messages(first + static_cast<std::uint64_t>(done * size()), at_once, way, random_message);
  }
}

TEST(Datatypes, WhatArrivesIsWhatMpiUnpacks) {
  run_all(Way::enqueued);
}

#if PENSTOCK_TEST_CUDA
TEST(Datatypes, WhatGraphsMoveIsWhatMpiUnpacks) {
  run_all(Way::captured);
}
#endif

// As MPI_BYTE, with a gap behind each.
MPI_Datatype rows(int bytes, int gap, int all) {
  MPI_Datatype result = MPI_DATATYPE_NULL;
  if (bytes == all)
    MPI_Type_contiguous(all, MPI_BYTE, &result);
  else
    MPI_Type_create_hvector(all / bytes, bytes, bytes + gap, MPI_BYTE, &result);
  MPI_Type_commit(&result);
  return result;
}

// Rows against rows and against none: small and large messages, of other alignments at both ends,
// of which the receive may have more room.
Message rows_message(std::uint64_t number) {
  constexpr int sizes[] = {3120, 3120 * 10, 3120 * fewer_rounds(50, 2)};
  constexpr int lengths[] = {1, 3, 4, 8, 12, 24, 48, 156, 208, 260, 312, 624, 0};
  constexpr int gaps[] = {16, 4, 8, 20, 3};
  constexpr std::size_t shifts[] = {0, 0, 8, 4, 2, 1};
  const int all = sizes[number % std::size(sizes)];
  const auto row = [&](std::uint64_t which) {
    const int length = lengths[which % std::size(lengths)];
    return rows(length == 0 ? all : length, gaps[which % std::size(gaps)], all);
  };
  Message message;
  message.sent = row(number);
  message.received = row(number / 2);
  message.kind = number % 4 == 0 ? Kind::synchronous : Kind::standard;
  message.sent_shift = shifts[number % std::size(shifts)];
  message.received_shift = shifts[number / 5 % std::size(shifts)];
  message.room = 1 + static_cast<int>(number / 3 % 2);
  return message;
}

void run_rows(Way way) {
  constexpr int at_once = 13, most = 78;  // all lengths on both sides, with two ranks
  for (int done = 0; done < most && !testing::Test::HasFailure(); done += at_once)
    run_messages(static_cast<std::uint64_t>(done * size()), at_once, way, rows_message);
}

TEST(Datatypes, RowsArriveAsRows) {
  run_rows(Way::enqueued);
}

#if PENSTOCK_TEST_CUDA
TEST(Datatypes, GraphsMoveRowsAsRows) {
  run_rows(Way::captured);
}
#endif

// Not even a byte of the first row.
TEST(Datatypes, AMessageOfNoBytesLeavesAReceiveWithGapsAlone) {
  MPI_Datatype column = MPI_DATATYPE_NULL;
  MPI_Type_vector(3, 1, 2, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  Side in(column, 1, Memory::ordinary, 0);
  std::byte* const out = allocate(Memory::ordinary, sizeof(double), std::byte{0});
  {
    Exchange exchange(out, 0, MPI_DOUBLE, in.buffer(), 1, column);
    ASSERT_EQ(exchange.match(), PST_ERROR_NONE) << last_error();
    for (int epoch = 0; epoch < epochs; ++epoch) exchange.run();
    EXPECT_TRUE(in.holds({}, 0));
  }
  test::free(Memory::ordinary, out);
}

// Several buffers of the program as one message, by their addresses.
TEST(Datatypes, AbsoluteAddresses) {
  int numbers[3] = {-1, -1, -1};
  double other = -1;
  const int lengths[2] = {3, 1};
  MPI_Aint addresses[2];
  MPI_Get_address(numbers, &addresses[0]);
  MPI_Get_address(&other, &addresses[1]);
  const MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE};
  MPI_Datatype both = MPI_DATATYPE_NULL;
  MPI_Type_create_struct(2, lengths, addresses, types, &both);
  MPI_Type_commit(&both);
  struct {
    int numbers[3];
    double other;
  } out = {{1, 2, 3}, 4.5};
  const MPI_Aint places[2] = {0, offsetof(decltype(out), other)};
  MPI_Datatype plain = MPI_DATATYPE_NULL;
  MPI_Type_create_struct(2, lengths, places, types, &plain);
  MPI_Type_commit(&plain);
  {
    Exchange exchange(&out, 1, plain, MPI_BOTTOM, 1, both);
    ASSERT_EQ(exchange.match(), PST_ERROR_NONE) << last_error();
    exchange.run();
  }
  for (int i = 0; i < 3; ++i) EXPECT_EQ(numbers[i], i + 1);
  EXPECT_EQ(other, 4.5);
  for (MPI_Datatype* type : {&both, &plain}) MPI_Type_free(type);
}

TEST(DatatypeOwner, ErrorsAreMpisOwnAndNotOlderOnes) {
  PST_Queue null = PST_QUEUE_NULL;
  ASSERT_NE(PST_Queue_wait(null), MPI_SUCCESS);  // leaves a text
  try {
    Datatype::vector(-1, 1, 1, MPI_INT);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), PST_ERROR_MPI);
    EXPECT_EQ(std::string(error.what()).find("queue"), std::string::npos) << error.what();
  }
}

TEST(DatatypeOwner, APartThatLeavesItsArrayIsRefused) {
  EXPECT_THROW(Datatype::subarray({6, 5, 8}, {6, 5, 2}, {0, 0, 7}, MPI_INT), std::invalid_argument);
  EXPECT_THROW(Datatype::subarray({6, 5}, {7, 5}, {0, 0}, MPI_INT), std::invalid_argument);
  EXPECT_THROW(Datatype::subarray({6, 5}, {6, 0}, {0, 0}, MPI_INT), std::invalid_argument);
  EXPECT_THROW(Datatype::subarray({6, 5}, {6, 1}, {0, -1}, MPI_INT), std::invalid_argument);
  Datatype face = Datatype::subarray({6, 5, 8}, {6, 5, 1}, {0, 0, 7}, MPI_INT);
  int bytes = 0;
  MPI_Type_size(face, &bytes);
  EXPECT_EQ(bytes, 6 * 5 * static_cast<int>(sizeof(int)));
  const Datatype moved = std::move(face);
  EXPECT_EQ(face.get(), MPI_DATATYPE_NULL);
  EXPECT_NE(moved.get(), MPI_DATATYPE_NULL);
}

// Both threads find the datatype, and the one that it is made of, unknown.
TEST(Datatypes, TwoThreadsMakeTheFirstRequestsOfOne) {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  if (level != MPI_THREAD_MULTIPLE) GTEST_SKIP() << "needs MPI_THREAD_MULTIPLE";
  constexpr int elements = 6, span = 18;
  const std::array<std::array<int, elements>, 2> sent{{{1, 2, 3, 4, 5, 6}, {7, 8, 9, 10, 11, 12}}};
  for (int round = 0; round < 50; ++round) {
    MPI_Datatype column = MPI_DATATYPE_NULL, columns = MPI_DATATYPE_NULL;
    MPI_Type_vector(3, 1, 3, MPI_INT, &column);
    MPI_Type_create_hvector(2, 1, 9 * sizeof(int), column, &columns);
    MPI_Type_commit(&columns);
    std::array<std::array<int, span>, 2> received{};
    std::array<std::unique_ptr<Exchange>, 2> exchanges;
    std::array<std::thread, 2> threads;
    std::latch both(2);
    for (std::size_t i = 0; i < 2; ++i)
      threads[i] = std::thread([&, i] {
        both.arrive_and_wait();
        exchanges[i] = std::make_unique<Exchange>(sent[i].data(), elements, MPI_INT,
                                                  received[i].data(), 1, columns);
      });
    for (std::thread& thread : threads) thread.join();
    for (MPI_Datatype* type : {&columns, &column}) MPI_Type_free(type);
    for (std::size_t i = 0; i < 2; ++i) {
      ASSERT_EQ(exchanges[i]->match(), PST_ERROR_NONE) << last_error();
      exchanges[i]->run();
      for (std::size_t place = 0; place < span; ++place)
        ASSERT_EQ(received[i][place], place % 3 == 0 ? sent[i][place / 3] : 0);
    }
  }
}

// Blocks of so many integers, with gaps of other lengths: the list of segments has one for each.
void expect_blocks_arrive(int pieces, int block, const std::vector<Memory>& memories) {
  std::mt19937_64 random(7);
  std::vector<int> places(static_cast<std::size_t>(pieces));
  int end = 0;
  for (int& place : places) {
    place = end + static_cast<int>(random() % 3);
    end = place + block;
  }
  MPI_Datatype scattered = MPI_DATATYPE_NULL;
  MPI_Type_create_indexed_block(pieces, block, places.data(), MPI_INT, &scattered);
  MPI_Type_commit(&scattered);
  const auto bytes = static_cast<std::size_t>(end) * sizeof(int);
  std::vector<int> sent(static_cast<std::size_t>(end)), expected(sent.size()), found(sent.size());
  fill_pattern(reinterpret_cast<std::byte*>(sent.data()), bytes, 7, 1);
  std::memset(expected.data(), std::to_integer<int>(untouched), bytes);
  for (const int place : places) std::copy_n(sent.begin() + place, block, expected.begin() + place);
  for (const Memory memory : memories) {
    std::byte* const out = allocate(memory, bytes, std::byte{0});
    std::byte* const in = allocate(memory, bytes, untouched);
    copy_bytes(out, reinterpret_cast<const std::byte*>(sent.data()), bytes);
    {
      Exchange exchange(out, 1, scattered, in, 1, scattered);
      ASSERT_EQ(exchange.match(), PST_ERROR_NONE) << last_error();
      exchange.run();
    }
    copy_bytes(reinterpret_cast<std::byte*>(found.data()), in, bytes);
    EXPECT_EQ(found, expected);
    test::free(memory, out);
    test::free(memory, in);
  }
  MPI_Type_free(&scattered);
}

// The list is too long to travel, so that no end knows the other's.
TEST(Datatypes, ALongListOfPieces) {
  expect_blocks_arrive(40'000, 1, {Memory::ordinary, Memory::allocated});
}
// It is as long, but the message is large beside it.
TEST(Datatypes, ALongListOfLargePieces) {
  std::vector<Memory> memories{Memory::ordinary};
  if (!sanitized) memories.push_back(Memory::allocated);
  expect_blocks_arrive(17'000, 700, memories);
}

}  // namespace
}  // namespace penstock::test
