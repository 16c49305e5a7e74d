// SPDX-License-Identifier: Apache-2.0
// What a member of a collective does in its own memory, in the order of its stream: by the stream's
// thread on the host, by kernels on a GPU.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "coll/local_work.hpp"
#include "coll/schedule.hpp"
#include "device/stream.hpp"
#include "transport/sink.hpp"

namespace penstock::coll {

class LocalSteps {
 public:
  virtual ~LocalSteps() = default;

  // The member's memory, with the temporary one.
  virtual const Memory& memory() const noexcept = 0;
  // Throws base::Error(unsupported). `label`: of the request.
  virtual void check_stream(const std::string& label, const device::Stream& stream) const = 0;
  // Those of a phase, behind all that the stream has been given. They do nothing where its queue
  // has failed: what has not come is not combined, and nothing stale is sent on.
  virtual void enqueue(std::size_t phase, device::Stream& stream, transport::Sink& sink) = 0;
  // A wait has been enqueued; its enqueue call has flushed the stream; the next start comes on
  // another one. As transport::Plan has them.
  virtual void end_wait(device::Stream& stream) = 0;
  virtual void wait_flushed(device::Stream& stream) noexcept = 0;
  virtual void hand_over(device::Stream* last, device::Stream& next) = 0;
  // Calls ended(argument) behind all that the stream has been given.
  virtual void close(device::Stream& stream, void (*ended)(void*), void* argument) = 0;
};

// In memory of a GPU, or of the host (-1). Null where the member has no memory in it, as in a
// barrier: any stream serves that. Throws base::Error(resources).
std::unique_ptr<LocalSteps> make_local_steps(std::shared_ptr<const Schedule> schedule,
                                             const Memory& memory, const Combination& combination,
                                             int gpu);

// Of a GPU.
std::unique_ptr<LocalSteps> make_kernel_steps(const Schedule& schedule, const Memory& memory,
                                              const Combination& combination, int gpu);

}  // namespace penstock::coll
