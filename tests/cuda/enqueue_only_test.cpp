// SPDX-License-Identifier: Apache-2.0
// Messages in memory of a GPU on a communicator whose messages are enqueued at both ends: kernels
// put them into lanes and take them out, and the host moves what finds no slot. Q numbers are those
// of docs/queue.md.
#include <memory>
#include <numeric>
#include <vector>

#include "conformance/promised_comm.hpp"
#include "cuda/device_messages.hpp"

namespace penstock::test {
namespace {

constexpr std::size_t largest_slot = std::size_t{1} << 20;

// Around what the head of a slot carries, what one block sends, and what a slot holds.
std::vector<std::size_t> lane_sizes() {
  return {0, 1, 7, 8, 55, 56, 57, 64, 1000, 65536, 70001, largest_slot, largest_slot + 1};
}

class PromisedOnGpu : public ::testing::Test {
 protected:
  // From one message of the envelope to the next the sizes change.
  static std::size_t mixed_size(unsigned i) { return lane_sizes()[i * 7 % lane_sizes().size()]; }
  using Buffers = std::vector<std::unique_ptr<DeviceBytes>>;
  template <class Size>
  static Buffers filled(unsigned count, Size size_of) {
    Buffers all;
    for (unsigned i = 0; i < count; ++i)
      all.push_back(std::make_unique<DeviceBytes>(message(size_of(i), rank(), i)));
    return all;
  }
  template <class Size>
  static Buffers empty(unsigned count, Size size_of) {
    Buffers all;
    for (unsigned i = 0; i < count; ++i) all.push_back(std::make_unique<DeviceBytes>(size_of(i)));
    return all;
  }
  static void expect_all(const Buffers& received, int from) {
    for (unsigned i = 0; i < received.size() && !HasFailure(); ++i) received[i]->expect(from, i);
  }

