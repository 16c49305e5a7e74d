// SPDX-License-Identifier: Apache-2.0
// A bag of rank 0 with every rank as a source, itself too, and what its streams put and check: each
// element of each message, and poison where the program has given a slot away.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "support/endpoint.hpp"
#include "support/environment.hpp"

namespace penstock::test {

inline constexpr std::size_t slot_elements = 5;

// Of a message: its first element says whose it is and which one, and how many there are.
inline std::size_t elements_of(std::uint64_t number) {
  return 1 + number % slot_elements;
}
inline std::uint64_t element_of(int source, std::uint64_t number, std::size_t at) {
  return at == 0 ? (static_cast<std::uint64_t>(source) << 32 | number)
                 : number * 1000003 + static_cast<std::uint64_t>(source) * 17 + at;
}

// What a queue of the receiver has grabbed, in its order.
struct Grabs {
  struct Message {
    int source;
    std::uint64_t number;
  };
  std::deque<PST_Grabbed> grabbed{};
  std::vector<Message> messages{};
  std::uint64_t wrong = 0;
};

class TestBag {
 public:
  static constexpr std::uint64_t poison = 0xdeaddeaddeaddeadu;

  // `shared`: the slots are in memory of PST_Alloc_mem.
  TestBag(int slots, bool shared, int tag = 0) {
    std::vector<MPI_Request> ends;
    if (rank() == 0) ends.push_back(make_bag(slots, shared, tag));
    EXPECT_PST(PST_Bag_send_init(slots, slot_elements, MPI_UINT64_T, 0, tag, MPI_COMM_WORLD,
                                 MPI_INFO_NULL, &source_));
    ends.push_back(source_);
    EXPECT_PST(PST_Matchall(static_cast<int>(ends.size()), ends.data(), MPI_STATUSES_IGNORE));
  }
  ~TestBag() {
    free_source();
    free_bag();
    if (allocated_ != nullptr) EXPECT_PST(PST_Free_mem(allocated_));
  }
  TestBag(const TestBag&) = delete;
  TestBag& operator=(const TestBag&) = delete;

  void free_source() {
    if (source_ != MPI_REQUEST_NULL) EXPECT_PST(PST_Request_free(&source_));
  }
  void free_bag() {
    if (bag_ != MPI_REQUEST_NULL) EXPECT_PST(PST_Request_free(&bag_));
  }
  MPI_Request source() const { return source_; }
  MPI_Request bag() const { return bag_; }

  // Enqueue the next message of this source, whose memory is overwritten behind the put.
  void put(Lane& lane, std::uint64_t number) {
    const auto elements = static_cast<MPI_Count>(elements_of(number));
    auto* const message = new Message{{}, number};
    lane.launch(
        [](void* filled) {
          auto& [values, its_number] = *static_cast<Message*>(filled);
          for (std::size_t at = 0; at < elements_of(its_number); ++at)
            values[at] = element_of(rank(), its_number, at);
        },
        message);
    EXPECT_PST(PST_Bag_put(lane.queue(), source_, message->values, elements));
    lane.launch(
        [](void* filled) {
          const std::unique_ptr<Message> sent(static_cast<Message*>(filled));
          for (std::uint64_t& value : sent->values) value = poison;
        },
        message);
  }
  // Enqueues a grab, the check of what it brings, and its release.
  void grab(Lane& lane, Grabs& grabs) { release(lane, hold(lane, grabs)); }
  // The same in two calls.
  const PST_Grabbed& hold(Lane& lane, Grabs& grabs) {
    PST_Grabbed& grabbed = grabs.grabbed.emplace_back();
    EXPECT_PST(PST_Bag_grab(lane.queue(), bag_, &grabbed));
    lane.launch(&check, new Check{this, &grabs, &grabbed});
    return grabbed;
  }
  void release(Lane& lane, const PST_Grabbed& grabbed) {
    EXPECT_PST(PST_Bag_release(lane.queue(), bag_, &grabbed));
  }

 private:
  struct Message {
    std::uint64_t values[slot_elements];
    std::uint64_t number;
  };
  struct Check {
    TestBag* bag;
    Grabs* grabs;
    const PST_Grabbed* grabbed;
  };

  MPI_Request make_bag(int slots, bool shared, int tag) {
    const std::size_t all =
        static_cast<std::size_t>(slots) * static_cast<std::size_t>(size()) * slot_elements;
    if (shared)
      EXPECT_PST(PST_Alloc_mem(static_cast<MPI_Aint>(all * sizeof(std::uint64_t)), MPI_INFO_NULL,
                               &allocated_));
    else
      ordinary_.resize(all);
    elements_ =
        shared ? std::span(static_cast<std::uint64_t*>(allocated_), all) : std::span(ordinary_);
    std::fill(elements_.begin(), elements_.end(), poison);
    std::vector<int> sources(static_cast<std::size_t>(size()));
    std::iota(sources.rbegin(), sources.rend(), 0);  // not in the order of the ranks
    EXPECT_PST(PST_Bag_recv_init(elements_.data(), slots, slot_elements, MPI_UINT64_T, size(),
                                 sources.data(), tag, MPI_COMM_WORLD, MPI_INFO_NULL, &bag_));
    return bag_;
  }
  static void check(void* argument) {
    const std::unique_ptr<Check> work(static_cast<Check*>(argument));
    const PST_Grabbed& grabbed = *work->grabbed;
    if (grabbed.slot < 0) return;  // the grab has failed
    const auto slot = work->bag->elements_.subspan(
        static_cast<std::size_t>(grabbed.slot) * slot_elements, slot_elements);
    const std::uint64_t number = slot[0] & 0xffffffffu;
    if (grabbed.count != static_cast<MPI_Count>(elements_of(number))) ++work->grabs->wrong;
    for (std::size_t at = 0; at < elements_of(number); ++at)
      if (slot[at] != element_of(grabbed.rank, number, at)) ++work->grabs->wrong;
    work->grabs->messages.push_back({grabbed.rank, number});
    for (std::uint64_t& value : slot) value = poison;
  }

  void* allocated_ = nullptr;
  std::vector<std::uint64_t> ordinary_;
  std::span<std::uint64_t> elements_;
  MPI_Request source_ = MPI_REQUEST_NULL, bag_ = MPI_REQUEST_NULL;
};

// Bags are served by peer alone.
inline bool has_bags() {
  return transport_allowed("peer");
}

}  // namespace penstock::test
