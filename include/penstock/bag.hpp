// SPDX-License-Identifier: Apache-2.0
//
// Penstock's bags in C++20: owners of the two kinds of ends. The conventions are those of
// penstock.hpp; who blocks and what is ordered stands in bag.h. An end is made without the others,
// and serves when all have been matched: penstock::match() of its request, or of an array with all
// that a rank matches.
#pragma once

#if __cplusplus < 202002L
#error "penstock/bag.hpp needs C++20: compile with -std=c++20"
#else  // nothing else, so that the error stands alone

#include <penstock/penstock.hpp>

#include <cstddef>
#include <span>

namespace penstock {

namespace detail {

// The slots of a bag, which outlive its request.
template <class Element>
class BagSlots {
 protected:
  BagSlots(std::size_t all, std::size_t slot_size) : memory_(all * slot_size), size_(slot_size) {}

  Buffer<Element> memory_;
  std::size_t size_;
};

}  // namespace detail

// The end that grabs, with its slots: `slots` of `slot_size` elements for each source, in memory
// that messages come into without another copy. Wait for its queues before it ends.
template <class Element>
class GrabBag : private detail::BagSlots<Element>, public Request {
 public:
  GrabBag(QueueView queue, std::span<const int> sources, int slots, std::size_t slot_size, int tag,
          MPI_Comm comm = MPI_COMM_WORLD)
      : detail::BagSlots<Element>(sources.size() * static_cast<std::size_t>(slots), slot_size),
        Request(make(this->memory_.data(), sources, slots, slot_size, tag, comm)),
        queue_(queue) {}

  // Where the message lies is written to `grabbed`, which must live until the stream gets there.
  void grab(PST_Grabbed& grabbed) const { grab(queue_, grabbed); }
  void release(const PST_Grabbed& grabbed) const { release(queue_, grabbed); }
  // On other queues, from any threads.
  void grab(QueueView queue, PST_Grabbed& grabbed) const {
    detail::check(PST_Bag_grab(queue.get(), get(), &grabbed), "PST_Bag_grab");
  }
  void release(QueueView queue, const PST_Grabbed& grabbed) const {
    detail::check(PST_Bag_release(queue.get(), get(), &grabbed), "PST_Bag_release");
  }
  // What has been grabbed; for work of the stream behind the grab. Nothing, where that has failed.
  std::span<Element> elements(const PST_Grabbed& grabbed) noexcept {
    if (grabbed.slot < 0) return {};
    return this->memory_.all().subspan(static_cast<std::size_t>(grabbed.slot) * this->size_,
                                       static_cast<std::size_t>(grabbed.count));
  }

 private:
  static MPI_Request make(Element* memory, std::span<const int> sources, int slots,
                          std::size_t slot_size, int tag, MPI_Comm comm) {
    MPI_Request request = MPI_REQUEST_NULL;
    detail::check(PST_Bag_recv_init(memory, slots, static_cast<MPI_Count>(slot_size),
                                    datatype<Element>(), detail::to_count(sources.size()),
                                    sources.data(), tag, comm, MPI_INFO_NULL, &request),
                  "PST_Bag_recv_init");
    return request;
  }

  QueueView queue_;
};

// The end that puts. `slots` and `slot_size` are those of the bag.
template <class Element>
class BagSource : public Request {
 public:
  BagSource(QueueView queue, int destination, int slots, std::size_t slot_size, int tag,
            MPI_Comm comm = MPI_COMM_WORLD)
      : Request(make(destination, slots, slot_size, tag, comm)), queue_(queue) {}

  // The elements are read when the stream gets there; its later work may overwrite them.
  void put(std::span<const Element> elements) const { put(queue_, elements); }
  void put(QueueView queue, std::span<const Element> elements) const {
    detail::check(
        PST_Bag_put(queue.get(), get(), elements.data(), static_cast<MPI_Count>(elements.size())),
        "PST_Bag_put");
  }

 private:
  static MPI_Request make(int destination, int slots, std::size_t slot_size, int tag,
                          MPI_Comm comm) {
    MPI_Request request = MPI_REQUEST_NULL;
    detail::check(PST_Bag_send_init(slots, static_cast<MPI_Count>(slot_size), datatype<Element>(),
                                    destination, tag, comm, MPI_INFO_NULL, &request),
                  "PST_Bag_send_init");
    return request;
  }

  QueueView queue_;
};

}  // namespace penstock

#endif
