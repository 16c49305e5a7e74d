// SPDX-License-Identifier: Apache-2.0
// Waits that would fill a GPU: however many queues wait, for messages of whatever size, what they
// wait for still finds room, as the program would end if each enqueue were a call of MPI.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cuda/graph.hpp"
#include "support/cuda/expect.hpp"
#include "support/cuda/kernels.hpp"
#include "support/endpoint.hpp"
#include "support/environment.hpp"
#include "support/program.hpp"

namespace penstock::test {
namespace {

struct Case {
  std::size_t queues;
  std::size_t bytes;
  Kind kind = Kind::standard;
  // The first messages, which have places of their own, are awaited on the last queues.
  bool reversed = false;
  std::size_t messages = 1;  // a queue, started and awaited by one call
};

std::string text(const Case& each) {
  return std::to_string(each.queues) + " queues" + (each.reversed ? " reversed, " : ", ") +
         std::to_string(each.messages) + " x " + std::to_string(each.bytes) + " B, " +
         name(each.kind);
}

// Messages to the partner, all made on one stream behind long work, and those from it, awaited on
// many queues.
class Crowd {
 public:
  explicit Crowd(const Case& sizes) {
    std::vector<MPI_Request*> requests;
    for (std::size_t i = 0; i < sizes.queues; ++i) {
      groups_.emplace_back();
      for (std::size_t j = 0; j < sizes.messages; ++j) {
        const Message& message =
            groups_.back().emplace_back(sizes, static_cast<int>(i * sizes.messages + j));
        requests.push_back(&message.sender->request());
        requests.push_back(&message.receiver->request());
      }
      lanes_.push_back(std::make_unique<Lane>());
    }
    match_all(requests);
    if (sizes.reversed) std::reverse(lanes_.begin(), lanes_.end());
  }

  std::size_t queues() const { return lanes_.size(); }
  Lane& lane(std::size_t i) { return *lanes_[i]; }

  // In host order all is started before anything is awaited.
  void start(const std::function<void(Lane&)>& work) {
    send(work);
    for (std::size_t i = 0; i < queues(); ++i) start_receives(i);
  }
  void wait(std::size_t i) {
    std::vector<MPI_Request> requests;
    for (const Message& each : groups_[i]) requests.push_back(each.receiver->request());
    EXPECT_PST(
        PST_Enqueue_waitall(lane(i).queue(), static_cast<int>(requests.size()), requests.data()));
    for (const Message& each : groups_[i]) lane(i).launch(Receiver::check, each.receiver.get());
  }
  void receive(std::size_t i) {
    start_receives(i);
    wait(i);
  }
  void send(const std::function<void(Lane&)>& work) {
    work(maker_);
    for (const auto& group : groups_) {
      std::vector<MPI_Request> requests;
      for (const Message& each : group) {
        maker_.launch(Sender::fill, each.sender.get());
        requests.push_back(each.sender->request());
      }
      EXPECT_PST(
          PST_Enqueue_startall(maker_.queue(), static_cast<int>(requests.size()), requests.data()));
    }
  }
  void end_sends() {
    for (const auto& group : groups_)
      for (const Message& each : group) each.sender->enqueue_wait(maker_);
  }
  void finish(std::uint64_t epochs) {
    maker_.finish();
    for (const auto& lane : lanes_) lane->finish();
    for (const auto& group : groups_)
      for (const Message& each : group) each.receiver->expect_good(epochs);
  }

 private:
  struct Message {
    Message(const Case& sizes, int tag)
        : sender(std::make_unique<Sender>(sizes.bytes, Memory::ordinary,
                                          sequence_key(rank(), partner(), tag))),
          receiver(std::make_unique<Receiver>(sizes.bytes, Memory::ordinary,
                                              sequence_key(partner(), rank(), tag))) {
      sender->init(sizes.kind, partner(), tag);
      receiver->init(partner(), tag);
    }
    std::unique_ptr<Sender> sender;
    std::unique_ptr<Receiver> receiver;
  };

  void start_receives(std::size_t i) {
    std::vector<MPI_Request> requests;
    for (const Message& each : groups_[i]) {
      lane(i).launch(Receiver::clear, each.receiver.get());
      requests.push_back(each.receiver->request());
    }
    EXPECT_PST(
        PST_Enqueue_startall(lane(i).queue(), static_cast<int>(requests.size()), requests.data()));
  }

