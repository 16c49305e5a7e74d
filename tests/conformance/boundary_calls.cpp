// SPDX-License-Identifier: Apache-2.0
#include "conformance/boundary_calls.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#if defined(__x86_64__)

extern "C" {
// Of this program, not of a library: found at a fixed distance from the thread's pointer.
__thread std::uint64_t penstock_test_library_calls = 0;
__thread std::uint64_t penstock_test_mpi_calls = 0;
std::uint64_t penstock_test_all_library_calls = 0;
std::uint64_t penstock_test_all_mpi_calls = 0;
}

// No register and no stack is touched, so it does for functions of any type.
#define COUNTED(kind, name)                  \
  extern "C" {                               \
  void* penstock_test_next_##name = nullptr; \
  }                                          \
  asm(".pushsection .text\n"                 \
      ".globl " #name                        \
      "\n"                                   \
      ".type " #name ", @function\n" #name   \
      ":\n"                                  \
      "  incq %fs:penstock_test_" #kind      \
      "_calls@tpoff\n"                       \
      "  lock incq penstock_test_all_" #kind \
      "_calls(%rip)\n"                       \
      "  jmp *penstock_test_next_" #name     \
      "(%rip)\n"                             \
      ".size " #name ", . - " #name          \
      "\n"                                   \
      ".popsection\n");
#include "boundary_calls.inc"
#undef COUNTED

namespace penstock::test {
namespace {

void* next(const char* name) {
  void* const found = dlsym(RTLD_NEXT, name);
  if (found == nullptr) {
    std::fprintf(stderr, "%s: %s\n", name, dlerror());
    std::abort();
  }
  return found;
}

// Before main: nothing calls MPI earlier.
[[gnu::constructor]] void find_all() {
#define COUNTED(kind, name) penstock_test_next_##name = next(#name);
#include "boundary_calls.inc"
#undef COUNTED
}

}  // namespace

bool can_count_boundary_calls() {
  return true;
}

BoundaryCalls boundary_calls_of_this_thread() {
  return {penstock_test_library_calls, penstock_test_mpi_calls};
}

BoundaryCalls boundary_calls_of_all_threads() {
  return {__atomic_load_n(&penstock_test_all_library_calls, __ATOMIC_SEQ_CST),
          __atomic_load_n(&penstock_test_all_mpi_calls, __ATOMIC_SEQ_CST)};
}

}  // namespace penstock::test

#else

namespace penstock::test {

bool can_count_boundary_calls() {
  return false;
}
BoundaryCalls boundary_calls_of_this_thread() {
  return {};
}
BoundaryCalls boundary_calls_of_all_threads() {
  return {};
}

}  // namespace penstock::test

#endif
