// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <penstock/penstock.hpp>

#include "common/options.hpp"

namespace penstock::apps {

// Some work that can be launched as a whole, any number of times.
class Replay {
 public:
  virtual ~Replay() = default;
  virtual void launch() = 0;
};

// A point in the work of a lane.
class Mark {
 public:
  virtual ~Mark() = default;
  // Behind all earlier work.
  virtual void set() = 0;
  // Blocks until the work before the last set() has ended.
  virtual void await() = 0;
};

// Where the kernels of a variant run, one after the other: on the calling thread, on a stream of
// the host or on one of a GPU.
class Lane {
 public:
  using Kernel = std::function<void()>;
  virtual ~Lane() = default;

  // Runs the kernel behind all earlier work: at once on the calling thread, later on a stream of
  // the host. On a GPU the function is called at once, and launches on gpu_stream(). It must live
  // until it has run.
  virtual void launch(const Kernel& kernel) = 0;
  // Where the device can (runs_beside), the kernel runs behind all work before fork() and beside
  // all work between fork() and join(); gpu_stream() is another one while it is called. Elsewhere
  // as launch().
  virtual void fork() {}
  virtual void launch_beside(const Kernel& kernel) { launch(kernel); }
  virtual void join() {}
  virtual bool runs_beside() const { return false; }

  // Blocks until all work that later work would wait for has ended, and what was started on the
  // queue. Throws where that has failed.
  virtual void synchronize() = 0;
  // The same for work alone: messages may still be under way.
  virtual void settle() = 0;
  virtual std::unique_ptr<Mark> make_mark() = 0;

  // What follows needs a stream. The queue of messages:
  virtual QueueView queue() = 0;
  // A cudaStream_t or hipStream_t.
  virtual void* gpu_stream() const { return nullptr; }
  // The stream of the host, PST_STREAM_NULL where there is none.
  virtual PST_Stream host_stream() const { return PST_STREAM_NULL; }
  virtual std::unique_ptr<Replay> capture(const std::function<void()>& program) = 0;
};

// A thread that calls MPI and computes, or a stream, as the variant and the device need it.
std::unique_ptr<Lane> make_lane(DeviceKind device, Comm comm);

// A GPU for this rank, in turn where there are fewer than ranks. Collective: without one it fails
// on all ranks.
void choose_device(DeviceKind device);

}  // namespace penstock::apps
