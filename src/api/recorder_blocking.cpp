// SPDX-License-Identifier: Apache-2.0
// Blocking messages. The peer may come to their other end only when a match of ours has ended, and
// below MPI_THREAD_MULTIPLE nobody else may drive that. So while a match is under way they are
// carried out as their nonblocking form, which means the same to MPI; otherwise they are MPI's own
// after a relaxed load. MPI_Bsend does not wait for the peer. Collectives stay as they are: MPI
// does not match them with their nonblocking forms.
#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <new>
#include <utility>

#include "api/enqueued.hpp"
#include "api/recorder_driving.hpp"
#include "penstock_recorder_config.h"

using penstock::api::drive;
using penstock::api::keep_promise;
using penstock::api::large_message;
using penstock::api::MessageCall;
using penstock::api::overlaps;
using penstock::api::probe_both;
using penstock::api::probes_both;
using penstock::api::SendMode;
using penstock::api::wait_driving;
using penstock::api::wait_for;
using penstock::core::match_under_way;
using penstock::overlap::Caller;
using penstock::transport::Direction;

namespace {

// A blocking call, or its nonblocking form `begin`, which takes the same arguments and a request.
template <auto block, auto begin, class... Arguments>
int send_driven(Arguments... arguments) {
  if (!match_under_way()) [[likely]]
    return block(arguments...);
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = begin(arguments..., &request);
  return code == MPI_SUCCESS ? wait_for(&request, MPI_STATUS_IGNORE) : code;
}

// The same, of a message that may be a large one.
template <auto block, auto begin, class Count>
int send(const char* call, const void* buf, Count count, MPI_Datatype datatype, int dest, int tag,
         MPI_Comm comm) {
  if (overlaps()) [[unlikely]] {
    const MessageCall named{call, Direction::send, buf, count, datatype, dest, tag, comm};
    if (const auto large = large_message(named))
      return penstock::api::large_send(named, *large, SendMode::direct);
  }
  return send_driven<block, begin>(buf, count, datatype, dest, tag, comm);
}

// `null`: MPI_PROC_NULL, or its message. Such a receive waits for no peer; and MPICH's nonblocking
// one leaves its status unset, where the blocking one is right.
template <auto block, auto begin, class... Arguments>
int receive_driven(bool null, MPI_Status* status, Arguments... arguments) {
  if (!match_under_way() || null) [[likely]]
    return block(arguments..., status);
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = begin(arguments..., &request);
  return code == MPI_SUCCESS ? wait_for(&request, status) : code;
}

// The same, of a message that may be a large one.
template <auto block, auto begin, class Count>
int receive(const char* call, void* buf, Count count, MPI_Datatype datatype, int source, int tag,
            MPI_Comm comm, MPI_Status* status) {
  if (overlaps()) [[unlikely]] {
    const MessageCall named{call, Direction::receive, buf, count, datatype, source, tag, comm};
    if (const auto large = large_message(named))
      return penstock::api::large_receive(named, *large, status);
    if (source != MPI_PROC_NULL) {
      MPI_Request request = MPI_REQUEST_NULL;
      const int code = begin(buf, count, datatype, source, tag, comm, &request);
      return code == MPI_SUCCESS ? penstock::api::receive_small(request, status) : code;
    }
  }
  return receive_driven<block, begin>(source == MPI_PROC_NULL, status, buf, count, datatype, source,
                                      tag, comm);
}

// A message that a probe has found.
template <auto block, auto begin, class Count>
int receive_found(const char* call, void* buf, Count count, MPI_Datatype datatype,
                  MPI_Message* message, MPI_Status* status) {
  if (overlaps()) [[unlikely]]
    if (const auto code = penstock::api::receive_probed(
            {call, Direction::receive, buf, count, datatype, 0, 0, MPI_COMM_NULL}, message, nullptr,
            status))
      return *code;
  return receive_driven<block, begin>(*message == MPI_MESSAGE_NO_PROC, status, buf, count, datatype,
                                      message);
}

// A probe that waits for a message of either kind.
int probe_until_found(int source, int tag, MPI_Comm comm, MPI_Message* message,
                      MPI_Status* status) {
  penstock::api::DrivenWait wait;
  for (;;) {
    int found = 0;
    wait.look();
    const int code = probe_both(Caller::waiting, source, tag, comm, &found, message, status);
    if (code != MPI_SUCCESS || found != 0) return code;
    wait.pause();
  }
}

// What MPI tells of a receive from MPI_PROC_NULL.
void set_null(MPI_Status* status) {
  if (status == MPI_STATUS_IGNORE) return;
  PMPI_Status_set_elements(status, MPI_BYTE, 0);
  PMPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = MPI_PROC_NULL;
  status->MPI_TAG = MPI_ANY_TAG;
}

// A send and a receive at once, each made by a function of MPI's for persistent requests. Making
// them checks all arguments before either begins: a receive that has begun may take a message,
// which it could not give back where the send turns out to be wrong. Both are complete, or have
// failed, when this returns; the first error counts.
template <class InitSend, class InitReceive>
int exchange(int source, MPI_Status* status, InitSend&& init_send, InitReceive&& init_receive) {
  MPI_Request sending = MPI_REQUEST_NULL, receiving = MPI_REQUEST_NULL;
  int code = init_send(&sending);
  if (code == MPI_SUCCESS) code = init_receive(&receiving);
  if (code == MPI_SUCCESS) code = PMPI_Start(&sending);
  if (code == MPI_SUCCESS) {
    code = PMPI_Start(&receiving);
    if (code == MPI_SUCCESS) code = wait_for(&receiving, status);
    if (code == MPI_SUCCESS && source == MPI_PROC_NULL) set_null(status);
    if (const int sent = wait_for(&sending, MPI_STATUS_IGNORE); code == MPI_SUCCESS) code = sent;
  }
  if (sending != MPI_REQUEST_NULL) PMPI_Request_free(&sending);
  if (receiving != MPI_REQUEST_NULL) PMPI_Request_free(&receiving);
  return code;
}

// What MPI_Sendrecv and its form for large counts are made of.
template <class Count, auto block, auto init_send, auto init_receive>
int sendrecv(const char* call, const void* sendbuf, Count sendcount, MPI_Datatype sendtype,
             int dest, int sendtag, void* recvbuf, Count recvcount, MPI_Datatype recvtype,
             int source, int recvtag, MPI_Comm comm, MPI_Status* status) {
  if (overlaps()) [[unlikely]]
    if (const auto code = penstock::api::large_exchange(
            {call, Direction::send, sendbuf, sendcount, sendtype, dest, sendtag, comm},
            {call, Direction::receive, recvbuf, recvcount, recvtype, source, recvtag, comm}, false,
            status))
      return *code;
  if (!match_under_way()) [[likely]]
    return block(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source,
                 recvtag, comm, status);
  return exchange(
      source, status,
      [&](MPI_Request* request) {
        return init_send(sendbuf, sendcount, sendtype, dest, sendtag, comm, request);
      },
      [&](MPI_Request* request) {
        return init_receive(recvbuf, recvcount, recvtype, source, recvtag, comm, request);
      });
}

// The same with one buffer: what is sent is packed before the receive may overwrite it.
template <class Count, auto pack_size, auto pack, auto init_send, auto init_receive>
int sendrecv_packed(void* buf, Count count, MPI_Datatype datatype, int dest, int sendtag,
                    int source, int recvtag, MPI_Comm comm, MPI_Status* status) {
  Count size = 0, packed = 0;
  if (const int code = pack_size(count, datatype, comm, &size); code != MPI_SUCCESS) return code;
  if (dest == MPI_PROC_NULL) size = 0;
  const std::unique_ptr<std::byte[]> copy(new (std::nothrow)
                                              std::byte[static_cast<std::size_t>(size) + 1]);
  if (!copy) return PMPI_Comm_call_errhandler(comm, MPI_ERR_NO_MEM), MPI_ERR_NO_MEM;
  if (dest != MPI_PROC_NULL)
    if (const int code = pack(buf, count, datatype, copy.get(), size, &packed, comm);
        code != MPI_SUCCESS)
      return code;
  return exchange(
      source, status,
      [&](MPI_Request* request) {
        return init_send(copy.get(), packed, MPI_PACKED, dest, sendtag, comm, request);
      },
      [&](MPI_Request* request) {
        return init_receive(buf, count, datatype, source, recvtag, comm, request);
      });
}

#if PENSTOCK_HAVE_MPI_Send_c

bool can_be_packed(int, MPI_Datatype) {
  return true;
}
constexpr auto sendrecv_replaced =
    sendrecv_packed<MPI_Count, PMPI_Pack_size_c, PMPI_Pack_c, PMPI_Send_init_c, PMPI_Recv_init_c>;

#else

// MPI_Pack_size has no answer beyond 2 GiB, and says so in no way.
bool can_be_packed(int count, MPI_Datatype datatype) {
  MPI_Count size = 0;
  return PMPI_Type_size_x(datatype, &size) == MPI_SUCCESS &&
         size < std::numeric_limits<int>::max() / 2 / std::max(count, 1);
}
constexpr auto sendrecv_replaced =
    sendrecv_packed<int, PMPI_Pack_size, PMPI_Pack, PMPI_Send_init, PMPI_Recv_init>;

#endif

}  // namespace

