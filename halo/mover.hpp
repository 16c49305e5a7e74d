// SPDX-License-Identifier: Apache-2.0
// Where arrays and messages lie, and who moves cells between them.
#pragma once

#include <memory>

#include "steering.hpp"

namespace penstock::halo {

class Mover {
 public:
  virtual ~Mover() = default;

  virtual std::byte* allocate(std::uint64_t bytes) = 0;
  // Allocates memory of the host, where MPI and the device reach it.
  virtual std::byte* allocate_staging(std::uint64_t bytes) { return allocate(bytes); }
  virtual void free(std::byte* memory) noexcept = 0;
  // Whether MPI says that it takes memory of allocate().
  virtual bool mpi_takes_memory() const { return true; }

  // These move all messages in one step, in the stream's order.
  virtual void pack(Direction direction, std::span<const Array> arrays, std::byte* outgoing) = 0;
  virtual void unpack(Direction direction, Reduction reduction, std::span<const Array> arrays,
                      const std::byte* incoming) = 0;
  // The same for one neighbour's message, of gathers only.
  virtual void unpack_from(std::size_t neighbour, std::span<const Array> arrays,
                           const std::byte* incoming) = 0;

  virtual void synchronize() = 0;
  // Throws where what is enqueued now is being captured.
  virtual void expect_no_capture() const {}
};

// It works on a host stream, or on the calling thread where the stream is PST_STREAM_NULL.
std::unique_ptr<Mover> make_host_mover(PST_Stream stream, const Steering& steering);
// It works on a stream of a GPU, whichever is current; of the default streams that of the current
// one. Throws where none is built in.
std::unique_ptr<Mover> make_gpu_mover(void* stream, const Steering& steering);

std::unique_ptr<Mover> make_mover(PST_Queue_type type, void* stream, const Steering& steering);

}  // namespace penstock::halo
