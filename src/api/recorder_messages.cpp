// SPDX-License-Identifier: Apache-2.0
// Nonblocking messages, and buffered ones. They are MPI's own after a relaxed load; with
// PENSTOCK_OVERLAP large ones are the library's (api/overlap.hpp).
#include "api/overlap.hpp"
#include "penstock_recorder_config.h"

using penstock::api::large_message;
using penstock::api::MessageCall;
using penstock::api::overlaps;
using penstock::api::SendMode;
using penstock::transport::Direction;

namespace {

template <auto mpi, SendMode mode = SendMode::direct, class Count>
int isend(const char* call, const void* buf, Count count, MPI_Datatype datatype, int dest, int tag,
          MPI_Comm comm, MPI_Request* request) {
  if (overlaps() && request != nullptr) [[unlikely]] {
    const MessageCall named{call, Direction::send, buf, count, datatype, dest, tag, comm};
    if (const auto large = large_message(named))
      return penstock::api::start_large_send(named, *large, mode, request);
  }
  return mpi(buf, count, datatype, dest, tag, comm, request);
}

template <auto mpi, class Count>
int irecv(const char* call, void* buf, Count count, MPI_Datatype datatype, int source, int tag,
          MPI_Comm comm, MPI_Request* request) {
  if (overlaps() && request != nullptr) [[unlikely]] {
    const MessageCall named{call, Direction::receive, buf, count, datatype, source, tag, comm};
    if (const auto large = large_message(named))
      return penstock::api::start_large_receive(named, *large, request);
  }
  return mpi(buf, count, datatype, source, tag, comm, request);
}

template <auto mpi, class Count>
int bsend(const char* call, const void* buf, Count count, MPI_Datatype datatype, int dest, int tag,
          MPI_Comm comm) {
  if (overlaps()) [[unlikely]] {
    const MessageCall named{call, Direction::send, buf, count, datatype, dest, tag, comm};
    if (const auto large = large_message(named))
      return penstock::api::large_send(named, *large, SendMode::buffered);
  }
  return mpi(buf, count, datatype, dest, tag, comm);
}

template <auto mpi, class Count>
int imrecv(const char* call, void* buf, Count count, MPI_Datatype datatype, MPI_Message* message,
           MPI_Request* request) {
  if (overlaps() && request != nullptr) [[unlikely]]
    if (const auto code = penstock::api::receive_probed(
            {call, Direction::receive, buf, count, datatype, 0, 0, MPI_COMM_NULL}, message, request,
            nullptr))
      return *code;
  return mpi(buf, count, datatype, message, request);
}

#if PENSTOCK_HAVE_MPI_Isendrecv
// Nothing: neither of the two is large.
std::optional<int> refused(const MessageCall& send, const MessageCall& receive) {
  if (!overlaps()) return std::nullopt;
  if (const auto large = large_message(send)) return penstock::api::refuse_large(send, *large);
  if (const auto large = large_message(receive))
    return penstock::api::refuse_large(receive, *large);
  return std::nullopt;
}
#endif

}  // namespace

int MPI_Isend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
              MPI_Request* request) {
  return isend<PMPI_Isend>("MPI_Isend", buf, count, datatype, dest, tag, comm, request);
}

int MPI_Issend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
               MPI_Request* request) {
  return isend<PMPI_Issend>("MPI_Issend", buf, count, datatype, dest, tag, comm, request);
}

int MPI_Irsend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
               MPI_Request* request) {
  return isend<PMPI_Irsend>("MPI_Irsend", buf, count, datatype, dest, tag, comm, request);
}

int MPI_Ibsend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
               MPI_Request* request) {
  return isend<PMPI_Ibsend, SendMode::buffered>("MPI_Ibsend", buf, count, datatype, dest, tag, comm,
                                                request);
}

int MPI_Bsend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return bsend<PMPI_Bsend>("MPI_Bsend", buf, count, datatype, dest, tag, comm);
}

int MPI_Irecv(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
              MPI_Request* request) {
  return irecv<PMPI_Irecv>("MPI_Irecv", buf, count, datatype, source, tag, comm, request);
}

