// SPDX-License-Identifier: Apache-2.0
#include "conformance/system_calls.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PENSTOCK_TEST_COUNTS 0
#else
#define PENSTOCK_TEST_COUNTS 1
#endif

namespace penstock::test {
namespace {

thread_local Activity* active = nullptr;

}  // namespace
}  // namespace penstock::test

#if PENSTOCK_TEST_COUNTS

extern "C" {

void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);

static void count_allocation() {
  if (penstock::test::active != nullptr) ++penstock::test::active->allocations;
}

void* malloc(std::size_t size) {
  count_allocation();
  return __libc_malloc(size);
}

void* calloc(std::size_t count, std::size_t size) {
  count_allocation();
  return __libc_calloc(count, size);
}

void* realloc(void* base, std::size_t size) {
  count_allocation();
  return __libc_realloc(base, size);
}

void* memalign(std::size_t alignment, std::size_t size) {
  count_allocation();
  return __libc_memalign(alignment, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) {
  count_allocation();
  return __libc_memalign(alignment, size);
}

void free(void* base) {
  count_allocation();
  __libc_free(base);
}

static void count_lock() {
  if (penstock::test::active != nullptr) ++penstock::test::active->locks;
}

int pthread_mutex_lock(pthread_mutex_t* mutex) {
  static const auto next =
      reinterpret_cast<int (*)(pthread_mutex_t*)>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  count_lock();
  return next(mutex);
}

int pthread_mutex_trylock(pthread_mutex_t* mutex) {
  static const auto next =
      reinterpret_cast<int (*)(pthread_mutex_t*)>(dlsym(RTLD_NEXT, "pthread_mutex_trylock"));
  count_lock();
  return next(mutex);
}

int pthread_rwlock_rdlock(pthread_rwlock_t* lock) {
  static const auto next =
      reinterpret_cast<int (*)(pthread_rwlock_t*)>(dlsym(RTLD_NEXT, "pthread_rwlock_rdlock"));
  count_lock();
  return next(lock);
}

int pthread_rwlock_wrlock(pthread_rwlock_t* lock) {
  static const auto next =
      reinterpret_cast<int (*)(pthread_rwlock_t*)>(dlsym(RTLD_NEXT, "pthread_rwlock_wrlock"));
  count_lock();
  return next(lock);
}

}  // extern "C"

#endif

// Syscall user dispatch: while the selector says so, the kernel turns each system call of the
// thread into a SIGSYS, except those made from one range of code. The handler counts, and makes the
// call itself from that range; it also returns through it.
#if PENSTOCK_TEST_COUNTS && defined(__x86_64__) && defined(PR_SET_SYSCALL_USER_DISPATCH)
#define PENSTOCK_TEST_DISPATCH 1

asm(R"(
  .pushsection .text
  .globl penstock_test_gate, penstock_test_restorer, penstock_test_gate_end
penstock_test_gate:
  movq %rdi, %rax
  movq %rsi, %rdi
  movq %rdx, %rsi
  movq %rcx, %rdx
  movq %r8, %r10
  movq %r9, %r8
  movq 8(%rsp), %r9
  syscall
  ret
penstock_test_restorer:
  movq $15, %rax
  syscall
  ud2
penstock_test_gate_end:
  .popsection
)");

extern "C" {
long penstock_test_gate(long number, long a, long b, long c, long d, long e, long f);
void penstock_test_restorer();
extern char penstock_test_gate_end[];
}
#else
#define PENSTOCK_TEST_DISPATCH 0
#endif

namespace penstock::test {

#if PENSTOCK_TEST_DISPATCH
namespace {

thread_local char selector = SYSCALL_DISPATCH_FILTER_ALLOW;

void on_system_call(int, siginfo_t*, void* context) {
  greg_t* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const auto number = registers[REG_RAX];
  if (active != nullptr && number >= 0 &&
      static_cast<std::size_t>(number) < active->system_calls.size()) {
    ++active->system_calls[static_cast<std::size_t>(number)];
  }
  registers[REG_RAX] =
      penstock_test_gate(number, registers[REG_RDI], registers[REG_RSI], registers[REG_RDX],
                         registers[REG_R10], registers[REG_R8], registers[REG_R9]);
}

// The C library's sigaction would set its own restorer, whose system call lies outside the range.
bool install_handler() {
  struct {
    void (*handler)(int, siginfo_t*, void*);
    unsigned long flags;
    void (*restorer)();
    unsigned long mask;
  } action{on_system_call, SA_SIGINFO | SA_NODEFER | 0x04000000, penstock_test_restorer, 0};
  return syscall(SYS_rt_sigaction, SIGSYS, &action, nullptr, sizeof action.mask) == 0;
}

bool dispatch(unsigned long mode) {
  if (mode == PR_SYS_DISPATCH_OFF) return prctl(PR_SET_SYSCALL_USER_DISPATCH, mode, 0, 0, 0) == 0;
  const auto begin = reinterpret_cast<unsigned long>(&penstock_test_gate);
  const auto end = reinterpret_cast<unsigned long>(penstock_test_gate_end);
  return prctl(PR_SET_SYSCALL_USER_DISPATCH, mode, begin, end - begin, &selector) == 0;
}

}  // namespace

bool can_count_system_calls() {
  static const bool works =
      install_handler() && dispatch(PR_SYS_DISPATCH_ON) && dispatch(PR_SYS_DISPATCH_OFF);
  return works;
}
#else
bool can_count_system_calls() {
  return false;
}
#endif

bool can_count() {
  return PENSTOCK_TEST_COUNTS != 0;
}

void begin_counting(Activity& activity) {
#if PENSTOCK_TEST_DISPATCH
  if (can_count_system_calls()) {
    dispatch(PR_SYS_DISPATCH_ON);
    selector = SYSCALL_DISPATCH_FILTER_BLOCK;
  }
#endif
  active = &activity;
}

void end_counting() {
  active = nullptr;
#if PENSTOCK_TEST_DISPATCH
  if (can_count_system_calls()) {
    selector = SYSCALL_DISPATCH_FILTER_ALLOW;
    dispatch(PR_SYS_DISPATCH_OFF);
  }
#endif
}

std::uint64_t Activity::system_calls_beyond_waiting() const {
  std::uint64_t sum = 0;
  for (const std::uint32_t count : system_calls) sum += count;
  return sum - system_calls_that_wait();
}

std::uint64_t Activity::system_calls_that_wait() const {
  std::uint64_t sum = 0;
  for (const int waiting : {SYS_sched_yield, SYS_nanosleep, SYS_clock_nanosleep})
    sum += system_calls[static_cast<std::size_t>(waiting)];
  return sum;
}

std::string Activity::text() const {
  std::string out = std::to_string(allocations) + " allocations and frees, " +
                    std::to_string(locks) + " locks, system calls:";
  for (std::size_t number = 0; number < system_calls.size(); ++number) {
    if (system_calls[number] != 0)
      out += " " + std::to_string(number) + " x " + std::to_string(system_calls[number]);
  }
  return out;
}

}  // namespace penstock::test
