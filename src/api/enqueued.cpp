// SPDX-License-Identifier: Apache-2.0
#include "api/enqueued.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "api/errors.hpp"
#include "api/handles.hpp"
#include "api/members.hpp"
#include "api/recorder_driving.hpp"
#include "core/transports.hpp"
#include "device/gpu.hpp"
#include "enqueued/engine.hpp"
#include "enqueued/promise.hpp"
#include "enqueued/queue_messages.hpp"
#include "group/mpi_check.hpp"
#include "group/mpi_communicator.hpp"
#include "group/mpi_handle.hpp"
#include "group/mpi_member_group.hpp"
#include "group/world_ranks.hpp"

namespace penstock::api {

using base::Error;
using base::ErrorKind;
using enqueued::MessageEngine;
using enqueued::QueueMessages;

namespace {

// Never destroyed: threads of the program may still look at it after the end, and a child of fork()
// must not wait for its thread.
std::mutex mutex;
std::atomic<MessageEngine*> engine{nullptr};
// Under the mutex. Those of communicators that are never freed stay: messages may point at them
// until the queues have ended.
auto& promises = *new std::vector<std::unique_ptr<enqueued::Promise>>;

// MPI may ask for the status of one request again and again, and calls the error handler of
// MPI_COMM_WORLD itself.
int error_to_mpi(const Error& error, bool again) {
  if (again) return error_code(error.kind());
  return guard([&] { throw error; });
}

MessageEngine& engine_of(core::Library& library) {
  const std::lock_guard lock(mutex);
  if (MessageEngine* const made = engine.load(std::memory_order_relaxed)) return *made;
  if (library.world().thread_level() != group::ThreadLevel::multiple)
    throw Error(ErrorKind::thread_level,
                "enqueued messages are handed to MPI by threads of Penstock, and MPI was "
                "initialised with " +
                    std::string(group::name_of(library.world().thread_level())) +
                    ": call MPI_Init_thread with MPI_THREAD_MULTIPLE, or set "
                    "PENSTOCK_THREAD_MULTIPLE=1");
  tell_requests_of_errors();
  const base::Settings& settings = library.settings();
  auto* const made = new MessageEngine(
      plan::ProgressOptions{settings.check, library.spin_beside_a_worker(), settings.timeout},
      library.world());
  engine.store(made, std::memory_order_release);
  return *made;
}

QueueMessages* messages_of(const core::Queue& queue) noexcept {
  return static_cast<QueueMessages*>(queue.companion());
}

QueueMessages& messages_for(core::Library& library, core::Queue& queue) {
  if (QueueMessages* const found = messages_of(queue)) return *found;
  MessageEngine& moved_by = engine_of(library);
  std::unique_ptr<enqueued::Staging> staging;
  if (queue.stream().kind() != device::StreamKind::host)
    staging = enqueued::make_staging(queue, library.transports().gpus(), library.settings(),
                                     moved_by.lane_memory());
  queue.take_companion(std::make_unique<QueueMessages>(moved_by, queue, std::move(staging)));
  return *messages_of(queue);
}

// A handle that is no stream of ours is a GPU's, where there are any.
PST_Queue_type type_of(core::Library& library, const void* stream) {
  const auto handle = reinterpret_cast<std::uintptr_t>(stream);
  if (library.queues().streams().find(handle) != nullptr) return PST_QUEUE_HOST;
  if (!device::built_for_gpus)
    throw Error(
        ErrorKind::stream,
        "the stream is null, freed, or an address: PST_Queue_create takes the handle itself "
        "(stream, not &stream); make one with PST_Stream_create");
  return device::built_for == device::Vendor::hip ? PST_QUEUE_HIP : PST_QUEUE_CUDA;
}

// Only a queue over a stream of a GPU has a place for messages from there.
void require_memory_of_mpi(const core::Library& library, core::Queue& queue, const void* buffer) {
  if (device::built_for_gpus && queue.stream().kind() == device::StreamKind::host &&
      device::memory_kind(buffer) != device::MemoryKind::host && !library.settings().gpu_aware_mpi)
    throw Error(ErrorKind::unsupported,
                "the buffer is in memory of a GPU, and the queue is over a host stream: make a "
                "queue over a stream of the GPU, or set PENSTOCK_GPU_AWARE_MPI=1 if MPI takes such "
                "memory");
}

// MPI would carry it, while the engine of large messages had a plain other end. Where all messages
// are promised to be enqueued there is none.
void require_not_large(const enqueued::MessageCall& call, MPI_Comm comm) {
  const char* const name =
      call.direction == transport::Direction::send ? "PST_Enqueue_send" : "PST_Enqueue_recv";
  const auto large = large_message(
      {name, call.direction, call.buffer, call.count, call.type, call.peer, call.tag, comm});
  if (!large || large->communicator->promise.load(std::memory_order_acquire) != nullptr) return;
  throw Error(ErrorKind::unsupported,
              std::string(name) + " of " + std::to_string(large->bytes) + " bytes on " +
                  large->communicator->name +
                  ": with PENSTOCK_OVERLAP=exact plain messages of that size do not meet enqueued "
                  "ones: enqueue both ends on a communicator of PST_Comm_enqueue_only, or leave "
                  "PENSTOCK_OVERLAP off");
}

int enqueue(const enqueued::MessageCall& call, PST_Queue queue, MPI_Request* request) noexcept {
  return guard([&](core::Library& library) {
    core::Queue& target = queue_of(library, queue);
    require_memory_of_mpi(library, target, call.buffer);
    QueueMessages& messages = messages_for(library, target);
    if (overlaps()) require_not_large(call, messages.comm_of(call));
    messages.enqueue(call, request);
  });
}

void require_promisable(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL)
    throw Error(ErrorKind::communicator, "PST_Comm_enqueue_only of MPI_COMM_NULL");
  const group::Members members = group::members_of(comm);
  if (!members.all_in_world())
    throw Error(ErrorKind::communicator,
                "PST_Comm_enqueue_only: the communicator has members outside MPI_COMM_WORLD "
                "(started by MPI_Comm_spawn, or joined by connect, accept or join); leave their "
                "messages to MPI, and promise one of members of MPI_COMM_WORLD");
  if (members.intercommunicator)
    throw Error(ErrorKind::unsupported,
                "PST_Comm_enqueue_only of an intercommunicator: make an intracommunicator of it "
                "with MPI_Intercomm_merge");
}

// Who comes when others have given up passes the first barrier with them, and not the second.
bool all_come(core::Library& library, MPI_Comm comm, const group::Communicator& communicator) {
  const int members = group::peers_of(communicator);
  std::vector<int> world_ranks;
  world_ranks.reserve(static_cast<std::size_t>(members));
  for (int member = 0; member < members; ++member)
    world_ranks.push_back(group::world_rank(communicator, member));
  const auto limit = library.settings().timeout;
  const auto meanwhile = while_alive(library, std::move(world_ranks));
  return group::meet(comm, limit, meanwhile) && group::meet(comm, limit, meanwhile);
}

void await_members(core::Library& library, MPI_Comm comm, group::Communicator& communicator) {
  const bool had_given_up = communicator.left_to_mpi.exchange(true);  // until all have come
  if (had_given_up || !all_come(library, comm, communicator))
    throw Error(ErrorKind::timeout,
                "PST_Comm_enqueue_only is collective, and PENSTOCK_TIMEOUT has passed before all "
                "members of " +
                    communicator.name +
                    " have called it; its collectives do not match any more: leave it, and make a "
                    "new communicator");
  communicator.left_to_mpi.store(false, std::memory_order_release);
}

// Collective. What fails on one member fails on all.
void promise(core::Library& library, MPI_Comm comm) {
  require_promisable(comm);
  const auto communicator = group::communicator_of(comm);
  if (communicator->promise.load(std::memory_order_acquire) != nullptr) return;
  await_members(library, comm, *communicator);
  auto members = group::MpiMemberGroup::of_communicator(comm, watch_alive(library));
  members->together([&] {
    engine_of(library);
    const std::lock_guard lock(mutex);
    promises.reserve(promises.size() + 1);
    if (communicator->enqueued.load(std::memory_order_acquire) > 0)
      throw Error(ErrorKind::in_use,
                  communicator->name +
                      " has enqueued messages that have not been handed to MPI: call "
                      "PST_Comm_enqueue_only before the first one, or after PST_Queue_wait");
  });
  auto made = std::make_unique<enqueued::Promise>(std::move(members), library.transports(),
                                                  library.settings());
  const std::lock_guard lock(mutex);
  communicator->promise.store(made.get(), std::memory_order_release);
  promises.push_back(std::move(made));
  if (library.settings().check) checks_promises.store(true, std::memory_order_relaxed);
}

}  // namespace

