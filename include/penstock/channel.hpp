// SPDX-License-Identifier: Apache-2.0
//
// Penstock's channels in C++20: owners of the two ends, with the verbs of the model. The
// conventions are those of penstock.hpp; who blocks and what is ordered stands in channel.h. An
// end is made without the other one, and serves when both have been matched: penstock::match() of
// its request, or of an array with all that the two ranks match.
#pragma once

#if __cplusplus < 202002L
#error "penstock/channel.hpp needs C++20: compile with -std=c++20"
#else  // nothing else, so that the error stands alone

#include <penstock/penstock.hpp>

#include <cstddef>
#include <span>

namespace penstock {

namespace detail {

// What both ends are: a request, and the queue that its calls are enqueued on.
class ChannelOwner : public Request {
 protected:
  using Verb = int(PST_Queue, MPI_Request, MPI_Count, MPI_Count);

  ChannelOwner(MPI_Request request, QueueView queue) noexcept : Request(request), queue_(queue) {}

  void enqueue(QueueView queue, Verb& verb, const char* call, std::size_t offset,
               std::size_t count) const {
    check(verb(queue.get(), get(), static_cast<MPI_Count>(offset), static_cast<MPI_Count>(count)),
          call);
  }
  QueueView queue() const noexcept { return queue_; }

 private:
  QueueView queue_;
};

}  // namespace detail

// None of the verbs makes the caller wait: the stream does. The host reads or writes elements
// behind queue.synchronize(), and what changes them in between goes by stream.launch().

// The sender's end. Elements must outlive it and stay where they are. `unit`: elements; 0 leaves it
// to the library. Offsets and counts are in elements.
template <class Element>
class SendChannel : public detail::ChannelOwner {
 public:
  SendChannel(QueueView queue, std::span<const Element> elements, int destination, int tag,
              MPI_Comm comm = MPI_COMM_WORLD, std::size_t unit = 0)
      : ChannelOwner(make(elements, destination, tag, comm, unit), queue) {}

  void i_put(std::size_t offset, std::size_t count) const { i_put(queue(), offset, count); }
  void wait(std::size_t offset, std::size_t count) const { wait(queue(), offset, count); }
  // On other queues, from any threads: of ranges that are no other thread's just then.
  void i_put(QueueView queue, std::size_t offset, std::size_t count) const {
    enqueue(queue, PST_Channel_put, "PST_Channel_put", offset, count);
  }
  void wait(QueueView queue, std::size_t offset, std::size_t count) const {
    enqueue(queue, PST_Channel_put_wait, "PST_Channel_put_wait", offset, count);
  }

 private:
  static MPI_Request make(std::span<const Element> elements, int destination, int tag,
                          MPI_Comm comm, std::size_t unit) {
    MPI_Request request = MPI_REQUEST_NULL;
    detail::check(PST_Channel_send_init(elements.data(), static_cast<MPI_Count>(elements.size()),
                                        datatype<Element>(), static_cast<MPI_Count>(unit),
                                        destination, tag, comm, MPI_INFO_NULL, &request),
                  "PST_Channel_send_init");
    return request;
  }
};

// The receiver's end, over the program's elements or over as many of the library's.
template <class Element>
class RecvChannel : public detail::ChannelOwner {
 public:
  RecvChannel(QueueView queue, std::span<Element> elements, int source, int tag,
              MPI_Comm comm = MPI_COMM_WORLD, std::size_t unit = 0)
      : ChannelOwner(make(elements.data(), elements.size(), source, tag, comm, unit), queue),
        size_(elements.size()) {}
  RecvChannel(QueueView queue, std::size_t size, int source, int tag,
              MPI_Comm comm = MPI_COMM_WORLD, std::size_t unit = 0)
      : ChannelOwner(make(nullptr, size, source, tag, comm, unit), queue), size_(size) {}

  void wait(std::size_t offset, std::size_t count) const { wait(queue(), offset, count); }
  void release(std::size_t offset, std::size_t count) const { release(queue(), offset, count); }
  // As those of the sender.
  void wait(QueueView queue, std::size_t offset, std::size_t count) const {
    enqueue(queue, PST_Channel_wait, "PST_Channel_wait", offset, count);
  }
  void release(QueueView queue, std::size_t offset, std::size_t count) const {
    enqueue(queue, PST_Channel_release, "PST_Channel_release", offset, count);
  }
  // PST_Channel_test.
  bool test(std::size_t offset, std::size_t count) const {
    int flag = 0;
    detail::check(PST_Channel_test(get(), static_cast<MPI_Count>(offset),
                                   static_cast<MPI_Count>(count), &flag),
                  "PST_Channel_test");
    return flag != 0;
  }
  // The receive buffer.
  std::span<Element> elements() const {
    void* buffer = nullptr;
    detail::check(PST_Channel_buffer(get(), &buffer), "PST_Channel_buffer");
    return {static_cast<Element*>(buffer), size_};
  }

 private:
  static MPI_Request make(Element* elements, std::size_t size, int source, int tag, MPI_Comm comm,
                          std::size_t unit) {
    MPI_Request request = MPI_REQUEST_NULL;
    detail::check(PST_Channel_recv_init(elements, static_cast<MPI_Count>(size), datatype<Element>(),
                                        static_cast<MPI_Count>(unit), source, tag, comm,
                                        MPI_INFO_NULL, &request),
                  "PST_Channel_recv_init");
    return request;
  }

  std::size_t size_;
};

// By number of partition, for requests of MPI_Psend_init and MPI_Precv_init that have been matched,
// and for channels, whose units are their partitions.
inline void pready(QueueView queue, int partition, RequestView request) {
  detail::check(PST_Pready(queue.get(), partition, request.get()), "PST_Pready");
}
inline void pready_range(QueueView queue, int low, int high, RequestView request) {
  detail::check(PST_Pready_range(queue.get(), low, high, request.get()), "PST_Pready_range");
}
inline void pready_list(QueueView queue, std::span<const int> partitions, RequestView request) {
  detail::check(PST_Pready_list(queue.get(), detail::to_count(partitions.size()), partitions.data(),
                                request.get()),
                "PST_Pready_list");
}
inline bool parrived(RequestView request, int partition) {
  int flag = 0;
  detail::check(PST_Parrived(request.get(), partition, &flag), "PST_Parrived");
  return flag != 0;
}

}  // namespace penstock

#endif
