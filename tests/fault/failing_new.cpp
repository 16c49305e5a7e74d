// SPDX-License-Identifier: Apache-2.0
// Preloaded, it lets allocations of libpenstock fail as if there were no memory, also those that
// the C++ library and fmt make for it: from failing_new_begin() on those that are number
// PENSTOCK_TEST_FAIL_FIRST and behind it, PENSTOCK_TEST_FAIL_COUNT of them; by failing_new_one()
// one alone, of those from there on.
#include <link.h>
#include <unwind.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

struct Range {
  std::uintptr_t begin = UINTPTR_MAX, end = 0;
};

std::atomic<bool> begun{false};
std::atomic<long> calls{0};
long first = 0, behind_last = 0;
Range library;

int find_library(dl_phdr_info* info, std::size_t, void*) {
  if (info->dlpi_name == nullptr || std::strstr(info->dlpi_name, "libpenstock.so") == nullptr)
    return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    const std::uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    if (begin < library.begin) library.begin = begin;
    if (begin + segment.p_memsz > library.end) library.end = begin + segment.p_memsz;
  }
  return 1;
}

long number_in(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? 0 : std::atol(text);
}

struct Callers {
  int frames_left = 8;  // of those behind operator new, in which a string or a text's buffer grows
  bool in_library = false;
};

_Unwind_Reason_Code look_at_caller(_Unwind_Context* context, void* argument) {
  auto& callers = *static_cast<Callers*>(argument);
  const std::uintptr_t address = _Unwind_GetIP(context);
  callers.in_library = address >= library.begin && address < library.end;
  return callers.in_library || --callers.frames_left == 0 ? _URC_END_OF_STACK : _URC_NO_REASON;
}

bool is_to_fail() {
  if (!begun.load(std::memory_order_relaxed)) return false;
  Callers callers;
  _Unwind_Backtrace(look_at_caller, &callers);
  if (!callers.in_library) return false;
  const long number = calls.fetch_add(1, std::memory_order_relaxed);
  return number >= first && number < behind_last;
}

void* allocate(std::size_t bytes, std::size_t alignment) {
  void* const memory =
      is_to_fail() ? nullptr
                   : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void begin(long from, long count) {
  first = from;
  behind_last = from + count;
  dl_iterate_phdr(find_library, nullptr);
  begun.store(true);
}

}  // namespace

extern "C" void failing_new_begin() {
  begin(number_in("PENSTOCK_TEST_FAIL_FIRST"), number_in("PENSTOCK_TEST_FAIL_COUNT"));
}

extern "C" void failing_new_one(long number) {
  begin(calls.load() + number, 1);
}

extern "C" long failing_new_calls() {
  return calls.load();
}

void* operator new(std::size_t bytes) {
  return allocate(bytes, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return is_to_fail() ? nullptr : std::malloc(bytes);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
