// SPDX-License-Identifier: Apache-2.0
#include "core/queues.hpp"

#include <system_error>

#include "base/error.hpp"
#include "base/trace_file.hpp"

namespace penstock::core {

using base::Error;
using base::ErrorKind;

std::uintptr_t Queues::create_stream(std::chrono::microseconds spin, int most_spinning) {
  std::shared_ptr<HostStream> stream;
  try {
    base::trace::StreamTrace* const trace =
        trace_ ? &trace_->add_stream(++stream_numbers_) : nullptr;
    stream = std::make_shared<HostStream>(spin, most_spinning, trace);
  } catch (const std::system_error& failure) {
    throw Error(ErrorKind::resources,
                std::string("the worker thread of a stream cannot be created: ") + failure.what());
  }
  const std::uintptr_t handle = streams_.insert(std::move(stream));
  if (handle == 0)
    throw Error(ErrorKind::resources, "65536 streams exist: free some with PST_Stream_free");
  return handle;
}

std::optional<Error> Queues::free_stream(std::uintptr_t handle,
                                         const std::function<bool()>& meanwhile) {
  HostStream* stream = streams_.find(handle);
  if (!stream)
    throw Error(ErrorKind::stream,
                "the stream is null or has been freed: make one with PST_Stream_create");
  const std::optional<Error> failure = free_own_queue(*stream, meanwhile);
  stream->stream.synchronize(meanwhile);
  streams_.remove(handle);
  return failure;
}

std::optional<Error> Queues::free_own_queue(HostStream& stream,
                                            const std::function<bool()>& meanwhile) {
  const std::uintptr_t own = stream.own_queue.load();
  const bool has_own = queues_.find(own) != nullptr;
  if (stream.queues.load() > (has_own ? 1 : 0))
    throw Error(ErrorKind::in_use,
                "a queue still uses the stream: free it first with PST_Queue_free");
  return has_own ? free_queue(own, meanwhile) : std::nullopt;
}

std::uintptr_t Queues::own_queue(std::uintptr_t stream) noexcept {
  const HostStream* const owner = streams_.find(stream);
  const std::uintptr_t own = owner ? owner->own_queue.load() : 0;
  return queues_.find(own) ? own : 0;
}

std::uintptr_t Queues::make_own_queue(std::uintptr_t stream,
                                      std::function<void(const Error&)> when_failed) {
  const std::lock_guard lock(own_queues_mutex_);
  if (const std::uintptr_t own = own_queue(stream)) return own;
  const std::uintptr_t made = create_queue(stream, std::move(when_failed));
  if (HostStream* const owner = streams_.find(stream)) owner->own_queue = made;
  return made;
}

std::uintptr_t Queues::create_queue(std::uintptr_t stream,
                                    std::function<void(const Error&)> when_failed) {
  const std::shared_ptr<HostStream> owner = streams_.share(stream);
  if (!owner)
    throw Error(
        ErrorKind::stream,
        "the stream of a new queue is null or has been freed: make one with PST_Stream_create");
  const std::shared_ptr<device::Stream> verbs(owner, &owner->stream);
  ++owner->queues;
  const std::shared_ptr<void> lease(nullptr, [owner](void*) { --owner->queues; });
  return add(verbs, owner->number(), lease, std::move(when_failed));
}

std::uintptr_t Queues::create_queue(std::shared_ptr<device::Stream> stream,
                                    std::function<void(const Error&)> when_failed) {
  return add(std::move(stream), 0, nullptr, std::move(when_failed));
}

std::uintptr_t Queues::add(std::shared_ptr<device::Stream> stream, std::uint64_t host_stream,
                           std::shared_ptr<void> lease,
                           std::function<void(const Error&)> when_failed) {
  const std::uint64_t number = ++numbers_;
  base::trace::QueueTrace* const trace = trace_ ? &trace_->add_queue(number, host_stream) : nullptr;
  const std::uintptr_t handle = queues_.insert(std::make_shared<Queue>(
      std::move(stream), std::move(lease), number, std::move(when_failed), trace));
  if (handle == 0)
    throw Error(ErrorKind::resources, "65536 queues exist: free some with PST_Queue_free");
  return handle;
}

void refuse_on_workers(const char* call) {
  if (device::host::Stream::on_a_worker())
    throw Error(ErrorKind::stream,
                std::string(call) +
                    " waits, so a function that runs on a stream cannot call it: call it from a "
                    "thread of the program");
}

std::optional<Error> Queues::free_queue(std::uintptr_t handle,
                                        const std::function<bool()>& meanwhile) {
  Queue* queue = queues_.find(handle);
  if (!queue) throw Error(ErrorKind::queue, "the queue is null or has been freed");
  queue->refuse_in_capture();
  queue->refuse_unwaited();
  std::optional<Error> failure;
  try {
    queue->complete(meanwhile);
  } catch (const Error& error) {
    // Requests may still refer to it.
    if (!queue->failed() || error.kind() == base::ErrorKind::resources) throw;
    failure = error;
  }
  // The monitor may hold the queue a little longer; the stream is free at once.
  queues_.remove(handle)->give_up_stream();
  return failure;
}

}  // namespace penstock::core