int MPI_Imrecv(void* buf, int count, MPI_Datatype datatype, MPI_Message* message,
               MPI_Request* request) {
  return imrecv<PMPI_Imrecv>("MPI_Imrecv", buf, count, datatype, message, request);
}

#if PENSTOCK_HAVE_MPI_Isendrecv
int MPI_Isendrecv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                  void* recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag,
                  MPI_Comm comm, MPI_Request* request) {
  if (const auto code = refused(
          {"MPI_Isendrecv", Direction::send, sendbuf, sendcount, sendtype, dest, sendtag, comm},
          {"MPI_Isendrecv", Direction::receive, recvbuf, recvcount, recvtype, source, recvtag,
           comm}))
    return *code;
  return PMPI_Isendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype,
                        source, recvtag, comm, request);
}
#endif

#if PENSTOCK_HAVE_MPI_Isendrecv_replace
int MPI_Isendrecv_replace(void* buf, int count, MPI_Datatype datatype, int dest, int sendtag,
                          int source, int recvtag, MPI_Comm comm, MPI_Request* request) {
  if (const auto code = refused(
          {"MPI_Isendrecv_replace", Direction::send, buf, count, datatype, dest, sendtag, comm},
          {"MPI_Isendrecv_replace", Direction::receive, buf, count, datatype, source, recvtag,
           comm}))
    return *code;
  return PMPI_Isendrecv_replace(buf, count, datatype, dest, sendtag, source, recvtag, comm,
                                request);
}
#endif

#if PENSTOCK_HAVE_MPI_Isend_c
int MPI_Isend_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                MPI_Comm comm, MPI_Request* request) {
  return isend<PMPI_Isend_c>("MPI_Isend_c", buf, count, datatype, dest, tag, comm, request);
}

int MPI_Issend_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                 MPI_Comm comm, MPI_Request* request) {
  return isend<PMPI_Issend_c>("MPI_Issend_c", buf, count, datatype, dest, tag, comm, request);
}

int MPI_Irsend_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                 MPI_Comm comm, MPI_Request* request) {
  return isend<PMPI_Irsend_c>("MPI_Irsend_c", buf, count, datatype, dest, tag, comm, request);
}

int MPI_Ibsend_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                 MPI_Comm comm, MPI_Request* request) {
  return isend<PMPI_Ibsend_c, SendMode::buffered>("MPI_Ibsend_c", buf, count, datatype, dest, tag,
                                                  comm, request);
}

int MPI_Bsend_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                MPI_Comm comm) {
  return bsend<PMPI_Bsend_c>("MPI_Bsend_c", buf, count, datatype, dest, tag, comm);
}

int MPI_Irecv_c(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                MPI_Comm comm, MPI_Request* request) {
  return irecv<PMPI_Irecv_c>("MPI_Irecv_c", buf, count, datatype, source, tag, comm, request);
}

int MPI_Imrecv_c(void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Message* message,
                 MPI_Request* request) {
  return imrecv<PMPI_Imrecv_c>("MPI_Imrecv_c", buf, count, datatype, message, request);
}
#endif

#if PENSTOCK_HAVE_MPI_Isendrecv_c
int MPI_Isendrecv_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest,
                    int sendtag, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                    int source, int recvtag, MPI_Comm comm, MPI_Request* request) {
  if (const auto code = refused(
          {"MPI_Isendrecv_c", Direction::send, sendbuf, sendcount, sendtype, dest, sendtag, comm},
          {"MPI_Isendrecv_c", Direction::receive, recvbuf, recvcount, recvtype, source, recvtag,
           comm}))
    return *code;
  return PMPI_Isendrecv_c(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype,
                          source, recvtag, comm, request);
}

int MPI_Isendrecv_replace_c(void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
                            int sendtag, int source, int recvtag, MPI_Comm comm,
                            MPI_Request* request) {
  if (const auto code = refused(
          {"MPI_Isendrecv_replace_c", Direction::send, buf, count, datatype, dest, sendtag, comm},
          {"MPI_Isendrecv_replace_c", Direction::receive, buf, count, datatype, source, recvtag,
           comm}))
    return *code;
  return PMPI_Isendrecv_replace_c(buf, count, datatype, dest, sendtag, source, recvtag, comm,
                                  request);
}
#endif
