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

#include "api/recorder_driving.hpp"
#include "penstock_recorder_config.h"

using penstock::api::wait_driving;

namespace {

// The request is complete, or has failed, when this returns.
int complete(MPI_Request& request, MPI_Status* status) {
  return wait_driving(
      [&](bool& done) {
        int flag = 0;
        const int code = PMPI_Test(&request, &flag, status);
        done = flag != 0;
        return code;
      },
      [&] { return PMPI_Wait(&request, status); });
}

template <class Begin, class Block>
int carry_out(MPI_Status* status, Begin&& begin, Block&& block) {
  if (!penstock::core::match_under_way()) [[likely]]
    return block();
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = begin(&request);
  return code == MPI_SUCCESS ? complete(request, status) : code;
}

// Both are complete, or have failed, when this returns; the first error counts.
template <class Receive, class Send>
int exchange(MPI_Status* status, Receive&& receive, Send&& send) {
  MPI_Request receiving = MPI_REQUEST_NULL, sending = MPI_REQUEST_NULL;
  if (const int code = receive(&receiving); code != MPI_SUCCESS) return code;
  if (const int code = send(&sending); code != MPI_SUCCESS) {
    PMPI_Cancel(&receiving);
    PMPI_Wait(&receiving, MPI_STATUS_IGNORE);
    return code;
  }
  const int received = complete(receiving, status);
  const int sent = complete(sending, MPI_STATUS_IGNORE);
  return received != MPI_SUCCESS ? received : sent;
}

// MPI_Pack_size has no answer beyond 2 GiB, and says so in no way.
bool can_be_packed(int count, MPI_Datatype datatype) {
  MPI_Count size = 0;
  return PMPI_Type_size_x(datatype, &size) == MPI_SUCCESS &&
         size < std::numeric_limits<int>::max() / 2 / std::max(count, 1);
}

// The same with one buffer: what is sent is packed before the receive may overwrite it.
template <class Count, class PackSize, class Pack, class Receive>
int exchange_packed(MPI_Status* status, PackSize&& pack_size, Pack&& pack, Receive&& receive,
                    int dest, int tag, MPI_Comm comm,
                    int (*send)(const void*, Count, MPI_Datatype, int, int, MPI_Comm,
                                MPI_Request*)) {
  Count size = 0, packed = 0;
  if (const int code = pack_size(&size); code != MPI_SUCCESS) return code;
  const std::unique_ptr<std::byte[]> copy(new (std::nothrow)
                                              std::byte[static_cast<std::size_t>(size) + 1]);
  if (!copy) return PMPI_Comm_call_errhandler(comm, MPI_ERR_NO_MEM), MPI_ERR_NO_MEM;
  if (const int code = pack(copy.get(), size, &packed); code != MPI_SUCCESS) return code;
  return exchange(status, receive, [&](MPI_Request* request) {
    return send(copy.get(), packed, MPI_PACKED, dest, tag, comm, request);
  });
}

}  // namespace

int MPI_Send(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return carry_out(
      MPI_STATUS_IGNORE,
      [&](MPI_Request* request) {
        return PMPI_Isend(buf, count, datatype, dest, tag, comm, request);
      },
      [&] { return PMPI_Send(buf, count, datatype, dest, tag, comm); });
}

int MPI_Ssend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return carry_out(
      MPI_STATUS_IGNORE,
      [&](MPI_Request* request) {
        return PMPI_Issend(buf, count, datatype, dest, tag, comm, request);
      },
      [&] { return PMPI_Ssend(buf, count, datatype, dest, tag, comm); });
}

int MPI_Rsend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return carry_out(
      MPI_STATUS_IGNORE,
      [&](MPI_Request* request) {
        return PMPI_Irsend(buf, count, datatype, dest, tag, comm, request);
      },
      [&] { return PMPI_Rsend(buf, count, datatype, dest, tag, comm); });
}

int MPI_Recv(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
             MPI_Status* status) {
  return carry_out(
      status,
      [&](MPI_Request* request) {
        return PMPI_Irecv(buf, count, datatype, source, tag, comm, request);
      },
      [&] { return PMPI_Recv(buf, count, datatype, source, tag, comm, status); });
}

int MPI_Mrecv(void* buf, int count, MPI_Datatype datatype, MPI_Message* message,
              MPI_Status* status) {
  return carry_out(
      status,
      [&](MPI_Request* request) { return PMPI_Imrecv(buf, count, datatype, message, request); },
      [&] { return PMPI_Mrecv(buf, count, datatype, message, status); });
}

int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status* status) {
  return wait_driving(
      [&](bool& done) {
        int flag = 0;
        const int code = PMPI_Iprobe(source, tag, comm, &flag, status);
        done = flag != 0;
        return code;
      },
      [&] { return PMPI_Probe(source, tag, comm, status); });
}

int MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
  return wait_driving(
      [&](bool& done) {
        int flag = 0;
        const int code = PMPI_Improbe(source, tag, comm, &flag, message, status);
        done = flag != 0;
        return code;
      },
      [&] { return PMPI_Mprobe(source, tag, comm, message, status); });
}

int MPI_Sendrecv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                 void* recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag,
                 MPI_Comm comm, MPI_Status* status) {
  if (!penstock::core::match_under_way()) [[likely]]
    return PMPI_Sendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype,
                         source, recvtag, comm, status);
  return exchange(
      status,
      [&](MPI_Request* request) {
        return PMPI_Irecv(recvbuf, recvcount, recvtype, source, recvtag, comm, request);
      },
      [&](MPI_Request* request) {
        return PMPI_Isend(sendbuf, sendcount, sendtype, dest, sendtag, comm, request);
      });
}

int MPI_Sendrecv_replace(void* buf, int count, MPI_Datatype datatype, int dest, int sendtag,
                         int source, int recvtag, MPI_Comm comm, MPI_Status* status) {
  if (!penstock::core::match_under_way() || !can_be_packed(count, datatype)) [[likely]]
    return PMPI_Sendrecv_replace(buf, count, datatype, dest, sendtag, source, recvtag, comm,
                                 status);
  return exchange_packed<int>(
      status, [&](int* size) { return PMPI_Pack_size(count, datatype, comm, size); },
      [&](void* copy, int size, int* packed) {
        return PMPI_Pack(buf, count, datatype, copy, size, packed, comm);
      },
      [&](MPI_Request* request) {
        return PMPI_Irecv(buf, count, datatype, source, recvtag, comm, request);
      },
      dest, sendtag, comm, PMPI_Isend);
}

#if PENSTOCK_HAVE_MPI_Send_c
int MPI_Send_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
               MPI_Comm comm) {
  return carry_out(
      MPI_STATUS_IGNORE,
      [&](MPI_Request* request) {
        return PMPI_Isend_c(buf, count, datatype, dest, tag, comm, request);
      },
      [&] { return PMPI_Send_c(buf, count, datatype, dest, tag, comm); });
}

int MPI_Ssend_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                MPI_Comm comm) {
  return carry_out(
      MPI_STATUS_IGNORE,
      [&](MPI_Request* request) {
        return PMPI_Issend_c(buf, count, datatype, dest, tag, comm, request);
      },
      [&] { return PMPI_Ssend_c(buf, count, datatype, dest, tag, comm); });
}

int MPI_Rsend_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                MPI_Comm comm) {
  return carry_out(
      MPI_STATUS_IGNORE,
      [&](MPI_Request* request) {
        return PMPI_Irsend_c(buf, count, datatype, dest, tag, comm, request);
      },
      [&] { return PMPI_Rsend_c(buf, count, datatype, dest, tag, comm); });
}

int MPI_Recv_c(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
               MPI_Comm comm, MPI_Status* status) {
  return carry_out(
      status,
      [&](MPI_Request* request) {
        return PMPI_Irecv_c(buf, count, datatype, source, tag, comm, request);
      },
      [&] { return PMPI_Recv_c(buf, count, datatype, source, tag, comm, status); });
}

int MPI_Mrecv_c(void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Message* message,
                MPI_Status* status) {
  return carry_out(
      status,
      [&](MPI_Request* request) { return PMPI_Imrecv_c(buf, count, datatype, message, request); },
      [&] { return PMPI_Mrecv_c(buf, count, datatype, message, status); });
}

int MPI_Sendrecv_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest,
                   int sendtag, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                   int source, int recvtag, MPI_Comm comm, MPI_Status* status) {
  if (!penstock::core::match_under_way()) [[likely]]
    return PMPI_Sendrecv_c(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount,
                           recvtype, source, recvtag, comm, status);
  return exchange(
      status,
      [&](MPI_Request* request) {
        return PMPI_Irecv_c(recvbuf, recvcount, recvtype, source, recvtag, comm, request);
      },
      [&](MPI_Request* request) {
        return PMPI_Isend_c(sendbuf, sendcount, sendtype, dest, sendtag, comm, request);
      });
}

int MPI_Sendrecv_replace_c(void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int sendtag,
                           int source, int recvtag, MPI_Comm comm, MPI_Status* status) {
  if (!penstock::core::match_under_way()) [[likely]]
    return PMPI_Sendrecv_replace_c(buf, count, datatype, dest, sendtag, source, recvtag, comm,
                                   status);
  return exchange_packed<MPI_Count>(
      status, [&](MPI_Count* size) { return PMPI_Pack_size_c(count, datatype, comm, size); },
      [&](void* copy, MPI_Count size, MPI_Count* packed) {
        return PMPI_Pack_c(buf, count, datatype, copy, size, packed, comm);
      },
      [&](MPI_Request* request) {
        return PMPI_Irecv_c(buf, count, datatype, source, recvtag, comm, request);
      },
      dest, sendtag, comm, PMPI_Isend_c);
}
#endif
