// SPDX-License-Identifier: Apache-2.0
// Sends and receives of large messages, and exchanges of which a half at least is large.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "api/overlap_messages.hpp"
#include "api/recorder_driving.hpp"
#include "base/no_copy.hpp"
#include "penstock_recorder_config.h"

namespace penstock::api {

namespace large {
namespace {

// One half of an exchange: ours, or MPI's persistent one. Making that checks its arguments before
// either half begins: a receive that has begun may take a message, which it could not give back.
struct Half : private base::NoCopy {
  std::optional<LargeMessage> large;
  MPI_Request mpi = MPI_REQUEST_NULL;
  MPI_Status status{};
  int code = MPI_SUCCESS;

  ~Half() {
    if (mpi != MPI_REQUEST_NULL) PMPI_Request_free(&mpi);
  }

  bool done(Message& message) {
    if (large) return engine->ended(message);
    if (mpi == MPI_REQUEST_NULL) return true;
    int flag = 0;
    code = PMPI_Test(&mpi, &flag, &status);
    return code != MPI_SUCCESS || flag != 0;
  }
};

#if PENSTOCK_HAVE_MPI_Send_c
constexpr auto send_init_of_mpi = PMPI_Send_init_c;
constexpr auto recv_init_of_mpi = PMPI_Recv_init_c;
using InitCount = MPI_Count;
#else
constexpr auto send_init_of_mpi = PMPI_Send_init;
constexpr auto recv_init_of_mpi = PMPI_Recv_init;
using InitCount = int;
#endif

void make_send(const MessageCall& call, Half& half) noexcept {
  if (half.large) return;
  half.code = send_init_of_mpi(call.buffer, static_cast<InitCount>(call.count), call.datatype,
                               call.peer, call.tag, call.comm, &half.mpi);
}

void make_receive(const MessageCall& call, Half& half) noexcept {
  if (half.large) return;
  half.code = recv_init_of_mpi(const_cast<void*>(call.buffer), static_cast<InitCount>(call.count),
                               call.datatype, call.peer, call.tag, call.comm, &half.mpi);
}

void set_null(MPI_Status& status) noexcept {
  set_count(status, 0, false);
  status.MPI_SOURCE = MPI_PROC_NULL;
  status.MPI_TAG = MPI_ANY_TAG;
}

void wait_for_both(Half& sending, Send& send, Half& receiving, Receive& receive) noexcept {
  OverlapWait wait(true);
  bool sent = false, received = false;
  for (;;) {
    wait.look();
    drive(Caller::waiting);
    sent = sent || sending.done(send);
    received = received || receiving.done(receive);
    if (sent && received) return;
    give_mpi_time();
    wait.pause();
  }
}

// The receive is posted, and the send does not begin.
void give_back(Receive& receive) noexcept {
  if (!engine->cancel(receive)) wait_for_end(receive);
}

void exchange(const MessageCall& send_call, const MessageCall& receive_call, bool replaces,
              Half& sending, Half& receiving, MPI_Status* status) {
  Send send;
  Receive receive;
  if (sending.large) describe(send, send_call, *sending.large);
  if (receiving.large) describe(receive, receive_call, *receiving.large);
  // In one buffer both are large or neither, but for messages to nobody.
  if (replaces && sending.large) take_copy(send);
  make_send(send_call, sending);
  if (sending.code != MPI_SUCCESS) return;
  make_receive(receive_call, receiving);
  if (receiving.code != MPI_SUCCESS) return;
  if (receiving.large)
    engine->receive(receive, Caller::waiting);
  else
    receiving.code = PMPI_Start(&receiving.mpi);
  if (receiving.code != MPI_SUCCESS) return;
  if (sending.large) {
    try {
      engine->send(send);
    } catch (...) {
      if (receiving.large) {
        give_back(receive);
      } else {
        PMPI_Cancel(&receiving.mpi);
        PMPI_Wait(&receiving.mpi, MPI_STATUS_IGNORE);
      }
      throw;
    }
  } else {
    sending.code = PMPI_Start(&sending.mpi);
    if (sending.code != MPI_SUCCESS) return give_back(receive);
  }
  wait_for_both(sending, send, receiving, receive);
  if (receive.error) throw *receive.error;
  if (send.error) throw *send.error;
  if (receiving.large) receiving.status = status_of(receive);
  if (receive_call.peer == MPI_PROC_NULL) set_null(receiving.status);
  give_status(status, receiving.status);
}

}  // namespace
}  // namespace large

int start_large_send(const MessageCall& call, const LargeMessage& large, SendMode mode,
                     MPI_Request* request) noexcept {
  return large::reported(*large.communicator, [&] {
    auto message = std::make_unique<overlap::Send>();
    large::describe(*message, call, large);
    large::begin_send(std::move(message), mode, request);
  });
}

int large_send(const MessageCall& call, const LargeMessage& large, SendMode mode) noexcept {
  return large::reported(*large.communicator, [&] {
    if (mode == SendMode::direct) {
      overlap::Send message;
      large::describe(message, call, large);
      large::engine->send(message);
      return large::wait_for_result(message, MPI_STATUS_IGNORE);
    }
    auto message = std::make_unique<overlap::Send>();
    large::describe(*message, call, large);
    large::take_copy(*message);
    message->listed = true;
    large::engine->send(*message);
    static_cast<void>(message.release());
  });
}

int start_large_receive(const MessageCall& call, const LargeMessage& large,
                        MPI_Request* request) noexcept {
  return large::reported(*large.communicator, [&] {
    auto message = std::make_unique<overlap::Receive>();
    large::describe(*message, call, large);
    large::begin_requested(std::move(message), request, [](overlap::Receive& each) {
      large::engine->receive(each, overlap::Caller::passing);
    });
  });
}

int large_receive(const MessageCall& call, const LargeMessage& large, MPI_Status* status) noexcept {
  return large::reported(*large.communicator, [&] {
    overlap::Receive message;
    large::describe(message, call, large);
    large::engine->receive(message, overlap::Caller::waiting);
    large::wait_for_result(message, status);
  });
}

int refuse_large(const MessageCall& call, const LargeMessage& large) noexcept {
  return large::reported(*large.communicator, [&] {
    throw base::Error(
        base::ErrorKind::unsupported,
        fmt::format("{} of {} bytes: PENSTOCK_OVERLAP=exact does not serve this call for "
                    "large messages, and the other end does not know; use nonblocking "
                    "messages, or leave PENSTOCK_OVERLAP off",
                    call.call, large.bytes));
  });
}

std::optional<int> large_exchange(const MessageCall& send, const MessageCall& receive,
                                  bool replaces, MPI_Status* status) noexcept {
  large::Half sending, receiving;
  sending.large = large_message(send);
  receiving.large = large_message(receive);
  if (!sending.large && !receiving.large) return std::nullopt;
  const auto& communicator =
      sending.large ? sending.large->communicator : receiving.large->communicator;
  const int code = large::reported(
      *communicator, [&] { large::exchange(send, receive, replaces, sending, receiving, status); });
  if (code != MPI_SUCCESS) return code;
  return receiving.code != MPI_SUCCESS ? receiving.code : sending.code;
}

}  // namespace penstock::api