int MPI_Send(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  if (const int code = keep_promise("MPI_Send", dest, comm); code != MPI_SUCCESS) return code;
  return send<PMPI_Send, PMPI_Isend>("MPI_Send", buf, count, datatype, dest, tag, comm);
}

int MPI_Ssend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  if (const int code = keep_promise("MPI_Ssend", dest, comm); code != MPI_SUCCESS) return code;
  return send<PMPI_Ssend, PMPI_Issend>("MPI_Ssend", buf, count, datatype, dest, tag, comm);
}

int MPI_Rsend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  if (const int code = keep_promise("MPI_Rsend", dest, comm); code != MPI_SUCCESS) return code;
  return send<PMPI_Rsend, PMPI_Irsend>("MPI_Rsend", buf, count, datatype, dest, tag, comm);
}

int MPI_Recv(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
             MPI_Status* status) {
  if (const int code = keep_promise("MPI_Recv", source, comm); code != MPI_SUCCESS) return code;
  return receive<PMPI_Recv, PMPI_Irecv>("MPI_Recv", buf, count, datatype, source, tag, comm,
                                        status);
}

int MPI_Mrecv(void* buf, int count, MPI_Datatype datatype, MPI_Message* message,
              MPI_Status* status) {
  return receive_found<PMPI_Mrecv, PMPI_Imrecv>("MPI_Mrecv", buf, count, datatype, message, status);
}

