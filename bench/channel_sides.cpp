// SPDX-License-Identifier: Apache-2.0
#include <mpi.h>

#include <atomic>

#include "channel_trips.hpp"
#include "pattern.hpp"

namespace penstock::bench {
namespace {

// On MPI_COMM_WORLD. Those of units follow the first; Penstock's and MPI's never meet.
constexpr int first_unit_tag = 2000, partitioned_tag = 19000, channel_tag = 19001;

// Requests of all units, of which calls take those of a range.
class UnitRequests {
 public:
  void add(Request request) { requests_.add(std::move(request)); }
  std::span<MPI_Request> all() { return requests_.all(); }
  std::span<MPI_Request> of(UnitRange units) {
    return requests_.all().subspan(units.first, units.count);
  }

 private:
  Requests requests_;
};

void start_by_mpi(std::span<MPI_Request> requests) {
  if (requests.size() == 1)
    MPI_Start(requests.data());
  else
    MPI_Startall(static_cast<int>(requests.size()), requests.data());
}
void wait_by_mpi(std::span<MPI_Request> requests) {
  if (requests.size() == 1)
    MPI_Wait(requests.data(), MPI_STATUS_IGNORE);
  else
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

class Channels final : public StreamTrips<Channels> {
 public:
  Channels(const UnitTraffic& traffic, int rank) : StreamTrips("channel", traffic, rank) {
    const UnitRange all{0, traffic.all_units()};
    const auto bytes = static_cast<MPI_Count>(traffic.all_bytes());
    const auto unit = static_cast<MPI_Count>(traffic.unit_bytes());
    MPI_Request made = MPI_REQUEST_NULL;
    detail::check(PST_Channel_send_init(sent(all).data(), bytes, MPI_BYTE, unit, peer(),
                                        channel_tag, MPI_COMM_WORLD, MPI_INFO_NULL, &made),
                  "PST_Channel_send_init");
    ends_.add(Request(made));
    detail::check(PST_Channel_recv_init(received(all).data(), bytes, MPI_BYTE, unit, peer(),
                                        channel_tag, MPI_COMM_WORLD, MPI_INFO_NULL, &made),
                  "PST_Channel_recv_init");
    ends_.add(Request(made));
    match(ends_);
  }
  std::string transport() const override { return ends_[0].transport(); }

  void put(std::size_t thread, UnitRange units) {
    call(PST_Channel_put, "PST_Channel_put", thread, 0, units);
  }
  void put_wait(std::size_t thread, UnitRange units) {
    call(PST_Channel_put_wait, "PST_Channel_put_wait", thread, 0, units);
  }
  void wait(std::size_t thread, UnitRange units) {
    call(PST_Channel_wait, "PST_Channel_wait", thread, 1, units);
  }
  void release(std::size_t thread, UnitRange units) {
    call(PST_Channel_release, "PST_Channel_release", thread, 1, units);
  }

 private:
  using Verb = int(PST_Queue, MPI_Request, MPI_Count, MPI_Count);
  void call(Verb& verb, const char* name, std::size_t thread, std::size_t end, UnitRange units) {
    const std::size_t bytes = traffic().unit_bytes();
    detail::check(
        verb(queue(thread).get(), ends_[end].get(), static_cast<MPI_Count>(units.first * bytes),
             static_cast<MPI_Count>(units.count * bytes)),
        name);
  }

  Requests ends_;  // the sender's, the receiver's
};

class MatchedPairs final : public StreamTrips<MatchedPairs> {
 public:
  MatchedPairs(const UnitTraffic& traffic, int rank) : StreamTrips("pairs", traffic, rank) {
    for (std::size_t unit = 0; unit < traffic.all_units(); ++unit) {
      const int tag = first_unit_tag + static_cast<int>(unit);
      sends_.add(send_init(sent({unit, 1}), peer(), tag, MPI_COMM_WORLD));
      receives_.add(recv_init(received({unit, 1}), peer(), tag, MPI_COMM_WORLD));
    }
    match_both();
    for (std::size_t thread = 0; thread < traffic.threads; ++thread)
      release(thread, units_of(thread));
  }
  // The receives that the last releases have started end with their queue.
  ~MatchedPairs() override { send_what_is_awaited(); }
  std::string transport() const override { return transport_; }

  void put(std::size_t thread, UnitRange units) { queue(thread).start(sends_.of(units)); }
  void put_wait(std::size_t thread, UnitRange units) { queue(thread).wait(sends_.of(units)); }
  void wait(std::size_t thread, UnitRange units) { queue(thread).wait(receives_.of(units)); }
  void release(std::size_t thread, UnitRange units) { queue(thread).start(receives_.of(units)); }

 private:
  // In one call: what is sent here is received there, and the other way round.
  void match_both() {
    std::vector<MPI_Request> both;
    both.insert(both.end(), sends_.all().begin(), sends_.all().end());
    both.insert(both.end(), receives_.all().begin(), receives_.all().end());
    match(both);
    transport_ = RequestView(both.front()).transport();
  }
  void send_what_is_awaited() {
    for (std::size_t thread = 0; thread < traffic().threads; ++thread) {
      put(thread, units_of(thread));
      put_wait(thread, units_of(thread));
      wait(thread, units_of(thread));
    }
  }

  UnitRequests sends_, receives_;
  std::string transport_;
};

class PersistentRequests final : public HostTrips<PersistentRequests> {
 public:
  PersistentRequests(const UnitTraffic& traffic, int rank) : HostTrips("mpi", traffic, rank) {
    for (std::size_t unit = 0; unit < traffic.all_units(); ++unit) {
      const int tag = first_unit_tag + static_cast<int>(unit);
      sends_.add(send_init(sent({unit, 1}), peer(), tag, MPI_COMM_WORLD));
      receives_.add(recv_init(received({unit, 1}), peer(), tag, MPI_COMM_WORLD));
    }
    start_by_mpi(receives_.all());
  }
  ~PersistentRequests() override {
    start_by_mpi(sends_.all());
    wait_by_mpi(sends_.all());
    wait_by_mpi(receives_.all());
  }

  void put(std::size_t, UnitRange units) { start_by_mpi(sends_.of(units)); }
  void put_wait(std::size_t, UnitRange units) { wait_by_mpi(sends_.of(units)); }
  void wait(std::size_t, UnitRange units) { wait_by_mpi(receives_.of(units)); }
  void release(std::size_t, UnitRange units) { start_by_mpi(receives_.of(units)); }

 private:
  UnitRequests sends_, receives_;
};

#if MPI_VERSION >= 4
// What one thread does for all, when all are there; and all go on behind it.
class ForAll {
 public:
  explicit ForAll(std::size_t threads) : threads_(threads) {}

  template <class Body>
  void once(Body body) {
    const std::size_t turn = turn_.load(std::memory_order_acquire);
    if (there_.fetch_add(1, std::memory_order_acq_rel) + 1 < threads_)
      return turn_.wait(turn, std::memory_order_acquire);
    there_.store(0, std::memory_order_relaxed);
    body();
    turn_.store(turn + 1, std::memory_order_release);
    turn_.notify_all();
  }

 private:
  const std::size_t threads_;
  std::atomic<std::size_t> there_{0}, turn_{0};
};

// A request each way for all threads, of which each has its partitions. It is started and waited
// for as a whole: with the first of a thread's calls, and with the last.
class Partitioned final : public HostTrips<Partitioned> {
 public:
  Partitioned(const UnitTraffic& traffic, int rank)
      : HostTrips("mpi-partitioned", traffic, rank), for_all_(traffic.threads) {
    const UnitRange all{0, traffic.all_units()};
    const auto partitions = static_cast<int>(all.count);
    const auto bytes = static_cast<MPI_Count>(traffic.unit_bytes());
    MPI_Psend_init(sent(all).data(), partitions, bytes, MPI_BYTE, peer(), partitioned_tag,
                   MPI_COMM_WORLD, MPI_INFO_NULL, &send_);
    MPI_Precv_init(received(all).data(), partitions, bytes, MPI_BYTE, peer(), partitioned_tag,
                   MPI_COMM_WORLD, MPI_INFO_NULL, &receive_);
    MPI_Start(&receive_);
  }
  ~Partitioned() override {
    MPI_Start(&send_);
    MPI_Pready_range(0, static_cast<int>(traffic().all_units()) - 1, send_);
    MPI_Wait(&send_, MPI_STATUS_IGNORE);
    MPI_Wait(&receive_, MPI_STATUS_IGNORE);
    MPI_Request_free(&send_);
    MPI_Request_free(&receive_);
  }

  void put(std::size_t thread, UnitRange units) {
    if (units.first == units_of(thread).first) for_all_.once([&] { MPI_Start(&send_); });
    MPI_Pready_range(static_cast<int>(units.first), static_cast<int>(units.first + units.count) - 1,
                     send_);
  }
  void put_wait(std::size_t, UnitRange) {
    for_all_.once([&] { MPI_Wait(&send_, MPI_STATUS_IGNORE); });
  }
  void wait(std::size_t thread, UnitRange units) {
    const bool last = is_last(thread, units);
    if (!last || traffic().threads > 1)
      for (std::size_t unit = units.first; unit < units.first + units.count; ++unit)
        for (int here = 0; here == 0;) MPI_Parrived(receive_, static_cast<int>(unit), &here);
    if (last) for_all_.once([&] { MPI_Wait(&receive_, MPI_STATUS_IGNORE); });
  }
  void release(std::size_t thread, UnitRange units) {
    if (is_last(thread, units)) for_all_.once([&] { MPI_Start(&receive_); });
  }

 private:
  bool is_last(std::size_t thread, UnitRange units) const {
    const UnitRange all = units_of(thread);
    return units.first + units.count == all.first + all.count;
  }

  ForAll for_all_;
  MPI_Request send_ = MPI_REQUEST_NULL, receive_ = MPI_REQUEST_NULL;
};
#endif

bool may_thread(const UnitTraffic& traffic, std::string& why_not) {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  if (traffic.threads == 1) return true;
  if (level != MPI_THREAD_MULTIPLE)
    why_not = "several threads call MPI at MPI_THREAD_MULTIPLE alone: --thread multiple";
  else if (std::thread::hardware_concurrency() < 2 * traffic.threads)
    why_not = "threads that wait in MPI need a core each, and there are fewer";
  return why_not.empty();
}

std::unique_ptr<ChannelSide> make_partitioned([[maybe_unused]] const UnitTraffic& traffic,
                                              [[maybe_unused]] int rank, std::string& why_not) {
#if MPI_VERSION >= 4
  if (may_thread(traffic, why_not)) return std::make_unique<Partitioned>(traffic, rank);
#else
  why_not = "this MPI has no partitioned messages";
#endif
  return nullptr;
}

}  // namespace

ChannelSide::ChannelSide(std::string name, const UnitTraffic& traffic, int rank)
    : name_(std::move(name)),
      traffic_(traffic),
      rank_(rank),
      outgoing_(traffic.all_bytes()),
      incoming_(traffic.all_bytes()) {}

void ChannelSide::fill(std::uint64_t step) {
  fill_pattern(outgoing_.all(), static_cast<std::uint64_t>(rank_), step);
}

std::size_t ChannelSide::count_wrong(std::uint64_t step) const {
  return bench::count_wrong(incoming_.all(), static_cast<std::uint64_t>(peer()), step);
}

std::unique_ptr<ChannelSide> make_channel_side(const std::string& library,
                                               const UnitTraffic& traffic, int rank,
                                               std::string& why_not) {
  if (library == "pairs") return std::make_unique<MatchedPairs>(traffic, rank);
  if (library == "mpi" && may_thread(traffic, why_not))
    return std::make_unique<PersistentRequests>(traffic, rank);
  if (library == "mpi-partitioned") return make_partitioned(traffic, rank, why_not);
  if (library != "channel") return nullptr;
  try {
    return std::make_unique<Channels>(traffic, rank);
  } catch (const Error& error) {
    if (error.kind() != PST_ERROR_UNSUPPORTED && error.kind() != PST_ERROR_TRANSPORT) throw;
    why_not = error.what();
    return nullptr;
  }
}

}  // namespace penstock::bench