void tell_requests_of_errors() noexcept {
  enqueued::set_errors_to_mpi(error_to_mpi);
}

std::atomic<bool> checks_promises{false};

int promise_broken(const char* call, MPI_Comm comm) noexcept {
  return guard([&] {
    const auto communicator = group::known_communicator(comm);
    if (communicator && communicator->promise.load(std::memory_order_acquire) != nullptr)
      throw Error(ErrorKind::communicator,
                  std::string(call) + " on " + communicator->name +
                      ", where PST_Comm_enqueue_only has promised that all messages are enqueued "
                      "at both ends: use PST_Enqueue_send and PST_Enqueue_recv, or another "
                      "communicator");
  });
}

// Afterwards nobody stores into memory of the others.
void end_promise(group::Communicator& communicator) {
  auto* const made = static_cast<enqueued::Promise*>(communicator.promise.load());
  core::Library* const library = core::Library::get();
  if (made == nullptr || library == nullptr) return;
  const auto limit = library->settings().timeout;
  group::MemberGroup& members = made->members();
  if (!members.meet(limit, while_alive(*library, members.world_ranks())))
    throw Error(ErrorKind::timeout,
                "MPI_Comm_free is collective where PST_Comm_enqueue_only was called, and "
                "PENSTOCK_TIMEOUT has passed before all members of " +
                    communicator.name + " have called it");
  communicator.promise.store(nullptr, std::memory_order_release);
  std::unique_ptr<enqueued::Promise> ended;
  {
    const std::lock_guard lock(mutex);
    const auto found = std::find_if(promises.begin(), promises.end(),
                                    [&](const auto& each) { return each.get() == made; });
    ended = std::move(*found);
    promises.erase(found);
  }
  engine.load(std::memory_order_acquire)->end_promise(std::move(ended));
}

