// SPDX-License-Identifier: Apache-2.0
#include "base/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <optional>

#include "base/descriptor.hpp"
#include "base/error.hpp"
#include "base/file_name.hpp"
#include "base/no_copy.hpp"

namespace penstock::base {
namespace {

mode_t type_of(int descriptor) noexcept {
  struct stat status {};
  return fstat(descriptor, &status) == 0 ? status.st_mode & S_IFMT : 0;
}

// Some of the kernel's files can be opened and locked, and take nothing.
bool is_of_kernel(int descriptor) noexcept {
  struct statfs system {};
  return fstatfs(descriptor, &system) == 0 &&
         (system.f_type == PROC_SUPER_MAGIC || system.f_type == SYSFS_MAGIC);
}

}  // namespace

// O_NONBLOCK: to open a FIFO would otherwise wait for somebody who reads it, and to write it, or to
// a terminal, for somebody who goes on reading.
OutputFile::OutputFile(const char* setting, const std::string& pattern, OpenMode mode,
                       std::chrono::milliseconds patience)
    : setting_(setting), pattern_(pattern), path_(expand_file_name(pattern)), patience_(patience) {
  const int flags = mode == OpenMode::append ? O_APPEND : O_NOFOLLOW;
  descriptor_ = beyond_standard_streams(
      open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags, 0644));
  if (descriptor_ < 0) refuse_to_open(errno, mode);
  try {
    require_writable_kind();
    if (mode == OpenMode::replace && type_of(descriptor_) == S_IFREG) lock();
  } catch (...) {
    close(descriptor_);
    throw;
  }
}

OutputFile::~OutputFile() {
  close(descriptor_);
}

void OutputFile::refuse_to_open(int error, OpenMode mode) const {
  struct stat status {};
  const mode_t type = stat(path_.c_str(), &status) == 0 ? status.st_mode & S_IFMT : 0;
  if (error == ENXIO && type == S_IFIFO) refuse("nobody reads that FIFO");
  if (error == ENXIO && type == S_IFSOCK)
    refuse("that is a socket: give an ordinary file, a terminal or a pipe");
  if (error == ELOOP && mode == OpenMode::replace)
    refuse(
        "a symbolic link, as /dev/stdout is one, is not followed, since what it leads "
        "to would be overwritten: name the file itself; for a pipe make a FIFO (mkfifo)");
  errno = error;
  refuse_by_errno();
}

void OutputFile::require_writable_kind() {
  const mode_t type = type_of(descriptor_);
  const bool known = type == S_IFREG || type == S_IFCHR || type == S_IFIFO;
  is_pipe_ = type == S_IFIFO;
  if (!known || is_of_kernel(descriptor_)) refuse("give an ordinary file, a terminal or a pipe");
}

// For as long as it is open: two processes with one name would write over each other.
void OutputFile::lock() const {
  if (flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    refuse("another process is writing that file: have %p, the process number, in its name");
  if (ftruncate(descriptor_, 0) != 0) refuse_by_errno();
}

namespace {

// The reader of a pipe may go at any time: then a write is to fail, and not to end the process. The
// signal would come to this thread, where it waits until it is taken back.
class NoPipeSignal : private NoCopy {
 public:
  NoPipeSignal() noexcept {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    was_pending_ = sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoPipeSignal() {
    const int error = errno;
    const timespec at_once{};
    if (error == EPIPE && !was_pending_) sigtimedwait(&pipe_, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }

 private:
  sigset_t pipe_, before_;
  bool was_pending_ = false;
};

}  // namespace

// False with errno.
bool OutputFile::wait_for_room(std::chrono::steady_clock::time_point since) const noexcept {
  using std::chrono::milliseconds;
  const auto waited =
      std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - since);
  pollfd file{descriptor_, POLLOUT, 0};
  const int ready =
      poll(&file, 1, static_cast<int>(std::max(patience_ - waited, milliseconds(0)).count()));
  if (ready == 0 || (ready > 0 && waited > patience_)) errno = ETIME;
  return (ready > 0 && waited <= patience_) || (ready < 0 && errno == EINTR);
}

bool OutputFile::write(std::string_view text) noexcept {
  std::optional<NoPipeSignal> guard;
  if (is_pipe_) guard.emplace();
  auto moved = std::chrono::steady_clock::now();
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor_, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN && wait_for_room(moved)) continue;
    if (written < 0) return false;
    moved = std::chrono::steady_clock::now();
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

void OutputFile::refuse(const std::string& why) const {
  throw Error(ErrorKind::setting, fmt::format("{}='{}' is not valid: {}", setting_, pattern_, why));
}

void OutputFile::refuse_by_errno() const {
  refuse(fmt::format("give a file that can be written ({})", std::strerror(errno)));
}

}  // namespace penstock::base
