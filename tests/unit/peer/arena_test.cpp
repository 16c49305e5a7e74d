// SPDX-License-Identifier: Apache-2.0
// Shared memory of one process: growth, mapping by others, what is left behind, what happens when
// there is no more.
#include "peer/arena.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <new>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "peer/arena_file.hpp"
#include "peer/mapping.hpp"
#include "peer/memory.hpp"
#include "unit/support/closed_input.hpp"
#include "unit/support/scarce_memory.hpp"

namespace penstock::peer {
namespace {

std::string file_of(const ArenaIdentity& identity) {
  return std::string("/dev/shm") + identity.name;
}

TEST(PeerArena, AnotherMappingSeesTheSameBytes) {
  const auto arena = Arena::create();
  std::string why;
  const auto mapping = Mapping::open(arena->identity(), why);
  ASSERT_TRUE(mapping) << why;
  arena->unlink();
  EXPECT_FALSE(std::filesystem::exists(file_of(arena->identity())));
  for (const std::size_t bytes : {64u, 5000u, 300000u, 3u << 20, 100u}) {
    std::byte* ours = arena->allocate(bytes, 64);
    const auto place = arena->find(ours, bytes);
    ASSERT_TRUE(place);
    std::byte* theirs = mapping->at(*place);
    ASSERT_NE(ours, theirs);
    std::memset(ours, 42, bytes);
    EXPECT_EQ(std::memcmp(ours, theirs, bytes), 0);
    std::memset(theirs, 43, bytes);
    EXPECT_EQ(std::memcmp(ours, theirs, bytes), 0);
  }
}

// A program that has closed these may still print, and would write into the memory of both.
TEST(PeerArena, LiesUnderNoStandardStream) {
  const test::ClosedInput input;
  const auto arena = Arena::create();
  EXPECT_TRUE(input.holds());
  std::string why;
  const auto mapping = Mapping::open(arena->identity(), why);
  EXPECT_TRUE(mapping) << why;
  EXPECT_TRUE(input.holds());
  arena->unlink();
}

TEST(PeerArena, WithoutMemoryNothingIsLostAndFreeingNeedsNone) {
  std::mt19937_64 random(12);
  const auto arena = Arena::create();
  arena->unlink();
  std::vector<std::byte*> taken;
  int refusals = 0;
  for (int step = 0; step < 5000; ++step) {
    if (random() % 2 == 0 && !taken.empty()) {
      std::swap(taken[random() % taken.size()], taken.back());
      const ScarceMemory scarce(0);
      arena->free(taken.back());
      taken.pop_back();
      continue;
    }
    taken.reserve(taken.size() + 1);
    const std::size_t bytes = std::size_t{1} << (6 + random() % 15);
    try {
      const ScarceMemory scarce(random() % 8);
      taken.push_back(arena->allocate(bytes, 64));
    } catch (const std::bad_alloc&) {
      ++refusals;
    }
  }
  EXPECT_GT(refusals, 100);
  for (std::byte* const each : taken) arena->free(each);
  EXPECT_EQ(arena->free_bytes() + 64, arena->file_bytes()) << "but for the header";
}

TEST(PeerArena, SaysWhatIsNotItsOwn) {
  const auto arena = Arena::create();
  arena->unlink();
  int elsewhere = 0;
  EXPECT_FALSE(arena->find(&elsewhere, sizeof(elsewhere)));
  std::byte* inside = arena->allocate(64, 64);
  EXPECT_TRUE(arena->find(inside, 64));
  EXPECT_FALSE(arena->find(inside, std::size_t{1} << 40));
}

TEST(PeerArena, ReusesWhatIsFreed) {
  const auto arena = Arena::create();
  arena->unlink();
  const std::size_t small = arena->file_bytes();
  for (int i = 0; i < 10000; ++i) arena->free(arena->allocate(1000, 64));
  EXPECT_EQ(arena->file_bytes(), small);
  std::byte* large = arena->allocate(8 << 20, 4096);
  const std::size_t grown = arena->file_bytes();
  for (int i = 0; i < 10; ++i) {
    std::memset(large, 1, 8 << 20);
    arena->free(large);
    large = arena->allocate(8 << 20, 4096);
  }
  EXPECT_EQ(arena->file_bytes(), grown);
}

TEST(PeerArena, ShortageIsAnErrorAndChangesNothing) {
  const auto arena = Arena::create();
  arena->unlink();
  const std::size_t before = arena->file_bytes();
  for (const std::size_t bytes : {std::size_t{1} << 50, ~std::size_t{0}, ~std::size_t{0} - 100}) {
    try {
      arena->allocate(bytes, 64);
      FAIL() << bytes << " bytes were given";
    } catch (const base::Error& error) {
      EXPECT_EQ(error.kind(), base::ErrorKind::resources);
      EXPECT_NE(error.text().find("shared memory"), std::string::npos);
    }
  }
  EXPECT_EQ(arena->file_bytes(), before);
  std::memset(arena->allocate(4096, 64), 1, 4096);
}

TEST(PeerArena, AsksForWhatCanBeGivenBackBeforeItGivesUp) {
  const auto arena = Arena::create();
  arena->unlink();
  constexpr std::size_t bytes = 200 * 1024;  // most of the first chunk
  std::byte* kept = arena->allocate(bytes, 64);
  const std::size_t before = arena->file_bytes();
  int asked = 0;
  arena->when_short([&] {
    ++asked;
    if (kept != nullptr) arena->free(std::exchange(kept, nullptr));
  });
  const auto allow = [&](rlim_t most) {
    rlimit limit{};
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = most;
    setrlimit(RLIMIT_FSIZE, &limit);
  };
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  allow(before);
  EXPECT_NE(arena->allocate(bytes, 64), nullptr);
  EXPECT_EQ(asked, 1);
  EXPECT_THROW(arena->allocate(bytes, 64), base::Error);
  EXPECT_EQ(asked, 2);
  allow(old.rlim_cur);
  signal(SIGXFSZ, handler);
  EXPECT_EQ(arena->file_bytes(), before);
}

TEST(PeerArena, WrongFileIsRefused) {
  const auto arena = Arena::create();
  ArenaIdentity other = arena->identity();
  other.nonce[1] ^= 1;
  std::string why;
  EXPECT_FALSE(Mapping::open(other, why));
  EXPECT_NE(why, "");
  arena->unlink();
  EXPECT_FALSE(Mapping::open(arena->identity(), why));
  EXPECT_NE(why.find("another host"), std::string::npos) << why;
}

TEST(PeerArena, FilesOfKilledProcessesAreRemovedAndOthersStay) {
  int channel[2];
  ASSERT_EQ(pipe(channel), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto arena = Arena::create();
    const ArenaIdentity identity = arena->identity();
    if (write(channel[1], &identity, sizeof(identity)) != static_cast<ssize_t>(sizeof(identity)))
      _exit(1);
    pause();
    _exit(0);
  }
  ArenaIdentity theirs;
  ASSERT_EQ(read(channel[0], &theirs, sizeof(theirs)), static_cast<ssize_t>(sizeof(theirs)));
  const auto ours = Arena::create();
  remove_leftover_files();
  EXPECT_TRUE(std::filesystem::exists(file_of(theirs))) << "its owner lives";
  EXPECT_TRUE(std::filesystem::exists(file_of(ours->identity())));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(channel[0]);
  close(channel[1]);
  EXPECT_TRUE(std::filesystem::exists(file_of(theirs)));
  remove_leftover_files();
  EXPECT_FALSE(std::filesystem::exists(file_of(theirs)));
  EXPECT_TRUE(std::filesystem::exists(file_of(ours->identity())));
  ours->unlink();
}

TEST(PeerMemory, AllocatesAlignsAndFrees) {
  const auto arena = Arena::create();
  arena->unlink();
  Memory memory(arena.get());
  for (const std::size_t bytes : {0u, 1u, 64u, 4095u, 4096u, 1u << 20}) {
    void* address = memory.allocate(bytes);
    ASSERT_NE(address, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(address) % (bytes >= 4096 ? 4096 : 64), 0u);
    EXPECT_TRUE(memory.contains(address, bytes));
    EXPECT_FALSE(memory.contains(address, bytes + 100));
    std::memset(address, 1, bytes);
    EXPECT_TRUE(memory.free(address));
    EXPECT_FALSE(memory.free(address));
    EXPECT_FALSE(memory.contains(address, bytes));
  }
  int elsewhere = 0;
  EXPECT_FALSE(memory.free(&elsewhere));
  EXPECT_FALSE(memory.contains(&elsewhere, 1));
}

TEST(PeerMemory, PinnedMemoryOutlivesItsFree) {
  const auto arena = Arena::create();
  arena->unlink();
  Memory memory(arena.get());
  auto* address = static_cast<std::byte*>(memory.allocate(100000));
  auto pin = memory.pin(address + 500);
  ASSERT_TRUE(pin);
  EXPECT_TRUE(memory.free(address));
  void* other = memory.allocate(100000);
  EXPECT_NE(other, address);
  std::memset(address, 1, 100000);
  pin.reset();
  EXPECT_EQ(memory.allocate(100000), address);
  EXPECT_TRUE(memory.free(other));
}

TEST(PeerMemory, OrdinaryMemoryWhereThereIsNoShared) {
  Memory memory(nullptr);
  void* address = memory.allocate(10000);
  ASSERT_NE(address, nullptr);
  EXPECT_FALSE(memory.contains(address, 1)) << "others cannot address it";
  EXPECT_TRUE(memory.free(address));
}

}  // namespace
}  // namespace penstock::peer