  const PromisedComm comm_;
  const int peer_ = partner();
};

TEST_F(PromisedOnGpu, Q6_EveryByteOfEveryRound) {
  for (const std::size_t bytes : lane_sizes()) {
    DeviceLane lane(comm_);
    run_checked_rounds(lane, peer_, 1, bytes, Memory::ordinary, 200, 200);
    if (HasFailure()) return;
  }
}

// More messages of a tag than there are slots, in one trigger and in several.
TEST_F(PromisedOnGpu, Q16_MoreMessagesThanSlots) {
  const unsigned count = 70;
  const auto size_of = [](unsigned i) { return std::size_t{i * 997 % 9000}; };
  for (const unsigned at_once : {count, 1u, 7u}) {
    DeviceLane lane(comm_);
    for (unsigned round = 0; round < 3; ++round) {
      const Buffers out = filled(count, size_of), in = empty(count, size_of);
      for (unsigned i = 0; i < count; ++i) {
        lane.send(*out[i], peer_, 1);
        lane.receive(*in[i], peer_, 1);
        if (i % at_once == at_once - 1) lane.trigger();
      }
      lane.trigger();
      lane.wait();
      lane.finish();
      expect_all(in, peer_);
    }
  }
}

TEST_F(PromisedOnGpu, Q16_SendsAheadOfTheirReceivesFillTheirSlots) {
  DeviceLane sends(comm_), receives(comm_);
  const unsigned count = 60;
  for (int round = 0; round < 3; ++round) {
    const Buffers out = filled(count, mixed_size), in = empty(count, mixed_size);
    for (const auto& each : out) {
      sends.send(*each, peer_, 2);
      sends.trigger();
    }
    meet();
    for (const auto& each : in) {
      receives.receive(*each, peer_, 2);
      receives.trigger();
    }
    receives.wait();
    receives.finish();
    sends.finish();
    expect_all(in, peer_);
  }
}

// The stream with the receives is waited for when its peer has had an answer to all of them, which
// comes behind its sends: these do not stop their stream, though slots are full.
TEST_F(PromisedOnGpu, Q16_ReceivesNeedNoWaitOfTheirStream) {
  const unsigned count = 40;
  const auto size_of = [](unsigned) { return std::size_t{500}; };
  DeviceLane lane(comm_), receives(comm_);
  for (int round = 0; round < 5; ++round) {
    const Buffers out = filled(count, size_of), in = empty(count, size_of);
    const DeviceBytes answer(message(8, rank(), 99)), answered(8);
    for (const auto& each : in) {
      receives.receive(*each, peer_, 3);
      receives.trigger();
    }
    for (const auto& each : out) {
      lane.send(*each, peer_, 3);
      lane.trigger();
    }
    lane.wait();
    lane.send(answer, peer_, 4);
    lane.receive(answered, peer_, 4);
    lane.trigger();
    lane.wait();
    lane.finish();
    answered.expect(peer_, 99);
    receives.wait();
    receives.finish();
    expect_all(in, peer_);
  }
}

TEST_F(PromisedOnGpu, Q16_AnEnvelopeMayChangeItsQueue) {
  std::vector<std::unique_ptr<DeviceLane>> lanes;
  for (int i = 0; i < 4; ++i) lanes.push_back(std::make_unique<DeviceLane>(comm_));
  auto random = generator(std::uint64_t{7} + static_cast<std::uint64_t>(rank()));
  const unsigned count = 300;
  const Buffers out = filled(count, mixed_size), in = empty(count, mixed_size);
  for (unsigned i = 0; i < count; ++i) {
    DeviceLane& from = *lanes[random() % 4];
    from.send(*out[i], peer_, 2);
    from.trigger();
    DeviceLane& to = *lanes[random() % 4];
    to.receive(*in[i], peer_, 2);
    to.trigger();
    if (random() % 8 == 0) to.wait();
  }
  for (const auto& lane : lanes) lane->wait();
  for (const auto& lane : lanes) lane->finish();
  expect_all(in, peer_);
}

// Each larger message comes when the slots there are have become too small.
TEST_F(PromisedOnGpu, Q16_LargerMessagesFindLargerSlots) {
  DeviceLane lane(comm_);
  for (const std::size_t bytes : {8, 100, 5000, 300000, 8, 1 << 20, 70, 3 << 20, 9}) {
    for (unsigned round = 0; round < 10; ++round) {
      const DeviceBytes out(message(bytes, rank(), round)), in(bytes);
      lane.send(out, peer_, 5);
      lane.receive(in, peer_, 5);
      lane.trigger();
      lane.wait();
      lane.finish();
      in.expect(peer_, round);
    }
  }
}

// Where a tag's receives are in the GPU's memory and in the host's, of queues over the GPU's
// streams and the host's, a sender on the GPU knows nothing of that.
TEST_F(PromisedOnGpu, Q16_EachReceiveMayBeInMemoryOfItsOwnKind) {
  void* host_stream = nullptr;
  PST_Queue host_queue = PST_QUEUE_NULL;
  EXPECT_PST(PST_Stream_create(reinterpret_cast<PST_Stream*>(&host_stream)));
  EXPECT_PST(PST_Queue_create(comm_, host_stream, &host_queue));
  DeviceLane lane(comm_), sends(comm_);
  for (unsigned round = 0; round < 60; ++round) {
    const std::size_t bytes = mixed_size(round);
    const DeviceBytes out(message(bytes, rank(), round)), in(bytes);
    const Bytes host_out = message(bytes, rank(), round);
    Bytes host_in(bytes);
    if (round % 4 == 3)
      static_cast<EnqueueLane&>(sends).send(host_out, peer_, 6);
    else
      sends.send(out, peer_, 6);
    sends.trigger();
    if (round % 3 == 0) {
      lane.receive(in, peer_, 6);
      lane.trigger();
      lane.wait();
      lane.finish();
      in.expect(peer_, round);
    } else if (round % 3 == 1) {
      static_cast<EnqueueLane&>(lane).receive(host_in, peer_, 6);
      lane.trigger();
      lane.wait();
      lane.finish();
      expect_message(host_in, peer_, round);
    } else {
      EXPECT_PST(PST_Enqueue_recv(host_in.data(), static_cast<int>(bytes), MPI_BYTE, peer_, 6,
                                  MPI_COMM_NULL, host_queue, nullptr));
      EXPECT_PST(PST_Enqueue_trigger(host_queue));
      EXPECT_PST(PST_Queue_wait(host_queue));
      expect_message(host_in, peer_, round);
    }
    sends.finish();
    if (HasFailure()) break;
  }
  EXPECT_PST(PST_Queue_free(&host_queue));
  auto stream = reinterpret_cast<PST_Stream>(host_stream);
  EXPECT_PST(PST_Stream_free(&stream));
}

// With and without a wait of the stream, enqueued before the call or behind it.
TEST_F(PromisedOnGpu, Q8_RequestsTellOfTheirMessages) {
  DeviceLane lane(comm_);
  for (unsigned round = 0; round < 80; ++round) {
    const std::size_t bytes = mixed_size(round);
    const DeviceBytes out(message(bytes, rank(), round)), in(bytes + 5);
    MPI_Request requests[2];
    MPI_Status status;
    lane.receive(in, peer_, 9, &requests[0]);
    lane.send(out, peer_, 9, &requests[1]);
    int done = 1;
    EXPECT_EQ(MPI_Test(&requests[0], &done, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(done, 0);
    lane.trigger();
    if (round % 3 == 0) lane.wait();
    EXPECT_EQ(MPI_Wait(&requests[0], &status), MPI_SUCCESS);
    expect_status(status, peer_, 9, bytes);
    EXPECT_EQ(MPI_Wait(&requests[1], MPI_STATUS_IGNORE), MPI_SUCCESS);
    if (round % 3 == 1) lane.wait();
    lane.finish();
    Bytes content = in.content();
    EXPECT_EQ(check_value(content.data() + bytes, 5, std::byte{0xee}), "");
    content.resize(bytes);
    expect_message(content, peer_, round);
    if (HasFailure()) return;
  }
}

// The program asks once, finds nothing, enqueues a wait, and calls nothing of MPI any more.
TEST_F(PromisedOnGpu, Q8_AWaitMayFollowATestThatFoundNothing) {
  DeviceLane lane(comm_), sends(comm_);
  for (unsigned round = 0; round < 20; ++round) {
    const DeviceBytes out(message(700, rank(), round)), in(700);
    MPI_Request request;
    int done = 0;
    lane.receive(in, peer_, 9, &request);
    lane.trigger();
    EXPECT_EQ(MPI_Test(&request, &done, MPI_STATUS_IGNORE), MPI_SUCCESS);
    meet();
    lane.wait();
    sends.send(out, peer_, 9);
    sends.trigger();
    lane.run_dry();
    in.expect(peer_, round);
    if (!done) {
      EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    }
    sends.finish();
    meet();
  }
}

// Gaps at the sender, at the receiver, and at both.
TEST_F(PromisedOnGpu, AnyDatatype) {
  MPI_Datatype column;
  MPI_Type_vector(8, 1, 8, MPI_INT, &column);
  MPI_Type_commit(&column);
  std::vector<int> numbers(64);
  std::iota(numbers.begin(), numbers.end(), 1000 * rank());
  const std::size_t bytes = numbers.size() * sizeof(int);
  const DeviceBytes out(bytes);
  copy_bytes(out.data(), reinterpret_cast<const std::byte*>(numbers.data()), bytes);
  DeviceLane lane(comm_);
  for (int round = 0; round < 24; ++round) {
    const bool from_column = round % 2 == 0, to_column = round % 3 != 0;
    const DeviceBytes in{Bytes(bytes)};
    EXPECT_PST(PST_Enqueue_recv(in.data(), to_column ? 1 : 8, to_column ? column : MPI_INT, peer_,
                                1, MPI_COMM_NULL, lane.queue(), nullptr));
    EXPECT_PST(PST_Enqueue_send(out.data(), from_column ? 1 : 8, from_column ? column : MPI_INT,
                                peer_, 1, MPI_COMM_NULL, lane.queue(), nullptr));
    lane.trigger();
    lane.wait();
    lane.finish();
    std::vector<int> found(64);
    copy_bytes(reinterpret_cast<std::byte*>(found.data()), in.data(), bytes);
    for (int i = 0; i < 8; ++i)
      EXPECT_EQ(found[static_cast<std::size_t>(to_column ? 8 * i : i)],
                1000 * peer_ + (from_column ? 8 * i : i));
    if (HasFailure()) break;
  }
  MPI_Type_free(&column);
}

// A shorter message leaves the rest of the buffer.
TEST_F(PromisedOnGpu, Q3_M6_AShorterMessageLeavesTheRestOfTheBuffer) {
  DeviceLane lane(comm_);
  for (const std::size_t bytes : {0, 3, 56, 57, 3000, 100000}) {
    const DeviceBytes out(message(bytes, rank(), 1)), in(200000);
    lane.receive(in, peer_, 1);
    lane.send(out, peer_, 1);
    lane.trigger();
    lane.wait();
    lane.finish();
    Bytes content = in.content();
    EXPECT_EQ(check_value(content.data() + bytes, content.size() - bytes, std::byte{0xee}), "");
    content.resize(bytes);
    expect_message(content, peer_, 1);
  }
}

TEST_F(PromisedOnGpu, Q13_AMessageThatIsTooLongFailsItsReceive) {
  const ErrorsReturn errors;
  for (const std::size_t bytes : {std::size_t{30}, std::size_t{500}, std::size_t{300000}}) {
    const int tag = static_cast<int>(bytes);
    for (const bool by_stream : {true, false}) {
      DeviceLane sends(comm_), receives(comm_), later(comm_);
      const DeviceBytes out(message(bytes, rank(), 1)), in(10), all(bytes);
      MPI_Request request;
      // So that there are slots for it.
      receives.receive(all, peer_, tag);
      receives.trigger();
      sends.send(out, peer_, tag);
      sends.trigger();
      receives.wait();
      receives.finish();
      meet();
      receives.receive(in, peer_, tag, by_stream ? nullptr : &request);
      receives.trigger();
      if (by_stream) receives.wait();
      sends.send(out, peer_, tag);
      sends.trigger();
      if (!by_stream) {
        EXPECT_PST_KIND(MPI_Wait(&request, MPI_STATUS_IGNORE), PST_ERROR_TRUNCATE);
      }
      receives.run_dry();
      EXPECT_PST_KIND(PST_Queue_wait(receives.queue()), PST_ERROR_TRUNCATE);
      sends.finish();
      EXPECT_EQ(check_value(in.content().data(), 10, std::byte{0xee}), "");
      // It was a receive's, and nothing is lost: the next one comes.
      sends.send(out, peer_, tag);
      sends.trigger();
      later.receive(all, peer_, tag);
      later.trigger();
      later.wait();
      later.finish();
      all.expect(peer_, 1);
      sends.finish();
      meet();
    }
  }
}

TEST_F(PromisedOnGpu, Q16_LongRun) {
  DeviceLane lane(comm_);
  run_checked_rounds(lane, peer_, 10, 8, Memory::ordinary, long_run() ? 1000000 : 3000, 1000);
}

// Promises come and go, with their lanes.
TEST_F(PromisedOnGpu, Q16_OneQueueServesCommunicatorsThatComeAndGo) {
  DeviceLane lane;
  for (unsigned round = 0; round < 12; ++round) {
    const PromisedComm comm;
    const DeviceBytes out(message(100, rank(), round)), in(100);
    EXPECT_PST(PST_Enqueue_recv(in.data(), 100, MPI_BYTE, peer_, 1, comm, lane.queue(), nullptr));
    EXPECT_PST(PST_Enqueue_send(out.data(), 100, MPI_BYTE, peer_, 1, comm, lane.queue(), nullptr));
    lane.trigger();
    lane.wait();
    lane.finish();
    in.expect(peer_, round);
  }
}

}  // namespace
}  // namespace penstock::test
