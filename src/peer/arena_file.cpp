// SPDX-License-Identifier: Apache-2.0
#include "peer/arena_file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "base/descriptor.hpp"
#include "base/error.hpp"

namespace penstock::peer {

namespace {

constexpr std::string_view prefix = "penstock-";
constexpr std::size_t digits = 32;

[[noreturn]] void fail(const char* what) {
  throw base::Error(base::ErrorKind::resources, fmt::format("{}: {}", what, std::strerror(errno)));
}

void draw(void* bytes, std::size_t size) {
  if (getrandom(bytes, size, 0) != static_cast<ssize_t>(size))
    fail("no random numbers for the name of shared memory");
}

bool is_ours(std::string_view name) {
  return name.size() == prefix.size() + digits && name.starts_with(prefix) &&
         name.find_first_not_of("0123456789abcdef", prefix.size()) == std::string_view::npos;
}

}  // namespace

int create_arena_file(ArenaIdentity& identity) {
  draw(identity.nonce, sizeof(identity.nonce));
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::uint64_t random[2];
    draw(random, sizeof(random));
    const std::string name = fmt::format("/{}{:016x}{:016x}", prefix, random[0], random[1]);
    const int descriptor =
        base::beyond_standard_streams(shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600));
    if (descriptor < 0 && errno == EEXIST) continue;
    if (descriptor < 0) fail("cannot create shared memory");
    struct stat status {};
    // A sweeper may have held the lock, and removed the name, in the moment before we locked it:
    // then another name is taken.
    if (flock(descriptor, LOCK_EX | LOCK_NB) == 0 && fstat(descriptor, &status) == 0 &&
        status.st_nlink > 0) {
      std::memcpy(identity.name, name.c_str(), name.size() + 1);
      return descriptor;
    }
    shm_unlink(name.c_str());
    close(descriptor);
  }
  errno = EBUSY;
  fail("cannot create shared memory");
}

void remove_leftover_files() noexcept {
  DIR* directory = opendir("/dev/shm");
  if (directory == nullptr) return;
  while (const dirent* entry = readdir(directory)) {
    if (!is_ours(entry->d_name)) continue;
    const int descriptor = openat(dirfd(directory), entry->d_name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (descriptor < 0) continue;
    // The owner's lock goes with its process, so a lock that can be taken means that nobody lives
    // to remove the file.
    if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) unlinkat(dirfd(directory), entry->d_name, 0);
    close(descriptor);
  }
  closedir(directory);
}

}  // namespace penstock::peer
