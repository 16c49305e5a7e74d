// SPDX-License-Identifier: Apache-2.0
// Pairs of messages in memory of GPUs over a provider that takes such memory, or does not, or
// refuses some. Threads stand for the streams of the GPUs, and for the kernels that copy what is
// staged.
#include "ofi/gpu_memory.hpp"

#include <rdma/fi_errno.h>

#include <cstring>
#include <thread>

#include "ofi/provider_list.hpp"
#include "relay/access.hpp"
#include "unit/ofi/gpu_network.hpp"
#include "unit/ofi/two.hpp"
#include "unit/relay/half.hpp"

namespace penstock::ofi {
namespace {

using base::NetworkGpuMemory;
using relay::Access;
using relay::Relay;

constexpr std::size_t small = 64, large = 50000;  // through slots, and not
constexpr std::uint64_t rounds = 60;

// One end of a pair, whose message lies in memory of a GPU.
struct GpuEnd {
  GpuEnd(Relay& by, GpuNetwork& network, transport::Direction direction, protocol::Mode mode,
         std::size_t bytes, int gpu)
      : memory(bytes), staging(bytes), relay(by) {
    network.know(memory);
    message.direction = direction;
    message.mode = mode;
    message.buffer = memory.device();
    message.bytes = bytes;
    message.memory = device::MemoryKind::cuda;
    message.gpu = gpu;
    message.peer = direction == transport::Direction::send ? 1 : 0;
  }

  // As the host transport is given the message.
  transport::Message given(Access as, std::string reason) {
    access = as;
    why = std::move(reason);
    return access == Access::staged ? relay::on_host(message, staging.data(), message.bytes)
                                    : message;
  }
  void connect(std::unique_ptr<transport::Plan> plan) {
    path = plan->path();
    half.emplace(relay, std::move(plan));
  }

  void send(std::uint64_t epoch) {
    for (std::size_t i = 0; i < message.bytes; ++i) memory.contents()[i] = peer::pattern(epoch, i);
    if (access == Access::staged) std::memcpy(staging.data(), memory.contents(), message.bytes);
    half->start();
    ASSERT_TRUE(half->wait()) << half->pair.error().text();
  }
  void receive(std::uint64_t epoch) {
    half->start();
    ASSERT_TRUE(half->wait()) << half->pair.error().text();
    if (access == Access::staged) std::memcpy(memory.contents(), staging.data(), message.bytes);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < message.bytes; ++i)
      wrong += memory.contents()[i] != peer::pattern(epoch, i);
    ASSERT_EQ(wrong, 0u) << "epoch " << epoch;
  }

  DeviceMemory memory;
  std::vector<std::byte> staging;
  transport::Message message;
  Access access = Access::host;
  std::string why, path;
  Relay& relay;
  std::optional<relay::Half> half;
};

class OfiGpuMemory : public OfiTwo {
 protected:
  void introduce(base::Settings settings = only_ofi()) {
    settings.slots = rounds;  // so that a buffered send finds room, however late its receive is
    OfiTwo::introduce(settings, true);
  }
  void match(std::size_t bytes, protocol::Mode mode = protocol::Mode::standard) {
    sender_.emplace(relays_[0], network_, transport::Direction::send, mode, bytes, 3);
    receiver_.emplace(relays_[1], network_, transport::Direction::receive, mode, bytes, 5);
    transport::Transport& from = *end(0).transport;
    transport::Transport& to = *end(1).transport;
    const auto offer =
        relay::try_access(from, sender_->message, [&](Access access, std::string why) {
          return from.offer(sender_->given(access, std::move(why)));
        });
    transport::Message announced = sender_->message;  // as the handshake tells of it
    announced.buffer = nullptr;
    const auto acceptance =
        relay::try_access(to, receiver_->message, [&](Access access, std::string why) {
          return to.accept(receiver_->given(access, std::move(why)), announced, offer->record());
        });
    sender_->connect(offer->connect(acceptance->record()));
    receiver_->connect(acceptance->confirm());
  }
  void run() {
    for (std::uint64_t epoch = 1; epoch <= rounds; ++epoch)
      for (GpuEnd* end : {&*sender_, &*receiver_}) end->half->enqueue();
    std::thread other([this] {
      for (std::uint64_t epoch = 1; epoch <= rounds && !HasFatalFailure(); ++epoch)
        sender_->send(epoch);
    });
    for (std::uint64_t epoch = 1; epoch <= rounds && !HasFatalFailure(); ++epoch)
      receiver_->receive(epoch);
    other.join();
    EXPECT_EQ(network_.undeclared(), 0);
  }
  void end_pair() {
    sender_.reset();
    receiver_.reset();
    network_.forget_memory();
  }
  void match_and_run(std::size_t bytes, protocol::Mode mode, Access sending, Access receiving) {
    SCOPED_TRACE(testing::Message() << bytes << " bytes, mode " << static_cast<int>(mode));
    match(bytes, mode);
    EXPECT_EQ(sender_->access, sending) << sender_->why;
    EXPECT_EQ(receiver_->access, receiving) << receiver_->why;
    run();
  }
  void expect_region(const GpuRegion& region, const GpuEnd& end) {
    EXPECT_EQ(region.interface, gpu_interface);
    EXPECT_EQ(region.device, gpu_interface == FI_HMEM_CUDA ? end.message.gpu : 0);
    EXPECT_EQ(region.address, end.memory.device());
    EXPECT_EQ(region.bytes, end.message.bytes);
  }
  void TearDown() override {
    end_pair();
    for (Relay& relay : relays_) relay.stop();
    leave();
    EXPECT_EQ(network_.open(), 0);
  }

