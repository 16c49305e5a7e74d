// SPDX-License-Identifier: Apache-2.0
// One end of a channel as the program has made it: its units, its buffer, how it is matched, and
// what of it the program has been seen to do.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "channel/channel_plan.hpp"
#include "channel/grid.hpp"
#include "core/channel.hpp"
#include "core/queue.hpp"

namespace penstock::core {
class MatchedRequest;
}
namespace penstock::peer {
class Peer;
}

namespace penstock::channel {

class ChannelEnd final : public core::Channel {
 public:
  // A pair of standard requests for each unit: more of them are not made.
  static constexpr std::uint64_t most_cells = 1024;
  // Of words, which are some of memory for each unit.
  static constexpr std::uint64_t most_units = std::uint64_t{1} << 24;

  struct Manner {
    bool check = false;  // calls are compared with those before, where the program makes them
    bool words = true;   // by words, where both ends share memory; else always by cells
  };

  // `memory`: the library's, that goes with the channel, or null.
  ChannelEnd(const core::ChannelShape& shape, bool sends, std::shared_ptr<std::byte> memory,
             Manner manner);
  // Of a partitioned request of MPI's, whose partitions are one unit or several each.
  ChannelEnd(const core::ChannelShape& shape, const Partitions& partitions, bool sends,
             Manner manner);

  core::ChannelShape shape() const noexcept override { return grid_.shape(); }
  std::unique_ptr<transport::Offer> offer(transport::Transport& by,
                                          const transport::Message& send) const override;
  std::unique_ptr<transport::Acceptance> accept(transport::Transport& by,
                                                const transport::Message& receive,
                                                const transport::Message& send,
                                                std::span<const std::byte> offer) const override;

  // Throw base::Error, before anything is enqueued. `request` is the one that this is the channel
  // of.
  void enqueue(Verb verb, core::MatchedRequest& request, core::Queue& queue, std::int64_t offset,
               std::int64_t count) const;
  bool test(const core::MatchedRequest& request, std::int64_t offset, std::int64_t count) const;
  // The same by numbers of partitions: puts of those from `low` to `high`, of each in the list.
  void ready(const char* call, core::MatchedRequest& request, core::Queue& queue, int low,
             int high) const;
  void ready(const char* call, core::MatchedRequest& request, core::Queue& queue,
             std::span<const int> list) const;
  bool arrived(const core::MatchedRequest& request, int partition) const;

 private:
  // A verb, by the name of the function that the program has called.
  struct Call {
    Verb verb;
    const char* name;
    core::MatchedRequest& request;
    core::Queue& queue;
  };

  // `cut` gives the units; what it throws is told with the call's name.
  template <class Cut>
  void enqueue_one(const Call& call, Cut cut) const;
  template <class Cut>
  bool test_one(const core::MatchedRequest& request, const char* call, Cut cut) const;
  void admit(const Call& call, std::span<const UnitRange> ranges) const;
  void push(const Call& call, std::span<const UnitRange> ranges) const;
  transport::Message cell_of(const transport::Message& channel, std::uint64_t unit) const;
  void require_units(std::uint64_t most) const;
  peer::Peer* by_words(transport::Transport& by, const transport::Message& ours) const;
  // And that the request is matched, and not MPI's just then.
  void require_side(const core::MatchedRequest& request, bool sends, const char* call) const;
  UnitRange cut_partitions(std::int64_t low, std::int64_t high) const;
  std::vector<UnitRange> cut_list(std::span<const int> list) const;
  void refuse_misuse(Verb verb, UnitRange units) const;
  void count(Verb verb, UnitRange units) const noexcept;

  const Grid grid_;
  const Partitions partitions_;
  const bool of_mpi_;
  const bool sends_;
  const bool words_;
  const std::shared_ptr<std::byte> memory_;
  // Of each unit, where calls are checked: whether it has been put, or waited for, and not been
  // waited for, or released, since.
  mutable std::vector<std::atomic<bool>> in_use_;
};

}  // namespace penstock::channel