void drive_enqueued() noexcept {
  if (MessageEngine* const found = engine.load(std::memory_order_acquire)) found->drive();
}

bool catch_up_with_enqueued() noexcept {
  MessageEngine* const found = engine.load(std::memory_order_acquire);
  return found == nullptr || found->catch_up();
}

void end_enqueued() noexcept {
  if (MessageEngine* const found = engine.load(std::memory_order_acquire)) found->stop();
}

}  // namespace penstock::api

using namespace penstock;

int PST_Queue_create(MPI_Comm comm, void* stream, PST_Queue* queue) {
  PST_Queue made = PST_QUEUE_NULL;
  auto type = PST_QUEUE_HOST;
  int code = api::guard([&](core::Library& library) {
    api::require_pointer(queue, "queue");
    type = api::type_of(library, stream);
  });
  if (code == MPI_SUCCESS) code = PST_Queue_init(&made, type, &stream);
  if (code != MPI_SUCCESS) return code;
  code = api::guard([&](core::Library& library) {
    core::Queue& target = api::queue_of(library, made);
    if (comm != MPI_COMM_NULL) return api::messages_for(library, target).set_comm(comm);
    // Memory of a GPU's driver is asked for here, and not by the first enqueued message.
    if (type != PST_QUEUE_HOST && library.world().thread_level() == group::ThreadLevel::multiple)
      api::messages_for(library, target);
  });
  if (code == MPI_SUCCESS)
    *queue = made;
  else
    PST_Queue_free(&made);
  return code;
}

int PST_Queue_close(PST_Queue queue) {
  return PST_Queue_free(&queue);
}

int PST_Comm_enqueue_only(MPI_Comm comm) {
  return api::guard([&](core::Library& library) { api::promise(library, comm); });
}

int PST_Enqueue_send(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                     MPI_Comm comm, PST_Queue queue, MPI_Request* request) {
  return api::enqueue(
      {transport::Direction::send, const_cast<void*>(buf), count, datatype, dest, tag, comm}, queue,
      request);
}

int PST_Enqueue_recv(void* buf, int count, MPI_Datatype datatype, int source, int tag,
                     MPI_Comm comm, PST_Queue queue, MPI_Request* request) {
  return api::enqueue({transport::Direction::receive, buf, count, datatype, source, tag, comm},
                      queue, request);
}

int PST_Enqueue_trigger(PST_Queue queue) {
  return api::guard_any_thread([&](core::Library& library) {
    if (api::QueueMessages* const messages = api::messages_of(api::queue_of(library, queue)))
      messages->trigger();
  });
}
