// SPDX-License-Identifier: Apache-2.0
// Doorbells over counters of a provider made here: one that maps them as the CXI extension does,
// over a page of memory, and one that maps nothing.
#include "ofi/doorbell.hpp"

#include <gtest/gtest.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "ofi/fid.hpp"
#include "ofi/provider.hpp"

namespace penstock::ofi {
namespace {

// A counter with a page of registers, which nobody behind it reads: what was stored stays there to
// be looked at.
struct FakeCounter : fid_cntr {
  explicit FakeCounter(bool mapped) : fid_cntr{} {
    page = static_cast<std::uint64_t*>(
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    object_ops.size = sizeof object_ops;
    object_ops.ops_open = mapped ? open_ops : refuse_ops;
    counter_ops.size = sizeof counter_ops;
    counter_ops.add = add;
    fid.ops = &object_ops;
    ops = &counter_ops;
  }
  ~FakeCounter() { munmap(page, 4096); }
  FakeCounter(const FakeCounter&) = delete;
  FakeCounter& operator=(const FakeCounter&) = delete;

  static FakeCounter& of(struct fid* object) {
    return *static_cast<FakeCounter*>(reinterpret_cast<fid_cntr*>(object));
  }
  static int open_ops(struct fid* object, const char* name, std::uint64_t flags, void** opened,
                      void*) {
    if (std::strcmp(name, "cxi_counter_ops") != 0 || flags != 0) return -FI_EINVAL;
    *opened = &of(object).extension;
    return 0;
  }
  static int refuse_ops(struct fid*, const char*, std::uint64_t, void**, void*) {
    return -FI_ENOSYS;
  }
  static int map(struct fid* object, void** address, std::size_t* bytes) {
    *address = of(object).page;
    *bytes = of(object).bytes;
    return of(object).map_code;
  }
  static int set_write_back(struct fid* object, void* memory, std::size_t size) {
    of(object).write_back = static_cast<std::uint64_t*>(memory);
    of(object).write_back_bytes = size;
    return 0;
  }
  static int add(fid_cntr* counter, std::uint64_t count) {
    FakeCounter& self = *static_cast<FakeCounter*>(counter);
    if (self.refusals > 0) return --self.refusals, -FI_EAGAIN;
    self.added.push_back(count);
    return 0;
  }

  fi_ops object_ops{};
  fi_ops_cntr counter_ops{};
  cxi::CounterOps extension{set_write_back, map};
  std::uint64_t* page = nullptr;
  std::size_t bytes = sizeof(std::uint64_t);
  int map_code = 0;
  std::uint64_t* write_back = nullptr;
  std::size_t write_back_bytes = 0;
  int refusals = 0;
  std::vector<std::uint64_t> added;
};

TEST(OfiMappedDoorbell, RingsByOneStoreIntoTheFirstRegister) {
  FakeCounter counter(true);
  std::uint64_t word = 0;
  const auto doorbell = make_doorbell(counter, word);
  EXPECT_FALSE(doorbell->needs_relay());
  doorbell->ring(3);
  EXPECT_EQ(counter.page[0], 3u);
  doorbell->ring(1);
  EXPECT_EQ(counter.page[0], 1u);  // the register adds; it does not hold a total
  EXPECT_EQ(counter.page[1] | counter.page[2] | counter.page[3], 0u);
  EXPECT_EQ(doorbell->relay(), 0);
  EXPECT_TRUE(counter.added.empty());
  EXPECT_EQ(word, 0u);
}

TEST(OfiMappedDoorbell, TellsAKernelWhereToStore) {
  FakeCounter counter(true);
  const DoorbellStore store = MappedDoorbell::open(counter)->store();
  EXPECT_EQ(store.address, counter.page);
  EXPECT_EQ(store.width, 8u);
  EXPECT_EQ(store.value, DoorbellStore::Value::more);
}

TEST(OfiMappedDoorbell, TheRegistersLieEightBytesApart) {
  FakeCounter counter(true);
  const auto doorbell = MappedDoorbell::open(counter);
  const auto offset = [&](cxi::Register which) {
    return reinterpret_cast<std::uintptr_t>(doorbell->word(which)) -
           reinterpret_cast<std::uintptr_t>(counter.page);
  };
  EXPECT_EQ(offset(cxi::Register::add), 0u);
  EXPECT_EQ(offset(cxi::Register::add_error), 8u);
  EXPECT_EQ(offset(cxi::Register::reset), 16u);
  EXPECT_EQ(offset(cxi::Register::reset_error), 24u);
}

TEST(OfiMappedDoorbell, WritesBackWhereItIsTold) {
  FakeCounter counter(true);
  const auto doorbell = MappedDoorbell::open(counter);
  std::uint64_t memory = 0;
  EXPECT_EQ(doorbell->write_back_to(&memory), 0);
  EXPECT_EQ(counter.write_back, &memory);
  EXPECT_EQ(counter.write_back_bytes, 8u);
  counter.extension.set_wb_buffer = nullptr;
  EXPECT_EQ(doorbell->write_back_to(&memory), -FI_ENOSYS);
}

TEST(OfiMappedDoorbell, AWriteBackIsDecoded) {
  EXPECT_FALSE(cxi::decode(0).valid);
  const cxi::WriteBack most = cxi::decode(~std::uint64_t{0});
  EXPECT_EQ(most.successes, (std::uint64_t{1} << 48) - 1);
  EXPECT_EQ(most.failures, 127u);
  EXPECT_TRUE(most.valid);
  const cxi::WriteBack some = cxi::decode((std::uint64_t{1} << 63) | (std::uint64_t{5} << 48) |
                                          std::uint64_t{0x123456789abc});
  EXPECT_EQ(some.successes, 0x123456789abcu);
  EXPECT_EQ(some.failures, 5u);
  EXPECT_TRUE(some.valid);
  // The bits between belong to nobody.
  const cxi::WriteBack others = cxi::decode(std::uint64_t{0xff} << 55);
  EXPECT_EQ(others.successes, 0u);
  EXPECT_EQ(others.failures, 0u);
  EXPECT_EQ(cxi::decode((std::uint64_t{1} << 48) - 1).successes, (std::uint64_t{1} << 48) - 1);
  EXPECT_EQ(cxi::decode(std::uint64_t{1} << 48).failures, 1u);
}

TEST(OfiMappedDoorbell, WhatCannotBeMappedIsRelayed) {
  std::uint64_t word = 0;
  FakeCounter refused(false);
  EXPECT_EQ(MappedDoorbell::open(refused), nullptr);
  EXPECT_TRUE(make_doorbell(refused, word)->needs_relay());

  FakeCounter silent(true);
  // Of a provider made before there were extensions.
  silent.object_ops.size = offsetof(fi_ops, ops_open);
  EXPECT_EQ(MappedDoorbell::open(silent), nullptr);

  FakeCounter failing(true);
  failing.map_code = -FI_EINVAL;
  EXPECT_EQ(MappedDoorbell::open(failing), nullptr);

  FakeCounter narrow(true);
  narrow.bytes = 4;
  EXPECT_EQ(MappedDoorbell::open(narrow), nullptr);
}

TEST(OfiWordDoorbell, HandsOnWhatWasRungOnce) {
  FakeCounter counter(false);
  std::uint64_t word = 0;
  const auto doorbell = make_doorbell(counter, word);
  EXPECT_EQ(doorbell->relay(), 0);
  doorbell->ring(1);
  doorbell->ring(4);
  EXPECT_EQ(word, 5u);
  EXPECT_TRUE(counter.added.empty());
  EXPECT_EQ(doorbell->relay(), 1);
  EXPECT_EQ(doorbell->relay(), 0);
  doorbell->ring(2);
  EXPECT_EQ(doorbell->relay(), 1);
  EXPECT_EQ(counter.added, (std::vector<std::uint64_t>{5, 2}));
}

TEST(OfiWordDoorbell, TellsAKernelToStoreTotals) {
  FakeCounter counter(false);
  std::uint64_t word = 0;
  const auto doorbell = make_doorbell(counter, word);
  const DoorbellStore store = doorbell->store();
  EXPECT_EQ(store.address, &word);
  EXPECT_EQ(store.width, 8u);
  EXPECT_EQ(store.value, DoorbellStore::Value::total);
  // What a kernel does.
  *static_cast<std::uint64_t*>(store.address) = 7;
  EXPECT_EQ(doorbell->relay(), 1);
  EXPECT_EQ(counter.added, std::vector<std::uint64_t>{7});
}

TEST(OfiWordDoorbell, WhatTheCounterRefusesIsNotLost) {
  FakeCounter counter(false);
  std::uint64_t word = 0;
  const auto doorbell = make_doorbell(counter, word);
  counter.refusals = 2;
  doorbell->ring(1);
  EXPECT_EQ(doorbell->relay(), -FI_EAGAIN);
  doorbell->ring(1);
  EXPECT_EQ(doorbell->relay(), -FI_EAGAIN);
  EXPECT_EQ(doorbell->relay(), 1);
  EXPECT_EQ(counter.added, std::vector<std::uint64_t>{2});
}

TEST(OfiWordDoorbell, LosesNothingBetweenAStreamAndARelay) {
  constexpr std::uint64_t rings = 100000;
  FakeCounter counter(false);
  counter.added.reserve(rings);
  std::uint64_t word = 0;
  const auto doorbell = make_doorbell(counter, word);
  std::thread stream([&] {
    for (std::uint64_t i = 0; i < rings; ++i) doorbell->ring(1 + i % 3);
  });
  std::uint64_t expected = 0;
  for (std::uint64_t i = 0; i < rings; ++i) expected += 1 + i % 3;
  std::uint64_t sum = 0;
  for (std::size_t seen = 0; sum < expected;) {
    if (doorbell->relay() == 0) std::this_thread::yield();
    for (; seen < counter.added.size(); ++seen) sum += counter.added[seen];
  }
  stream.join();
  EXPECT_EQ(sum, expected);
  EXPECT_EQ(doorbell->relay(), 0);
}

// The provider that is really there: what is rung arrives on its counter.
TEST(OfiWordDoorbell, RingsACounterOfTheProvider) {
  FabricInfo info;
  try {
    info = choose_provider({}, {});
  } catch (const base::Error& error) {
    GTEST_SKIP() << error.text();
  }
  fid_fabric* fabric = nullptr;
  ASSERT_EQ(fi_fabric(info->fabric_attr, &fabric, nullptr), 0);
  const Fid<fid_fabric> fabric_owner(fabric);
  fid_domain* domain = nullptr;
  ASSERT_EQ(fi_domain(fabric, info.get(), &domain, nullptr), 0);
  const Fid<fid_domain> domain_owner(domain);
  fi_cntr_attr attributes{};
  attributes.events = FI_CNTR_EVENTS_COMP;
  fid_cntr* counter = nullptr;
  ASSERT_EQ(fi_cntr_open(domain, &attributes, &counter, nullptr), 0);
  const Fid<fid_cntr> counter_owner(counter);
  std::uint64_t word = 0;
  const auto doorbell = make_doorbell(*counter, word);
  if (!doorbell->needs_relay()) GTEST_SKIP() << "this provider maps its counters";
  doorbell->ring(3);
  EXPECT_EQ(fi_cntr_read(counter), 0u);
  EXPECT_EQ(doorbell->relay(), 1);
  EXPECT_EQ(fi_cntr_read(counter), 3u);
}

}  // namespace
}  // namespace penstock::ofi
