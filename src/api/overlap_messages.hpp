// SPDX-License-Identifier: Apache-2.0
// What the calls of large messages share (overlap_*.cpp): the engine, MPI's requests that stand for
// messages, and how a call's arguments and results become a message's.
#pragma once

#include <mpi.h>

#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "api/overlap.hpp"
#include "api/recorder.hpp"
#include "base/error.hpp"
#include "base/free_list.hpp"
#include "enqueued/message_request.hpp"
#include "group/mpi_handle.hpp"
#include "overlap/engine.hpp"

namespace penstock::api::large {

using base::Error;
using base::ErrorKind;
using enqueued::MessageRequest;
using group::LargeMessages;
using overlap::Caller;
using overlap::Engine;
using overlap::Message;
using overlap::Receive;
using overlap::Send;

// Null where it is off. Threads of the program may be inside it until the library ends.
extern Engine* engine;

// Requests of MPI's that stand for large messages, and messages that a probe has taken.
struct Requests {
  std::mutex mutex;
  base::FreeList<MessageRequest> home;
  std::unordered_map<std::uintptr_t, Message*> open;  // by the request's handle
  struct Probed {
    overlap::Arrival arrival;
    MessageRequest* request;  // whose handle is the message's
    std::shared_ptr<group::Communicator> communicator;
    bool claimed = false;  // a call tries to receive it
  };
  std::unordered_map<std::uintptr_t, Probed> probed;
  std::unordered_map<std::uintptr_t, MPI_Request> persistent;  // active ones: what stands for them
};
extern Requests& requests;

// Errors go to the communicator of the message.
template <class Body>
int reported(const group::Communicator& communicator, Body&& body) noexcept {
  try {
    body();
    return MPI_SUCCESS;
  } catch (const Error& error) {
    return report_error(error, &communicator, Threads::as_mpi);
  } catch (const std::exception& failure) {
    return report_error(
        base::error_by(ErrorKind::resources, [&] { return std::string(failure.what()); }),
        &communicator, Threads::as_mpi);
  }
}

// Null: the communicator's large messages are MPI's.
std::shared_ptr<group::Communicator> served(MPI_Comm comm);
core::Envelope key_of(const group::Communicator& communicator, int source, int tag);
// Before the first committed(), by a thread that may call MPI. Throws base::Error(mpi).
void prepare_questions();
// Whether messages may be of that datatype. Throws base::Error(mpi).
bool committed(MPI_Datatype datatype);

// ---- A message from a call's arguments. These throw base::Error for what only this end can know.
void describe(Message& message, const MessageCall& call, const LargeMessage& large);
// `lowest`: where its lowest byte lies.
void take_layout(Message& message, void* lowest, std::shared_ptr<const group::Layout> layout);
void take_copy(Send& message);  // from now on the program may use its buffer

// ---- What a call tells of it
void set_count(MPI_Status& status, std::size_t bytes, bool cancelled) noexcept;
MPI_Status status_of(const Message& message) noexcept;
void give_status(MPI_Status* to, MPI_Status status) noexcept;  // says nothing of errors

// ---- Requests
MessageRequest& make_request();
void drop(MessageRequest& request) noexcept;  // of a message that has not begun
void complete(Message& ended) noexcept;       // its request; the message is gone then
// Begins a message whose request completes with it. `begin` hands it to the engine.
template <class End, class Begin>
void begin_requested(std::unique_ptr<End> message, MPI_Request* request, Begin&& begin) {
  MessageRequest& made = make_request();
  message->listed = true;
  message->request = &made;
  const std::uintptr_t handle = group::handle_bits(made.mpi);
  const MPI_Request mpi = made.mpi;
  try {
    {
      const std::lock_guard lock(requests.mutex);
      requests.open.insert_or_assign(handle, message.get());
    }
    begin(*message);
  } catch (...) {
    {
      const std::lock_guard lock(requests.mutex);
      requests.open.erase(handle);
    }
    drop(made);
    throw;
  }
  static_cast<void>(message.release());
  *request = mpi;
}

void begin_send(std::unique_ptr<Send> message, SendMode mode, MPI_Request* request);

// ---- Waiting
inline constexpr std::chrono::milliseconds before_doubt{100};  // that promises are kept
void give_mpi_time() noexcept;
void wait_for_end(Message& message) noexcept;
void wait_for_result(Message& message, MPI_Status* status);  // throws the message's error

}  // namespace penstock::api::large
