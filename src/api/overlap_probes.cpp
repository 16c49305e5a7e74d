// SPDX-License-Identifier: Apache-2.0
// Probes, which look for large messages and for MPI's, what they find, and cancelled receives.
#include <fmt/format.h>

#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "api/overlap_messages.hpp"
#include "api/recorder_driving.hpp"
#include "base/forked.hpp"
#include "base/no_copy.hpp"
#include "group/mpi_communicator.hpp"
#include "penstock_recorder_config.h"

namespace penstock::api {

namespace large {
namespace {

// ---- Messages that a probe has taken

// Takes that message, of which a probe has told, out of the engine's tables. Nothing: it is another
// thread's by now. There is a place for it before it is taken: its sender waits for who reads it.
std::optional<overlap::Arrival> take_probed(
    const std::shared_ptr<group::Communicator>& communicator, const overlap::Arrival& seen,
    MPI_Message* message) {
  MessageRequest& handle = make_request();
  const std::uintptr_t bits = group::handle_bits(handle.mpi);
  const auto forget = [&] {
    {
      const std::lock_guard lock(requests.mutex);
      requests.probed.erase(bits);
    }
    drop(handle);
  };
  try {
    {
      const std::lock_guard lock(requests.mutex);
      requests.probed.insert_or_assign(bits, Requests::Probed{seen, &handle, communicator});
    }
    const auto taken =
        engine->probe({communicator->id, seen.announced.source, seen.announced.tag}, true);
    if (!taken) {
      forget();
      return std::nullopt;
    }
    const std::lock_guard lock(requests.mutex);
    requests.probed.at(bits).arrival = *taken;
    *message = group::handle_of<MPI_Message>(bits);
    return taken;
  } catch (...) {
    forget();
    throw;
  }
}

// Behind MPI's answer that it has a small message: whether its sender has announced all that it has
// begun; `ours`: a large one of the same stream among that. False: the probe is to look again.
bool announced_by(const group::Communicator& communicator, const MPI_Status& theirs,
                  std::optional<overlap::Arrival>& ours) {
  if (engine->may_bring_more(group::world_rank(communicator, theirs.MPI_SOURCE))) return false;
  ours = engine->probe({communicator.id, theirs.MPI_SOURCE, theirs.MPI_TAG}, false);
  return true;
}

// A probed message while a call tries to receive it. It stays in its place unless it is dropped.
class Claimed : private base::NoCopy {
 public:
  explicit Claimed(MPI_Message message) : bits_(group::handle_bits(message)) {
    const std::lock_guard lock(requests.mutex);
    const auto place = requests.probed.find(bits_);
    if (place == requests.probed.end() || std::exchange(place->second.claimed, true)) return;
    probed_ = &place->second;
  }
  ~Claimed() {
    if (probed_ == nullptr) return;
    const std::lock_guard lock(requests.mutex);
    probed_->claimed = false;
  }
  const Requests::Probed* get() const noexcept { return probed_; }
  void drop(MPI_Message* message) noexcept {
    MessageRequest& handle = *std::exchange(probed_, nullptr)->request;
    {
      const std::lock_guard lock(requests.mutex);
      requests.probed.erase(bits_);
    }
    large::drop(handle);
    *message = MPI_MESSAGE_NULL;
  }

