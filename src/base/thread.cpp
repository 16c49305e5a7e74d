// SPDX-License-Identifier: Apache-2.0
#include "base/thread.hpp"

#include <pthread.h>

#include <csignal>
#include <string>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "base/no_copy.hpp"
#include "base/run_delay.hpp"

namespace penstock::base {
namespace {

// A new thread inherits its creator's mask, so there is no moment in which it could take a signal.
class SignalsBlocked : private NoCopy {
 public:
  SignalsBlocked() noexcept {
    sigset_t all;
    sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT})
      sigdelset(&all, fault);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

std::thread start_thread(const char* name, std::function<void()> body) {
  const SignalsBlocked blocked;
  try {
    std::thread thread([body = std::move(body)] {
      body();
      keep_run_delay();
    });
    pthread_setname_np(thread.native_handle(), name);
    return thread;
  } catch (const std::system_error& failure) {
    throw Error(ErrorKind::resources,
                std::string("cannot create a thread: ") + failure.what() +
                    "; raise the limit of processes (ulimit -u) or use fewer streams");
  }
}

}  // namespace penstock::base
