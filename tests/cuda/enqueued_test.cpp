// SPDX-License-Identifier: Apache-2.0
// Enqueued messages in memory of a GPU, which travel through pinned memory of the queue. Q numbers
// are those of docs/queue.md.
#include <cstdlib>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "cuda/device_messages.hpp"
#include "cuda/graph.hpp"

namespace penstock::test {
namespace {

TEST(EnqueuedOnGpu, Q6_EveryByteOfEveryRoundInEachKindOfMemory) {
  for (const Memory memory : {Memory::ordinary, Memory::allocated, Memory::pinned}) {
    for (const std::size_t bytes : enqueued_sizes()) {
      DeviceLane lane;
      run_checked_rounds(lane, partner(), 1, bytes, memory, 40, 40);
    }
  }
}

// More messages than a kernel takes, and several triggers before a wait.
TEST(EnqueuedOnGpu, Q4_ManyMessagesAndSeveralTriggersBeforeAWait) {
  const int peer = partner();
  DeviceLane lane;
  const unsigned count = 70;
  std::vector<std::unique_ptr<DeviceBytes>> out, in;
  const auto bytes_of = [](unsigned i) {
    return std::size_t{i * 997 % 9000 + (i % 9 == 0) * 90000};
  };
  for (unsigned i = 0; i < count; ++i) {
    out.push_back(std::make_unique<DeviceBytes>(message(bytes_of(i), rank(), i)));
    in.push_back(std::make_unique<DeviceBytes>(bytes_of(i)));
  }
  for (unsigned i = 0; i < count; ++i) {
    lane.receive(*in[i], peer, static_cast<int>(i));
    lane.send(*out[i], peer, static_cast<int>(i));
    if (i == 40 || i == 41) lane.trigger();
  }
  lane.trigger();
  lane.wait();
  lane.finish();
  for (unsigned i = 0; i < count; ++i) in[i]->expect(peer, i);
}

// The stream's own pieces are used again behind each wait: far more than they hold goes through.
TEST(EnqueuedOnGpu, Q12_RunningAheadTakesNoMemory) {
  const int peer = partner();
  DeviceLane lane;
  const std::size_t bytes = std::size_t{1} << 20;
  const DeviceBytes out(message(bytes, rank(), 5)), in(bytes);
  for (int round = 0; round < 100; ++round) {
    lane.send(out, peer, 2);
    lane.receive(in, peer, 2);
    lane.trigger();
    lane.wait();
  }
  lane.finish();
  in.expect(peer, 5);
}

// A program that only completes requests never waits on the stream; what has ended makes room.
TEST(EnqueuedOnGpu, Q8_RequestsAloneMakeRoom) {
  const int peer = partner();
  DeviceLane lane;
  const std::size_t bytes = std::size_t{1} << 20;
  const DeviceBytes in(bytes);
  for (unsigned round = 0; round < 80; ++round) {
    const DeviceBytes out(message(bytes, rank(), round));
    MPI_Request requests[2];
    lane.receive(in, peer, 3, &requests[0]);
    lane.send(out, peer, 3, &requests[1]);
    lane.trigger();
    EXPECT_EQ(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    in.expect(peer, round);
    if (HasFailure()) return;
  }
  lane.finish();
}

// The program's thread has taken what came, and the buffer is the program's again: a wait of the
// stream that comes later must not write it once more. Otherwise the stream's wait takes it.
TEST(EnqueuedOnGpu, Q8_ARequestCompletesWhenTheBufferHasItsMessage) {
  const int peer = partner();
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{5000}, std::size_t{300000}}) {
    DeviceLane lane;
    const DeviceBytes in(bytes);
    for (unsigned round = 0; round < 60; ++round) {
      const DeviceBytes out(message(bytes, rank(), round));
      MPI_Request requests[2];
      MPI_Status status;
      lane.receive(in, peer, 4, &requests[0]);
      lane.send(out, peer, 4, &requests[1]);
      lane.trigger();
      const bool stream_first = round % 2 == 0;
      if (stream_first) lane.wait();
      EXPECT_EQ(MPI_Wait(&requests[0], &status), MPI_SUCCESS);
      expect_status(status, peer, 4, bytes);
      in.expect(peer, round);
      const Bytes own(bytes, std::byte{0x11});
      copy_bytes(in.data(), own.data(), bytes);
      if (!stream_first) lane.wait();
      lane.finish();
      EXPECT_EQ(check_value(in.content().data(), bytes, std::byte{0x11}), "");
      EXPECT_EQ(MPI_Wait(&requests[1], MPI_STATUS_IGNORE), MPI_SUCCESS);
      if (HasFailure()) return;
    }
  }
}

// What lies behind a message that is shorter than its receive stays as it was: taken by the stream
// and by the program, without gaps, small and large, and with gaps.
TEST(EnqueuedOnGpu, Q3_M6_AShorterMessageLeavesTheRestOfTheBuffer) {
  const int peer = partner();
  MPI_Datatype column;  // of single bytes, 8 apart
  MPI_Type_vector(1000, 1, 8, MPI_BYTE, &column);
  MPI_Type_commit(&column);
  for (const int come : {0, 5, 16, 700}) {
    for (const bool with_request : {false, true}) {
      DeviceLane lane;
      const DeviceBytes small(1000), large(100000), gaps(8000);
      const DeviceBytes out(message(1000, rank(), 1));
      MPI_Request requests[3];
      const auto request = [&](int i) { return with_request ? &requests[i] : nullptr; };
      lane.receive(small, peer, 1, request(0));
      lane.receive(large, peer, 2, request(1));
      EXPECT_PST(PST_Enqueue_recv(gaps.data(), 1, column, peer, 3, MPI_COMM_NULL, lane.queue(),
                                  request(2)));
      for (int tag = 1; tag <= 3; ++tag)
        EXPECT_PST(PST_Enqueue_send(out.data(), come, MPI_BYTE, peer, tag, MPI_COMM_NULL,
                                    lane.queue(), nullptr));
      lane.trigger();
      if (with_request) {
        EXPECT_EQ(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
      }
      lane.wait();
      lane.finish();
      const Bytes sent = message(1000, peer, 1);
      const auto expect_head = [&](const DeviceBytes& in, std::size_t stride) {
        Bytes expected(in.size(), std::byte{0xee});
        for (std::size_t i = 0; i < static_cast<std::size_t>(come); ++i)
          expected[i * stride] = sent[i];
        EXPECT_EQ(in.content(), expected) << come << " of " << in.size() << " bytes";
      };
      expect_head(small, 1);
      expect_head(large, 1);
      expect_head(gaps, 8);
    }
  }
  MPI_Type_free(&column);
}

TEST(EnqueuedOnGpu, Q8_RequestsThatAreFreedOrNeverCompleted) {
  const int peer = partner();
  DeviceLane lane;
  const DeviceBytes out(message(3000, rank(), 1)), in(3000), other(3000);
  MPI_Request freed[2], kept[2];
  lane.receive(in, peer, 5, &freed[0]);
  lane.send(out, peer, 5, &freed[1]);
  lane.receive(other, peer, 6, &kept[0]);
  lane.send(out, peer, 6, &kept[1]);
  for (MPI_Request& each : freed) EXPECT_EQ(MPI_Request_free(&each), MPI_SUCCESS);
  lane.trigger();
  lane.finish();
  in.expect(peer, 1);
  other.expect(peer, 1);
}

// One end on a GPU, the other a plain call of MPI on the host, both ways.
TEST(EnqueuedOnGpu, Q2_PlainCallsOfTheHostMeetThem) {
  const int peer = partner();
  if (peer == rank()) return;
  unsigned number = 0;
  for (const std::size_t bytes : enqueued_sizes()) {
    for (const bool even_is_plain : {true, false}) {
      ++number;
      if ((rank() % 2 == 0) == even_is_plain) {
        const Bytes out = message(bytes, rank(), number);
        Bytes in(bytes);
        MPI_Status status;
        MPI_Request sent;
        MPI_Isend(out.data(), static_cast<int>(bytes), MPI_BYTE, peer, 7, MPI_COMM_WORLD, &sent);
        MPI_Recv(in.data(), static_cast<int>(bytes), MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG,
                 MPI_COMM_WORLD, &status);
        expect_status(status, peer, 8, bytes);
        expect_message(in, peer, number);
        MPI_Wait(&sent, MPI_STATUS_IGNORE);
      } else {
        DeviceLane lane;
        const DeviceBytes out(message(bytes, rank(), number)), in(bytes);
        lane.receive(in, peer, 7);
        lane.send(out, peer, 8);
        lane.trigger();
        lane.wait();
        lane.finish();
        in.expect(peer, number);
      }
      meet();
    }
  }
}

// One piece that a loop describes, and several: more of both than a kernel packs. The other end
// receives ints without gaps, on the host.
TEST(EnqueuedOnGpu, AnyDatatypeIsPacked) {
  const int peer = partner();
  MPI_Datatype column, scattered;
  MPI_Type_vector(8, 1, 8, MPI_INT, &column);
  const int lengths[3] = {1, 3, 2}, displacements[3] = {50, 2, 20};
  MPI_Type_indexed(3, lengths, displacements, MPI_INT, &scattered);
  for (MPI_Datatype* const type : {&column, &scattered}) {
    MPI_Type_commit(type);
    std::vector<int> numbers(64);
    std::iota(numbers.begin(), numbers.end(), 1000 * rank());
    const std::size_t bytes = numbers.size() * sizeof(int);
    const DeviceBytes out(bytes);
    copy_bytes(out.data(), reinterpret_cast<const std::byte*>(numbers.data()), bytes);
    for (const bool with_requests : {false, true}) {
      const int count = 20;
      std::vector<std::unique_ptr<DeviceBytes>> in;
      std::vector<MPI_Request> requests(count);
      DeviceLane lane;
      for (int i = 0; i < count; ++i) {
        in.push_back(std::make_unique<DeviceBytes>(Bytes(bytes)));
        EXPECT_PST(PST_Enqueue_recv(in.back()->data(), 1, *type, peer, i, MPI_COMM_NULL,
                                    lane.queue(), with_requests ? &requests[i] : nullptr));
        EXPECT_PST(
            PST_Enqueue_send(out.data(), 1, *type, peer, i, MPI_COMM_NULL, lane.queue(), nullptr));
      }
      lane.trigger();
      if (with_requests) {
        EXPECT_EQ(MPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
      }
      lane.wait();
      lane.finish();
      std::vector<int> expected(64), packed(64);
      for (int& each : numbers) each += 1000 * (peer - rank());
      int position = 0, packed_bytes = 0;
      MPI_Pack_size(1, *type, MPI_COMM_WORLD, &packed_bytes);
      MPI_Pack(numbers.data(), 1, *type, packed.data(), packed_bytes, &position, MPI_COMM_WORLD);
      position = 0;
      MPI_Unpack(packed.data(), packed_bytes, &position, expected.data(), 1, *type, MPI_COMM_WORLD);
      for (int& each : numbers) each -= 1000 * (peer - rank());
      for (const auto& each : in) {
        std::vector<int> found(64);
        copy_bytes(reinterpret_cast<std::byte*>(found.data()), each->data(), bytes);
        EXPECT_EQ(found, expected);
      }
    }
    MPI_Type_free(type);
  }
}

// 64 MiB hold one message of 48 MiB until a wait.
TEST(EnqueuedOnGpu, Q11_PinnedMemoryIsFullUntilAWait) {
  const ErrorsReturn errors;
  DeviceLane lane;
  const DeviceBytes whole(std::size_t{48} << 20);
  Bytes host(whole.size());
  for (int round = 0; round < 2; ++round) {
    const auto send = [&] {
      return PST_Enqueue_send(whole.data(), whole.count(), MPI_BYTE, rank(), 1, MPI_COMM_NULL,
                              lane.queue(), nullptr);
    };
    EXPECT_PST(send());
    EXPECT_PST_KIND(send(), PST_ERROR_RESOURCES);
    EXPECT_NE(last_error().find("PENSTOCK_QUEUE_STAGING"), std::string::npos) << last_error();
    MPI_Request plain;
    MPI_Irecv(host.data(), whole.count(), MPI_BYTE, rank(), 1, MPI_COMM_WORLD, &plain);
    lane.trigger();
    lane.wait();
    MPI_Wait(&plain, MPI_STATUS_IGNORE);
  }
  lane.finish();
  EXPECT_EQ(check_value(host.data(), host.size(), std::byte{0xee}), "");
}

TEST(EnqueuedOnGpu, Q11_ATriggerInACaptureIsRefused) {
  const ErrorsReturn errors;
  DeviceLane lane;
  const DeviceBytes buffer(8);
  lane.receive(buffer, MPI_PROC_NULL, 1);
  cudaGraph_t graph = nullptr;
  EXPECT_CUDA(cudaStreamBeginCapture(lane.stream(), cudaStreamCaptureModeThreadLocal));
  EXPECT_PST_KIND(PST_Enqueue_trigger(lane.queue()), PST_ERROR_UNSUPPORTED);
  EXPECT_CUDA(cudaStreamEndCapture(lane.stream(), &graph));
  EXPECT_CUDA(cudaGraphDestroy(graph));
  lane.trigger();
  lane.finish();
}

TEST(EnqueuedOnGpu, Q11_MemoryOfAnotherGpuIsRefused) {
  int devices = 0, own = 0;
  EXPECT_CUDA(cudaGetDeviceCount(&devices));
  EXPECT_CUDA(cudaGetDevice(&own));
  if (devices < 2) GTEST_SKIP() << "there is one GPU";
  const ErrorsReturn errors;
  DeviceLane lane;
  EXPECT_CUDA(cudaSetDevice((own + 1) % devices));
  {
    const DeviceBytes elsewhere(8);
    EXPECT_CUDA(cudaSetDevice(own));
    EXPECT_PST_KIND(PST_Enqueue_send(elsewhere.data(), 8, MPI_BYTE, rank(), 1, MPI_COMM_NULL,
                                     lane.queue(), nullptr),
                    PST_ERROR_UNSUPPORTED);
  }
  EXPECT_CUDA(cudaSetDevice(own));
}

// The stream's wait ends, with what stood behind it, and the buffer of what never came is as it
// was.
TEST(EnqueuedOnGpu, Q13_AFailureEndsTheStreamsWait) {
  const int peer = partner();
  const ErrorsReturn errors;
  for (const bool behind_the_wait : {true, false}) {
    // Open MPI 4.1 tells no truncation of a message to the own process whose receive was there
    // before.
    if (behind_the_wait && peer == rank()) {
      for (int i = 0; i < 2; ++i) meet();
      continue;
    }
    DeviceLane lane;
    const Bytes out = message(100, rank(), 1);
    const DeviceBytes in(60), never(10);
    MPI_Request sent;
    if (!behind_the_wait) MPI_Isend(out.data(), 100, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &sent);
    const DeviceBytes open(10);
    MPI_Request requests[2];
    lane.receive(in, peer, 1);
    lane.receive(never, peer, 2, &requests[0]);
    lane.trigger();
    lane.wait();
    lane.send(open, peer, 3, &requests[1]);
    meet();
    if (behind_the_wait) MPI_Isend(out.data(), 100, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &sent);
    lane.run_dry();
    EXPECT_PST_KIND(PST_Queue_wait(lane.queue()), PST_ERROR_TRUNCATE);
    EXPECT_PST_KIND(PST_Enqueue_trigger(lane.queue()), PST_ERROR_TRUNCATE);
    for (MPI_Request& each : requests)
      EXPECT_PST_KIND(MPI_Wait(&each, MPI_STATUS_IGNORE), PST_ERROR_TRUNCATE);
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    EXPECT_EQ(check_value(never.content().data(), 10, std::byte{0xee}), "");
    meet();
  }
}

// Many queues wait on the device at once for what one stream sends behind long work. A queue's
// memory is had from the driver, which may wait for the device: all are made before the first one
// waits. In host order the sends come first, as streams may share a hardware connection
// (docs/semantics.md).
TEST(EnqueuedOnGpu, Q14_ManyQueuesWaitAtOnce) {
  const int peer = partner();
  const unsigned count = 40;
  std::vector<std::unique_ptr<DeviceLane>> lanes;
  std::vector<std::unique_ptr<DeviceBytes>> out, in;
  DeviceLane last;
  for (unsigned i = 0; i < count; ++i) {
    lanes.push_back(std::make_unique<DeviceLane>());
    out.push_back(std::make_unique<DeviceBytes>(message(200000, rank(), i)));
    in.push_back(std::make_unique<DeviceBytes>(200000));
  }
  meet();
  enqueue_delay(last.stream(), 20000);
  for (unsigned i = 0; i < count; ++i) last.send(*out[i], peer, static_cast<int>(i));
  last.trigger();
  for (unsigned i = 0; i < count; ++i) {
    lanes[i]->receive(*in[i], peer, static_cast<int>(i));
    lanes[i]->trigger();
    lanes[i]->wait();
  }
  last.finish();
  for (auto& lane : lanes) lane->finish();
  for (unsigned i = 0; i < count; ++i) in[i]->expect(peer, i);
}

}  // namespace
}  // namespace penstock::test
