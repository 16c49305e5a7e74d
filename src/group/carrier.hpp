// SPDX-License-Identifier: Apache-2.0
// What brings the letters of a mailbox to other processes: MPI, or memory where many ranks are
// simulated in one process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace penstock::group {

class Carrier {
 public:
  // What is under way, as bits that mean something to the carrier alone.
  using Transfer = std::uintptr_t;
  using Announced = std::uintptr_t;

  // What has become of a transfer. With `failed` (the call that has) it is over, too.
  struct Step {
    bool done = false;
    const char* failed = nullptr;
    int code = 0;
  };
  struct Arrival {
    int rank = -1;
    std::size_t bytes = 0;
    Announced announced = 0;
  };

  virtual ~Carrier() = default;

  virtual int ranks() const = 0;
  // The bytes stay where they are until the transfer is done. Those to one rank arrive in order.
  virtual Step send(int rank, std::span<const std::byte> bytes, Transfer& transfer) noexcept = 0;
  virtual Step test(Transfer& transfer) noexcept = 0;
  // Something that has arrived, in the order of its sender's: it is shown once, and must be
  // received. Throws base::Error(mpi).
  virtual std::optional<Arrival> find() = 0;
  virtual Step receive(const Arrival& arrival, std::span<std::byte> bytes,
                       Transfer& transfer) noexcept = 0;
  // Nobody asks for the transfer any more. Its bytes are never freed, as it may still use them.
  virtual void abandon(Transfer transfer) noexcept = 0;
  // Why a call has failed.
  virtual std::string text_of(int code) const = 0;
};

// By MPI, on a private duplicate of MPI_COMM_WORLD: making and deleting it is collective.
std::unique_ptr<Carrier> make_mpi_carrier();

}  // namespace penstock::group
