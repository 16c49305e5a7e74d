// SPDX-License-Identifier: Apache-2.0
#include "base/forked.hpp"

#include <pthread.h>

#include <atomic>
#include <cstring>
#include <string>

#include "base/error.hpp"

namespace penstock::base {
namespace {

std::atomic<bool> is_child{false};
std::atomic<void (*)() noexcept> leave{nullptr};

extern "C" void penstock_after_fork() {
  is_child.store(true, std::memory_order_relaxed);
  leave.load(std::memory_order_relaxed)();
}

}  // namespace

bool forked() noexcept {
  return is_child.load(std::memory_order_relaxed);
}

void mark_forks(void (*in_child)() noexcept) {
  leave.store(in_child, std::memory_order_relaxed);
  static const int failure = pthread_atfork(nullptr, nullptr, penstock_after_fork);
  if (failure != 0)
    throw Error(ErrorKind::resources,
                std::string("cannot have children of fork() marked: ") + std::strerror(failure));
}

}  // namespace penstock::base
