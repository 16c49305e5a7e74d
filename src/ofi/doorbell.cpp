// SPDX-License-Identifier: Apache-2.0
#include "ofi/doorbell.hpp"

#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>

#include <atomic>

namespace penstock::ofi {
namespace {

// Stores to memory come before the store to the device, which reads that memory. The language
// orders memory only.
void order_before_device() noexcept {
#if defined(__aarch64__)
  asm volatile("dmb oshst" ::: "memory");
#elif defined(__x86_64__)
  asm volatile("sfence" ::: "memory");
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

}  // namespace

std::unique_ptr<MappedDoorbell> MappedDoorbell::open(fid_cntr& counter) {
  fid& object = counter.fid;
  void* opened = nullptr;
  // A provider that knows no extensions may leave the function out.
  if (!FI_CHECK_OP(object.ops, struct fi_ops, ops_open)) return nullptr;
  if (fi_open_ops(&object, cxi::counter_ops, 0, &opened, nullptr) != 0 || opened == nullptr)
    return nullptr;
  const auto& ops = *static_cast<const cxi::CounterOps*>(opened);
  void* address = nullptr;
  std::size_t bytes = 0;
  if (ops.get_mmio_addr == nullptr || ops.get_mmio_addr(&object, &address, &bytes) != 0)
    return nullptr;
  if (address == nullptr || bytes < sizeof(std::uint64_t)) return nullptr;
  return std::unique_ptr<MappedDoorbell>(new MappedDoorbell(counter, ops, address));
}

void MappedDoorbell::ring(std::uint64_t count) noexcept {
  order_before_device();
  __atomic_store_n(word(cxi::Register::add), count, __ATOMIC_RELEASE);
}

DoorbellStore MappedDoorbell::store() const noexcept {
  return {const_cast<std::uint64_t*>(word(cxi::Register::add)), sizeof(std::uint64_t),
          DoorbellStore::Value::more};
}

int MappedDoorbell::write_back_to(std::uint64_t* memory) noexcept {
  if (ops_.set_wb_buffer == nullptr) return -FI_ENOSYS;
  return ops_.set_wb_buffer(&counter_.fid, memory, sizeof *memory);
}

// Release, and acquire by the relay: the message was written before the operation that reads it may
// go.
void WordDoorbell::ring(std::uint64_t count) noexcept {
  rung_ += count;
  std::atomic_ref(word_).store(rung_, std::memory_order_release);
}

DoorbellStore WordDoorbell::store() const noexcept {
  return {&word_, sizeof word_, DoorbellStore::Value::total};
}

int WordDoorbell::relay() noexcept {
  const std::uint64_t rung = std::atomic_ref(word_).load(std::memory_order_acquire);
  if (rung == relayed_) return 0;
  if (const int code = fi_cntr_add(&counter_, rung - relayed_); code != 0) return code;
  relayed_ = rung;
  return 1;
}

std::unique_ptr<Doorbell> make_doorbell(fid_cntr& counter, std::uint64_t& word) {
  if (auto mapped = MappedDoorbell::open(counter)) return mapped;
  return std::make_unique<WordDoorbell>(counter, word);
}

}  // namespace penstock::ofi
