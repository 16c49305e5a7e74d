// SPDX-License-Identifier: Apache-2.0
// What a stream stores into to let deferred work run: the trigger counter of the NIC itself, where
// the provider maps it, and otherwise a word that a relay thread reads.
#pragma once

#include <rdma/fi_domain.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/no_copy.hpp"
#include "ofi/cxi.hpp"

namespace penstock::ofi {

// The store that rings it, for whoever makes it without calling us: a kernel.
struct DoorbellStore {
  // What the stored value means.
  enum class Value : std::uint8_t {
    more,   // how many more operations may go
    total,  // how many in all: it only grows, and one stream stores it
  };

  void* address = nullptr;
  std::size_t width = 0;  // bytes, which are stored at once
  Value value = Value::total;
};

class Doorbell : private base::NoCopy {
 public:
  virtual ~Doorbell() = default;

  // The one stream: `count` more operations may go. One store; what was written before it is seen
  // by what it lets go.
  virtual void ring(std::uint64_t count) noexcept = 0;
  virtual DoorbellStore store() const noexcept = 0;
  // The one relay thread: hands on what has been rung. 1 if there was something, 0 if not, or the
  // counter's negative code; what it refused is handed on by a later call.
  virtual int relay() noexcept = 0;
  // Whether there has to be such a thread.
  virtual bool needs_relay() const noexcept = 0;
};

// The NIC counts the stores themselves.
class MappedDoorbell final : public Doorbell {
 public:
  // Returns null where the provider does not map the counter. The counter outlives the doorbell.
  static std::unique_ptr<MappedDoorbell> open(fid_cntr& counter);
  static bool offered(fid_cntr& counter) { return open(counter) != nullptr; }

  void ring(std::uint64_t count) noexcept override;
  DoorbellStore store() const noexcept override;
  int relay() noexcept override { return 0; }
  bool needs_relay() const noexcept override { return false; }

  volatile std::uint64_t* word(cxi::Register which) const noexcept {
    return words_ + static_cast<std::size_t>(which);
  }
  // The NIC writes the counter's value to this memory, of the host or of a GPU, when it changes
  // hands; cxi::decode() reads it. 0 or a negative code.
  int write_back_to(std::uint64_t* memory) noexcept;

 private:
  MappedDoorbell(fid_cntr& counter, const cxi::CounterOps& ops, void* address) noexcept
      : counter_(counter), ops_(ops), words_(static_cast<volatile std::uint64_t*>(address)) {}

  fid_cntr& counter_;
  const cxi::CounterOps& ops_;
  volatile std::uint64_t* const words_;
};

// A word in memory that the stream writes. It holds the total, so one plain store rings, whoever
// makes it, and nothing is lost when several are rung between two polls.
class WordDoorbell final : public Doorbell {
 public:
  // `word` is 0 now; it and the counter outlive the doorbell.
  WordDoorbell(fid_cntr& counter, std::uint64_t& word) noexcept : counter_(counter), word_(word) {}

  void ring(std::uint64_t count) noexcept override;
  DoorbellStore store() const noexcept override;
  int relay() noexcept override;
  bool needs_relay() const noexcept override { return true; }

 private:
  fid_cntr& counter_;
  std::uint64_t& word_;
  std::uint64_t rung_ = 0;     // the stream's
  std::uint64_t relayed_ = 0;  // the relay's
};

// The best that the provider offers for this counter. `word` is used if there is no better.
std::unique_ptr<Doorbell> make_doorbell(fid_cntr& counter, std::uint64_t& word);

}  // namespace penstock::ofi