  GpuNetwork network_;
  Relay relays_[2]{Relay(std::chrono::microseconds(20)), Relay(std::chrono::microseconds(0))};
  std::optional<GpuEnd> sender_, receiver_;
};

TEST_F(OfiGpuMemory, ALargeMessageGoesStraightBetweenTheMemoriesOfTwoGpus) {
  // Posted ahead, some of them, and carried out by the engine.
  for (const unsigned entries : {500u, 3u, 0u}) {
    base::Settings settings = only_ofi();
    settings.ofi_entries = entries;
    introduce(settings);
    if (!served()) GTEST_SKIP() << end(0).transport->usable().why;
    for (const protocol::Mode mode : {protocol::Mode::standard, protocol::Mode::synchronous}) {
      const std::size_t before = network_.registered().size();
      const std::uint64_t written = network_.writes_from_gpu();
      match_and_run(large, mode, Access::direct, Access::direct);
      const auto regions = network_.registered();
      ASSERT_EQ(regions.size(), before + 2);
      expect_region(regions[before], *sender_);
      expect_region(regions[before + 1], *receiver_);
      EXPECT_GE(network_.writes_from_gpu() - written, rounds);
      EXPECT_NE(sender_->path.find("rendezvous"), std::string::npos) << sender_->path;
      end_pair();
    }
    EXPECT_EQ(end(0).count("starts_posted") == 0, entries == 0);
  }
}

TEST_F(OfiGpuMemory, ASmallSynchronousMessageDoesToo) {
  introduce();
  if (!served()) GTEST_SKIP() << end(0).transport->usable().why;
  for (const std::size_t bytes : {std::size_t{0}, small}) {
    match_and_run(bytes, protocol::Mode::synchronous, Access::direct, Access::direct);
    end_pair();
  }
}

TEST_F(OfiGpuMemory, WhatWaitsInSlotsIsStagedWhereTheProcessorCopiesIt) {
  introduce();
  if (!served()) GTEST_SKIP() << end(0).transport->usable().why;
  match_and_run(small, protocol::Mode::standard, Access::direct, Access::staged);
  EXPECT_NE(receiver_->why.find("slots"), std::string::npos) << receiver_->why;
  end_pair();
  for (const std::size_t bytes : {small, large}) {
    match_and_run(bytes, protocol::Mode::buffered, Access::staged, Access::staged);
    EXPECT_NE(sender_->why.find("slots"), std::string::npos) << sender_->why;
    end_pair();
  }
}

TEST_F(OfiGpuMemory, ARefusedRegionIsStagedAtThatEndAlone) {
  introduce();
  if (!served()) GTEST_SKIP() << end(0).transport->usable().why;
  for (const int code : {-FI_ENOSYS, -FI_EOPNOTSUPP, -FI_ENOSPC, -FI_ENOMEM})
    for (const int taken : {0, 1}) {
      SCOPED_TRACE(testing::Message() << fi_strerror(-code) << " after " << taken);
      network_.refusal = code;
      network_.regions_taken = taken;
      const Access sending = taken > 0 ? Access::direct : Access::staged;
      match_and_run(large, protocol::Mode::standard, sending, Access::staged);
      EXPECT_NE(receiver_->why.find("fi_mr_regattr"), std::string::npos) << receiver_->why;
      EXPECT_NE(receiver_->why.find(fi_strerror(-code)), std::string::npos) << receiver_->why;
      EXPECT_EQ(sender_->why.empty(), taken > 0) << sender_->why;
      end_pair();
    }
}

TEST_F(OfiGpuMemory, OneProcessMayHaveAProviderThatTakesItAndTheOtherNot) {
  for (const int serve : {0, 1}) {
    network_.processes_served = network_.asked() + serve;
    introduce();
    if (!served()) GTEST_SKIP() << end(0).transport->usable().why;
    EXPECT_EQ(end(0).transport->usable().why.find("is staged") == std::string::npos, serve == 1);
    EXPECT_NE(end(1).transport->usable().why.find("is staged"), std::string::npos);
    match_and_run(large, protocol::Mode::standard, serve == 1 ? Access::direct : Access::staged,
                  Access::staged);
    EXPECT_NE(receiver_->why.find("does not take memory of GPUs"), std::string::npos)
        << receiver_->why;
    end_pair();
    leave();
  }
}

TEST_F(OfiGpuMemory, AProviderThatMayCallCudaIsTakenOnlyWhenAskedFor) {
  if (device::built_for == device::Vendor::hip) GTEST_SKIP() << "there is no such option for HIP";
  network_.answer_to_promise = -FI_EOPNOTSUPP;
  for (const auto setting : {NetworkGpuMemory::automatic, NetworkGpuMemory::always}) {
    const bool asked_for = setting == NetworkGpuMemory::always;
    base::Settings settings = only_ofi();
    settings.ofi_gpu_memory = setting;
    introduce(settings);
    if (!served()) GTEST_SKIP() << end(0).transport->usable().why;
    const Access access = asked_for ? Access::direct : Access::staged;
    match_and_run(large, protocol::Mode::standard, access, access);
    EXPECT_EQ(network_.registered().size(), asked_for ? 2u : 0u);
    const std::string why = end(0).transport->usable().why;
    EXPECT_EQ(why.find("FI_OPT_CUDA_API_PERMITTED") == std::string::npos, asked_for) << why;
    EXPECT_EQ(end(0).transport->serves_blocking_streams().why.find("PENSTOCK_OFI_HMEM") !=
                  std::string::npos,
              asked_for);
    end_pair();
    leave();
  }
  network_.answer_to_promise = 0;
  introduce();
  EXPECT_TRUE(end(0).transport->serves_blocking_streams().yes);
}

TEST_F(OfiGpuMemory, AnEndpointThatDoesNotOpenWithItOpensWithout) {
  network_.endpoint_refusal = -FI_ENOMEM;
  introduce();
  if (!served()) GTEST_SKIP() << end(0).transport->usable().why;
  match_and_run(large, protocol::Mode::standard, Access::staged, Access::staged);
  EXPECT_GT(network_.asked(), 0);
  EXPECT_NE(end(0).transport->usable().why.find("fi_endpoint"), std::string::npos)
      << end(0).transport->usable().why;
}

TEST_F(OfiGpuMemory, NobodyIsAskedWhereItIsSwitchedOffOrThereAreNoGpus) {
  base::Settings settings = only_ofi();
  OfiTwo::introduce(settings, false);
  if (!served()) GTEST_SKIP() << end(0).transport->usable().why;
  EXPECT_EQ(end(0).transport->usable().why.find("GPU"), std::string::npos);
  settings.ofi_gpu_memory = NetworkGpuMemory::never;
  introduce(settings);
  EXPECT_EQ(network_.asked(), 0);
  EXPECT_EQ(network_.promises(), 0);
  match_and_run(large, protocol::Mode::standard, Access::staged, Access::staged);
  EXPECT_NE(end(0).transport->usable().why.find("PENSTOCK_OFI_HMEM=0"), std::string::npos);
}

TEST_F(OfiGpuMemory, TheListOfProvidersTellsWhoTakesIt) {
  for (const bool takes : {true, false}) {
    network_.processes_served = takes ? INT_MAX : 0;
    for (const ProviderVerdict& one : list_providers({})) {
      EXPECT_EQ(one.gpu_memory, one.serves && takes) << one.provider << ": " << one.why;
      EXPECT_EQ(
          one.why.find(takes ? "memory of GPUs too" : "no memory of GPUs") != std::string::npos,
          one.serves);
    }
  }
}

}  // namespace
}  // namespace penstock::ofi
