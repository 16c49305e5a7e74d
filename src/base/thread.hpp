// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <thread>

namespace penstock::base {

// Starts a thread of ours. It takes no signals (the program's threads do), save those that a
// thread's own fault raises. `name` is what debuggers show, at most 15 characters. Throws
// Error(resources).
std::thread start_thread(const char* name, std::function<void()> body);

}  // namespace penstock::base
