// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "api/errors.hpp"
#include "api/handles.hpp"
#include "base/log.hpp"
#include "core/monitor.hpp"
#include "core/queues.hpp"
#include "core/transports.hpp"
#include "device/gpu.hpp"

using namespace penstock;
using base::Error;
using base::ErrorKind;

namespace {

// With MPI_ERRORS_ARE_FATAL a failure of communication ends the job from the thread that sees it:
// the program may only be synchronising its stream, and would compute on with what never came. The
// handler is read when the queue is made, if the calling thread may call MPI; a queue may be made
// by any thread.
std::function<void(const Error&)> abort_if_fatal(core::Library& library) {
  if (library.may_call_mpi() || library.world().thread_level() == group::ThreadLevel::serialized)
    api::look_at_error_handler();
  if (!api::errors_are_fatal()) return {};
  const bool any_thread = library.world().thread_level() == group::ThreadLevel::multiple;
  return [any_thread](const Error&) {
    base::log::failures_in([] {
      base::log::error(
          "ending the job, as the error handler of MPI_COMM_WORLD is MPI_ERRORS_ARE_FATAL: set "
          "MPI_ERRORS_RETURN before PST_Queue_init to go on after a failure");
    });
    if (any_thread) PMPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    // Below MPI_THREAD_MULTIPLE our threads must not call MPI; the launcher ends the others.
    std::abort();
  };
}

std::uintptr_t create_on_host(core::Library& library, const void* stream) {
  // A program's address is not taken for a handle: its low bits would have to be the number of a
  // stream that exists.
  if (library.queues().streams().find(reinterpret_cast<std::uintptr_t>(stream)) != nullptr)
    throw Error(ErrorKind::stream,
                "the address of the stream is wanted, not its handle: pass &stream");
  const auto handle = reinterpret_cast<std::uintptr_t>(*static_cast<const PST_Stream*>(stream));
  return library.queues().create_queue(handle, abort_if_fatal(library));
}

std::uintptr_t create_on_gpu(core::Library& library, device::Vendor vendor, const void* stream) {
  std::shared_ptr<device::Stream> opened = device::open_gpu_stream(vendor, stream);
  library.transports().prepare(*opened);
  return library.queues().create_queue(std::move(opened), abort_if_fatal(library));
}

std::uintptr_t create(core::Library& library, PST_Queue_type type, const void* stream) {
  switch (type) {
    case PST_QUEUE_HOST:
      return create_on_host(library, stream);
    case PST_QUEUE_CUDA:
      return create_on_gpu(library, device::Vendor::cuda, stream);
    case PST_QUEUE_HIP:
      return create_on_gpu(library, device::Vendor::hip, stream);
    default:
      throw Error(ErrorKind::argument,
                  "unknown queue type " + std::to_string(static_cast<int>(type)) +
                      ": the types are PST_QUEUE_HOST, PST_QUEUE_CUDA and PST_QUEUE_HIP");
  }
}

// 0: the program has no stream of a GPU. A thread that names one stream again and again takes no
// lock.
std::uintptr_t own_queue_on_gpu(core::Library& library, void* stream) {
  static thread_local std::pair<std::uint64_t, std::uintptr_t> last{0, 0};
  const auto number = device::gpu_stream_number(stream);
  if (!number) return 0;
  core::Queues& queues = library.queues();
  if (last.first != *number || queues.queues().find(last.second) == nullptr)
    last = {*number, queues.own_queue_of_gpu(*number, [&] {
              return create_on_gpu(library, device::built_for, &stream);
            })};
  return last.second;
}

std::uintptr_t own_queue(core::Library& library, void* stream) {
  core::Queues& queues = library.queues();
  const auto handle = reinterpret_cast<std::uintptr_t>(stream);
  if (const std::uintptr_t own = queues.own_queue(handle)) return own;
  if (queues.streams().find(handle) == nullptr)
    if (const std::uintptr_t own = own_queue_on_gpu(library, stream)) return own;
  return queues.make_own_queue(handle, abort_if_fatal(library));
}

}  // namespace

int PST_Queue_init(PST_Queue* queue, PST_Queue_type type, void* stream) {
  return api::guard_any_thread([&](core::Library& library) {
    api::require_pointer(queue, "queue");
    api::require_pointer(stream, "the address of the stream handle");
    *queue = reinterpret_cast<PST_Queue>(create(library, type, stream));
    library.monitor().begin_watching();
  });
}

int PST_Stream_queue(void* stream, PST_Queue* queue) {
  return api::guard_any_thread([&](core::Library& library) {
    api::require_pointer(queue, "queue");
    *queue = reinterpret_cast<PST_Queue>(own_queue(library, stream));
    library.monitor().begin_watching();
  });
}

int PST_Queue_free(PST_Queue* queue) {
  return api::guard_any_thread([&](core::Library& library) {
    api::require_pointer(queue, "queue");
    core::refuse_on_workers("PST_Queue_free");
    const auto failure =
        library.queues().free_queue(reinterpret_cast<std::uintptr_t>(*queue), library.meanwhile());
    *queue = PST_QUEUE_NULL;
    if (failure) throw Error(*failure);
  });
}

int PST_Queue_wait(PST_Queue queue) {
  return api::guard_any_thread([&](core::Library& library) {
    core::Queue& found = api::queue_of(library, queue);
    core::refuse_on_workers("PST_Queue_wait");
    found.complete(library.meanwhile());
    library.transports().queue_waited();
  });
}

int PST_Queue_batch_begin(PST_Queue queue) {
  return api::guard_any_thread(
      [&](core::Library& library) { api::queue_of(library, queue).begin_batch(); });
}

int PST_Queue_batch_end(PST_Queue queue) {
  return api::guard_any_thread(
      [&](core::Library& library) { api::queue_of(library, queue).end_batch(); });
}

int PST_Queue_test(PST_Queue queue, int* flag) {
  return api::guard_any_thread([&](core::Library& library) {
    core::Queue& target = api::queue_of(library, queue);
    api::require_pointer(flag, "flag");
    *flag = target.test() ? 1 : 0;
    // A loop of tests stands for one of MPI_Test, which moves MPI's messages.
    if (*flag == 0)
      if (const auto drive = library.meanwhile()) drive();
  });
}