  std::vector<std::vector<Message>> groups_;  // a queue each
  std::vector<std::unique_ptr<Lane>> lanes_;
  Lane maker_;
};

void compute(Lane& lane) {
  enqueue_delay(lane, 10000);
}
// Work for the whole device, many times over.
void fill_the_device(Lane& lane) {
  constexpr unsigned blocks = 132 * 2 * 20;
  enqueue_crowd(lane.stream(), blocks, 1000, 7);
}

const std::vector<std::size_t> sizes{8, 65536, 1 << 20, 16 << 20};

// A thousand queues of the largest messages take the memory of one H200: ranks that share a GPU, or
// have a smaller one, wait in fewer. PENSTOCK_TEST_QUEUES sets another number.
std::size_t most_queues() {
  if (const char* most = std::getenv("PENSTOCK_TEST_QUEUES"))
    return std::strtoul(most, nullptr, 10);
  int devices = 0;
  EXPECT_CUDA(cudaGetDeviceCount(&devices));
  std::size_t free = 0, all = 0;
  EXPECT_CUDA(cudaMemGetInfo(&free, &all));
  return size() <= devices && all >= std::size_t{100} << 30 ? 1000 : 200;
}

std::vector<Case> cases(std::vector<std::size_t> counts) {
  std::vector<Case> all;
  for (const std::size_t count : counts)
    for (const std::size_t bytes : sizes)
      for (const Kind kind : {Kind::standard, Kind::synchronous})
        if (count <= most_queues() && (kind == Kind::standard || bytes != sizes[2]))
          all.push_back({count, bytes, kind});
  return all;
}

TEST(FullDevice, G1_QueuesThatWaitWhileTheirMessagesAreMade) {
  std::vector<Case> all = cases({12, 64, 200, 1000});
  all.push_back({64, sizes[2], Kind::standard, false, 4});
  all.push_back({8, sizes[2], Kind::standard, false, 32});
  for (const std::size_t bytes : {sizes[2], sizes[3]})
    all.push_back({std::min<std::size_t>(most_queues(), 200), bytes, Kind::synchronous, true});
  for (const Case& each : all) {
    SCOPED_TRACE(text(each));
    Crowd crowd(each);
    constexpr int epochs = 3;
    for (int epoch = 0; epoch < epochs; ++epoch) {
      crowd.start(epoch % 2 == 0 ? compute : fill_the_device);
      for (std::size_t i = 0; i < crowd.queues(); ++i) crowd.wait(i);
      crowd.end_sends();
    }
    crowd.finish(epochs);
    if (HasFailure()) return;
  }
}

TEST(FullDevice, G1_GraphsThatWait) {
  for (const Case& each : cases({64, 200})) {
    SCOPED_TRACE(text(each));
    Crowd crowd(each);
    std::vector<std::unique_ptr<Graph>> graphs;
    for (std::size_t i = 0; i < crowd.queues(); ++i)
      graphs.push_back(std::make_unique<Graph>(crowd.lane(i).stream(), [&] { crowd.receive(i); }));
    constexpr int epochs = 3;
    for (int epoch = 0; epoch < epochs; ++epoch) {
      crowd.send(epoch % 2 == 0 ? compute : fill_the_device);
      for (const auto& graph : graphs) graph->launch();
      crowd.end_sends();
    }
    crowd.finish(epochs);
    if (HasFailure()) return;
  }
}

// A program's own kernel may be launched as a dependent one behind a wait. Its blocks would be
// enough for the whole device.
TEST(FullDevice, G1_WhatDependsOnAWaitTakesNoPlaceBeforeItsEnd) {
  // Threads without data of their own; several blocks of them; units of 128 bytes; rendezvous.
  for (const std::size_t bytes : {8, 2000, 80044, 300000, 1 << 20, 4 << 20}) {
    SCOPED_TRACE(bytes);
    Lane waiting, sending;
    Sender sender(bytes, Memory::ordinary, sequence_key(rank(), partner(), 0));
    Receiver receiver(bytes, Memory::ordinary, sequence_key(partner(), rank(), 0));
    sender.init(Kind::standard, partner(), 0);
    receiver.init(partner(), 0);
    match_all({&sender.request(), &receiver.request()});
    constexpr int epochs = 3;
    for (int epoch = 0; epoch < epochs; ++epoch) {
      receiver.enqueue_start(waiting);
      waiting.wait(receiver.request());
      enqueue_dependent(waiting.stream());
      waiting.launch(Receiver::check, &receiver);
      compute(sending);
      sender.enqueue_start(sending);
      sender.enqueue_wait(sending);
    }
    waiting.finish();
    sending.finish();
    receiver.expect_good(epochs);
    if (HasFailure()) return;
  }
}

// Sends that are ahead of their slots wait, too, in their starts.
TEST(FullDevice, G1_StartsThatWaitForRoom) {
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{65536}, std::size_t{1 << 20}}) {
    SCOPED_TRACE(bytes);
    constexpr std::size_t queues = 24;
    constexpr int epochs = 12;
    std::vector<std::unique_ptr<Sender>> senders;
    std::vector<std::unique_ptr<Receiver>> receivers;
    std::vector<std::unique_ptr<Lane>> lanes;
    std::vector<MPI_Request*> requests;
    Lane receiving;
    for (std::size_t i = 0; i < queues; ++i) {
      const int tag = static_cast<int>(i);
      senders.push_back(
          std::make_unique<Sender>(bytes, Memory::ordinary, sequence_key(rank(), partner(), tag)));
      senders.back()->init(Kind::standard, partner(), tag);
      receivers.push_back(std::make_unique<Receiver>(bytes, Memory::ordinary,
                                                     sequence_key(partner(), rank(), tag)));
      receivers.back()->init(partner(), tag);
      lanes.push_back(std::make_unique<Lane>());
      requests.push_back(&senders.back()->request());
      requests.push_back(&receivers.back()->request());
    }
    match_all(requests);
    for (int epoch = 0; epoch < epochs; ++epoch) {
      for (auto& receiver : receivers) receiver->enqueue_start(receiving);
      for (std::size_t i = 0; i < queues; ++i) senders[i]->enqueue_start(*lanes[i]);
      fill_the_device(receiving);
      for (auto& receiver : receivers) receiver->enqueue_wait(receiving);
      for (std::size_t i = 0; i < queues; ++i) senders[i]->enqueue_wait(*lanes[i]);
    }
    receiving.finish();
    for (auto& lane : lanes) lane->finish();
    for (auto& receiver : receivers) receiver->expect_good(epochs);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace penstock::test
