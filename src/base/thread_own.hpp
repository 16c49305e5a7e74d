// SPDX-License-Identifier: Apache-2.0
// A thread's own object, for as long as the thread runs. A thread_local with a destructor is gone
// before exit handlers and the destructors of static objects run, and programs may call us in
// these.
#pragma once

#include <utility>

namespace penstock::base {

// The calling thread's T, made by its first call. One that is asked for when the thread's
// thread_locals have gone stays until the process ends. Throws what making a T throws.
template <class T>
T& thread_own() {
  static thread_local T* object = nullptr;  // has no destructor, so it can be read at any time
  struct End {
    ~End() { delete std::exchange(object, nullptr); }
  };
  if (object == nullptr) [[unlikely]] {
    object = new T;
    static thread_local End end;
    (void)end;
  }
  return *object;
}

}  // namespace penstock::base