int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status* status) {
  if (const int code = keep_promise("MPI_Probe", source, comm); code != MPI_SUCCESS) return code;
  if (overlaps() && source != MPI_PROC_NULL && probes_both(comm))
    return probe_until_found(source, tag, comm, nullptr, status);
  return wait_driving([&](int* found) { return PMPI_Iprobe(source, tag, comm, found, status); },
                      [&] { return PMPI_Probe(source, tag, comm, status); });
}

int MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
  if (const int code = keep_promise("MPI_Mprobe", source, comm); code != MPI_SUCCESS) return code;
  if (overlaps() && source != MPI_PROC_NULL && probes_both(comm))
    return probe_until_found(source, tag, comm, message, status);
  return wait_driving(
      [&](int* found) { return PMPI_Improbe(source, tag, comm, found, message, status); },
      [&] { return PMPI_Mprobe(source, tag, comm, message, status); });
}

// Loops of these stand for the two above.
int MPI_Iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  if (const int code = keep_promise("MPI_Iprobe", source, comm); code != MPI_SUCCESS) return code;
  if (overlaps() && probes_both(comm))
    return probe_both(Caller::passing, source, tag, comm, flag, nullptr, status);
  drive();
  return PMPI_Iprobe(source, tag, comm, flag, status);
}

int MPI_Improbe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message,
                MPI_Status* status) {
  if (const int code = keep_promise("MPI_Improbe", source, comm); code != MPI_SUCCESS) return code;
  if (overlaps() && probes_both(comm))
    return probe_both(Caller::passing, source, tag, comm, flag, message, status);
  drive();
  return PMPI_Improbe(source, tag, comm, flag, message, status);
}

int MPI_Sendrecv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                 void* recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag,
                 MPI_Comm comm, MPI_Status* status) {
  if (const int code = keep_promise("MPI_Sendrecv", dest == MPI_PROC_NULL ? source : dest, comm);
      code != MPI_SUCCESS)
    return code;
  return sendrecv<int, PMPI_Sendrecv, PMPI_Send_init, PMPI_Recv_init>(
      "MPI_Sendrecv", sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype,
      source, recvtag, comm, status);
}