 private:
  const std::uintptr_t bits_;
  Requests::Probed* probed_ = nullptr;
};

// MPI's error of a receive with these arguments, which it reports as that of any call. The
// communicator may have been freed behind the probe: then it is another one's.
int checked_by_mpi(const MessageCall& call, const group::Communicator& communicator) noexcept {
  const bool alive = communicator.alive.load();
  const MPI_Comm comm = alive ? group::handle_of(communicator) : MPI_COMM_SELF;
  const int source = alive ? call.peer : 0;
  MPI_Request unused = MPI_REQUEST_NULL;
  void* const buffer = const_cast<void*>(call.buffer);
#if PENSTOCK_HAVE_MPI_Send_c
  const int code =
      PMPI_Recv_init_c(buffer, call.count, call.datatype, source, call.tag, comm, &unused);
#else
  const int code = PMPI_Recv_init(buffer, static_cast<int>(call.count), call.datatype, source,
                                  call.tag, comm, &unused);
#endif
  if (code == MPI_SUCCESS) PMPI_Request_free(&unused);
  return code;
}

// Beyond what can be counted it is as much as can be: longer than any message.
std::size_t bytes_of(const MessageCall& call) noexcept {
  constexpr auto most = std::numeric_limits<MPI_Count>::max();
  MPI_Count size = 0;
  if (PMPI_Type_size_x(call.datatype, &size) != MPI_SUCCESS || size <= 0) return 0;
  return static_cast<std::size_t>(call.count > most / size ? most : size * call.count);
}

}  // namespace

}  // namespace large

bool probes_both(MPI_Comm comm) noexcept {
  try {
    return !base::forked() && large::served(comm) != nullptr;
  } catch (const std::exception&) {
    return false;
  }
}

int probe_both(overlap::Caller caller, int source, int tag, MPI_Comm comm, int* found,
               MPI_Message* message, MPI_Status* status) noexcept {
  drive(caller);
  if (source == MPI_PROC_NULL)
    return message != nullptr ? PMPI_Improbe(source, tag, comm, found, message, status)
                              : PMPI_Iprobe(source, tag, comm, found, status);
  std::shared_ptr<group::Communicator> communicator;
  try {
    communicator = large::served(comm);
  } catch (const std::exception&) {
    return MPI_ERR_OTHER;
  }
  int code_of_mpi = MPI_SUCCESS;
  const int code = large::reported(*communicator, [&] {
    *found = 0;
    // The engine first: a small message that has come by then is no later than what it finds.
    auto ours = large::engine->probe(large::key_of(*communicator, source, tag), false);
    int of_mpi = 0;
    MPI_Status theirs{};
    code_of_mpi = PMPI_Iprobe(source, tag, comm, &of_mpi, &theirs);
    if (code_of_mpi != MPI_SUCCESS || (!ours && of_mpi == 0)) return;
    if (!ours && !large::announced_by(*communicator, theirs, ours)) return;
    if (ours && of_mpi != 0 && theirs.MPI_SOURCE == ours->announced.source &&
        theirs.MPI_TAG == ours->announced.tag)
      throw base::Error(
          base::ErrorKind::assertion,
          fmt::format("a probe finds a large and a small message of rank {} with tag {} on "
                      "{}: which is the earlier one nobody knows with "
                      "PENSTOCK_OVERLAP=exact; give them different tags, or leave it off",
                      theirs.MPI_SOURCE, theirs.MPI_TAG, communicator->name));
    if (!ours) {
      code_of_mpi = message != nullptr ? PMPI_Improbe(source, tag, comm, found, message, status)
                                       : PMPI_Iprobe(source, tag, comm, found, status);
      return;
    }
    overlap::Arrival arrival = *ours;
    if (message != nullptr) {
      const auto taken = large::take_probed(communicator, arrival, message);
      if (!taken) return;  // another thread has
      arrival = *taken;
    }
    *found = 1;
    MPI_Status seen{};
    large::set_count(seen, arrival.announced.bytes, false);
    seen.MPI_SOURCE = arrival.announced.source;
    seen.MPI_TAG = arrival.announced.tag;
    large::give_status(status, seen);
  });
  return code_of_mpi != MPI_SUCCESS ? code_of_mpi : code;
}

// The message is the call's only once it has begun: one that fails before leaves it to the next.
std::optional<int> receive_probed(const MessageCall& call, MPI_Message* message,
                                  MPI_Request* request, MPI_Status* status) noexcept {
  if (message == nullptr) return std::nullopt;
  large::Claimed claimed(*message);
  if (claimed.get() == nullptr) return std::nullopt;
  const large::Requests::Probed probed = *claimed.get();
  MessageCall named = call;
  named.peer = probed.arrival.announced.source;
  named.tag = probed.arrival.announced.tag;
  if (const int code = large::checked_by_mpi(named, *probed.communicator); code != MPI_SUCCESS)
    return code;
  return large::reported(*probed.communicator, [&] {
    const LargeMessage large{probed.communicator, probed.arrival.sender, large::bytes_of(named)};
    if (request == nullptr) {
      overlap::Receive receive;
      large::describe(receive, named, large);
      large::engine->receive(receive, probed.arrival, overlap::Caller::waiting);
      claimed.drop(message);
      return large::wait_for_result(receive, status);
    }
    auto receive = std::make_unique<overlap::Receive>();
    large::describe(*receive, named, large);
    large::begin_requested(std::move(receive), request, [&](overlap::Receive& each) {
      large::engine->receive(each, probed.arrival, overlap::Caller::passing);
    });
    claimed.drop(message);
  });
}

std::optional<int> cancel_large(MPI_Request request) noexcept {
  std::unique_lock lock(large::requests.mutex);
  if (const auto active = large::requests.persistent.find(group::handle_bits(request));
      active != large::requests.persistent.end())
    request = active->second;
  const auto place = large::requests.open.find(group::handle_bits(request));
  if (place == large::requests.open.end()) return std::nullopt;
  overlap::Message& message = *place->second;
  if (message.sends) {
    const auto communicator = message.communicator;
    const std::string label = message.label();
    lock.unlock();  // an error handler may call MPI
    return large::reported(*communicator, [&] {
      throw base::Error(base::ErrorKind::unsupported,
                        label +
                            ": with PENSTOCK_OVERLAP=exact a large send cannot be cancelled: "
                            "complete it with MPI_Wait");
    });
  }
  large::engine->cancel(static_cast<overlap::Receive&>(message));
  return MPI_SUCCESS;
}

}  // namespace penstock::api