int MPI_Sendrecv_replace(void* buf, int count, MPI_Datatype datatype, int dest, int sendtag,
                         int source, int recvtag, MPI_Comm comm, MPI_Status* status) {
  if (const int code =
          keep_promise("MPI_Sendrecv_replace", dest == MPI_PROC_NULL ? source : dest, comm);
      code != MPI_SUCCESS)
    return code;
  if (overlaps()) [[unlikely]]
    if (const auto code = penstock::api::large_exchange(
            {"MPI_Sendrecv_replace", Direction::send, buf, count, datatype, dest, sendtag, comm},
            {"MPI_Sendrecv_replace", Direction::receive, buf, count, datatype, source, recvtag,
             comm},
            true, status))
      return *code;
  if (!match_under_way() || !can_be_packed(count, datatype)) [[likely]]
    return PMPI_Sendrecv_replace(buf, count, datatype, dest, sendtag, source, recvtag, comm,
                                 status);
  return sendrecv_replaced(buf, count, datatype, dest, sendtag, source, recvtag, comm, status);
}

#if PENSTOCK_HAVE_MPI_Send_c
int MPI_Send_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
               MPI_Comm comm) {
  if (const int code = keep_promise("MPI_Send_c", dest, comm); code != MPI_SUCCESS) return code;
  return send<PMPI_Send_c, PMPI_Isend_c>("MPI_Send_c", buf, count, datatype, dest, tag, comm);
}

int MPI_Ssend_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                MPI_Comm comm) {
  if (const int code = keep_promise("MPI_Ssend_c", dest, comm); code != MPI_SUCCESS) return code;
  return send<PMPI_Ssend_c, PMPI_Issend_c>("MPI_Ssend_c", buf, count, datatype, dest, tag, comm);
}

int MPI_Rsend_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                MPI_Comm comm) {
  if (const int code = keep_promise("MPI_Rsend_c", dest, comm); code != MPI_SUCCESS) return code;
  return send<PMPI_Rsend_c, PMPI_Irsend_c>("MPI_Rsend_c", buf, count, datatype, dest, tag, comm);
}

int MPI_Recv_c(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
               MPI_Comm comm, MPI_Status* status) {
  if (const int code = keep_promise("MPI_Recv_c", source, comm); code != MPI_SUCCESS) return code;
  return receive<PMPI_Recv_c, PMPI_Irecv_c>("MPI_Recv_c", buf, count, datatype, source, tag, comm,
                                            status);
}

int MPI_Mrecv_c(void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Message* message,
                MPI_Status* status) {
  return receive_found<PMPI_Mrecv_c, PMPI_Imrecv_c>("MPI_Mrecv_c", buf, count, datatype, message,
                                                    status);
}

int MPI_Sendrecv_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest,
                   int sendtag, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                   int source, int recvtag, MPI_Comm comm, MPI_Status* status) {
  if (const int code = keep_promise("MPI_Sendrecv_c", dest == MPI_PROC_NULL ? source : dest, comm);
      code != MPI_SUCCESS)
    return code;
  return sendrecv<MPI_Count, PMPI_Sendrecv_c, PMPI_Send_init_c, PMPI_Recv_init_c>(
      "MPI_Sendrecv_c", sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype,
      source, recvtag, comm, status);
}

int MPI_Sendrecv_replace_c(void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int sendtag,
                           int source, int recvtag, MPI_Comm comm, MPI_Status* status) {
  if (const int code =
          keep_promise("MPI_Sendrecv_replace_c", dest == MPI_PROC_NULL ? source : dest, comm);
      code != MPI_SUCCESS)
    return code;
  if (overlaps()) [[unlikely]]
    if (const auto code = penstock::api::large_exchange(
            {"MPI_Sendrecv_replace_c", Direction::send, buf, count, datatype, dest, sendtag, comm},
            {"MPI_Sendrecv_replace_c", Direction::receive, buf, count, datatype, source, recvtag,
             comm},
            true, status))
      return *code;
  if (!match_under_way()) [[likely]]
    return PMPI_Sendrecv_replace_c(buf, count, datatype, dest, sendtag, source, recvtag, comm,
                                   status);
  return sendrecv_replaced(buf, count, datatype, dest, sendtag, source, recvtag, comm, status);
}
#endif
