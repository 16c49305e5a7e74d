// SPDX-License-Identifier: Apache-2.0
#include "chain.hpp"

#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <exception>
#include <fstream>
#include <thread>

#include "chain_end.hpp"
#include "support/clock.hpp"

namespace penstock::bench {
namespace {

struct ChainForm {
  const char* name;  // as --baseline
  bool manual;       // progress: whoever looks makes it, by fi_cq_read; otherwise a thread of the
                     // provider
  bool relayed;  // a thread polls a word and adds to the counter; otherwise the sender does, and it
                 // alone makes progress
};
constexpr std::array forms{
    ChainForm{"ofi-chain", true, true},
    ChainForm{"ofi-chain-direct", true, false},
    ChainForm{"ofi-chain-auto", false, true},
    ChainForm{"ofi-chain-auto-direct", false, false},
};

using Name = std::array<char, MPI_MAX_PROCESSOR_NAME>;

bool same_on_both(const Name& mine, int rank) {
  Name other{};
  MPI_Sendrecv(mine.data(), mine.size(), MPI_CHAR, 1 - rank, 0, other.data(), other.size(),
               MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return std::strcmp(mine.data(), other.data()) == 0;
}

bool both_on_one_host(int rank) {
  Name name{};
  int length = 0;
  MPI_Get_processor_name(name.data(), &length);
  return same_on_both(name, rank);
}

// Hosts that are namespaces of one system have names of their own, and the same cores.
bool both_on_one_system(int rank) {
  Name boot{};
  std::ifstream("/proc/sys/kernel/random/boot_id").getline(boot.data(), boot.size());
  return same_on_both(boot, rank);
}

// A thread that polls and finds nothing gives its core away at once where there are more of them
// than cores, since what it waits for needs one.
class Pause {
 public:
  explicit Pause(int threads) {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    sched_getaffinity(0, sizeof cores, &cores);
    bare_polls_ = threads > CPU_COUNT(&cores) ? 0 : 100000;
  }
  void operator()() noexcept {
    if (++polls_ > bare_polls_) sched_yield();
  }
  void reset() noexcept { polls_ = 0; }

 private:
  int bare_polls_;
  int polls_ = 0;
};

// How the ranks' threads are woken for one round: the caller rings, and either it or the relay adds
// to the trigger.
class Chain {
 public:
  Chain(const ChainForm& form, ChainEnd& end, int threads)
      : form_(form), end_(end), pause_(threads) {
    if (form.relayed)
      relay_ = std::jthread([this, threads](const std::stop_token& stop) { relay(stop, threads); });
  }

  void ring(std::uint64_t epoch) {
    if (form_.relayed)
      word_.store(epoch, std::memory_order_release);
    else
      end_.trigger(1);
  }

  template <class Condition>
  void wait_for(Condition&& over) {
    pause_.reset();
    while (!over()) {
      if (failed_.load(std::memory_order_acquire)) std::rethrow_exception(failure_);
      if (form_.manual && !form_.relayed) end_.progress();
      pause_();
    }
  }

 private:
  void relay(const std::stop_token& stop, int threads) {
    Pause pause(threads);
    std::uint64_t relayed = 0;
    try {
      while (!stop.stop_requested()) {
        const std::uint64_t rung = word_.load(std::memory_order_acquire);
        if (rung != relayed) {
          end_.trigger(rung - relayed);
          relayed = rung;
          pause.reset();
        }
        if (form_.manual) end_.progress();
        pause();
      }
    } catch (...) {
      failure_ = std::current_exception();
      failed_.store(true, std::memory_order_release);
    }
  }

  const ChainForm& form_;
  ChainEnd& end_;
  Pause pause_;
  alignas(64) std::atomic<std::uint64_t> word_{0};
  alignas(64) std::atomic<bool> failed_{false};
  std::exception_ptr failure_;
  std::jthread relay_;  // ends first
};

// How many threads look for something at once on the cores of a rank.
int busy_threads(const ChainForm& form, bool shared_cores) {
  const int each = 1 + (form.relayed ? 1 : 0) + (form.manual ? 0 : 1);
  return shared_cores ? 2 * each : each;
}

class Program {
 public:
  Program(Chain& chain, ChainEnd& end, int rank, CheckResult* check)
      : chain_(chain), end_(end), rank_(rank), check_(check) {
    end_.defer(1);
  }

  // Us a round trip.
  double run(int trips) {
    const auto warm_up = static_cast<std::uint64_t>(std::max(1, trips / 10));
    const auto total = warm_up + static_cast<std::uint64_t>(trips);
    double begin = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (std::uint64_t i = 0; i < total; ++i) {
      if (i == warm_up) begin = tool::now_us();
      if (rank_ == 0) send(i, total);
      receive(i);
      if (rank_ == 1) send(i, total);
    }
    const double end = tool::now_us();
    leave(total);
    return (end - begin) / trips;
  }

 private:
  void send(std::uint64_t i, std::uint64_t total) {
    if (check_ != nullptr) fill_pattern(end_.outgoing, static_cast<std::uint64_t>(rank_), i);
    chain_.ring(i + 1);
    // While this message travels.
    if (i + 1 < total) end_.defer(i + 2);
  }
  void receive(std::uint64_t i) {
    chain_.wait_for([&] { return end_.has_come(i + 1); });
    if (check_ != nullptr) check_->add(end_.incoming, static_cast<std::uint64_t>(1 - rank_), i);
  }
  // The peer may need our progress until it knows that its last message has arrived.
  void leave(std::uint64_t total) {
    chain_.wait_for([&] { return end_.has_arrived(total); });
    MPI_Request barrier = MPI_REQUEST_NULL;
    MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
    chain_.wait_for([&] {
      int over = 0;
      MPI_Test(&barrier, &over, MPI_STATUS_IGNORE);
      return over != 0;
    });
  }

  Chain& chain_;
  ChainEnd& end_;
  const int rank_;
  CheckResult* const check_;
};

// Empty if it can be had.
std::string refusal_of(const ChainForm& form, int rank) {
  const FabricInfo info = find_fabric(form.manual, both_on_one_host(rank));
  // What the two take has to fit: formats of addresses are small numbers, and none is 0.
  const int mine = info ? static_cast<int>(info->addr_format) : -1;
  int other = -1;
  MPI_Sendrecv(&mine, 1, MPI_INT, 1 - rank, 0, &other, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  if (mine < 0 || other < 0) return "no provider of libfabric can defer work";
  return mine == other ? ""
                       : "the ranks have addresses of different kinds: set PENSTOCK_OFI_INTERFACE";
}

class ChainSide final : public Side {
 public:
  ChainSide(const ChainForm& form, const Traffic& traffic, bool check)
      : Side(form.name),
        form_(form),
        rank_(traffic.rank),
        bytes_(traffic.sends[0].bytes),
        check_(check) {}

  TripTime run_round(int trips) override {
    const bool shared_cores = both_on_one_system(rank_);
    ChainEnd end(find_fabric(form_.manual, both_on_one_host(rank_)), bytes_, 1 - rank_);
    TripTime time{};
    {
      Chain chain(form_, end, busy_threads(form_, shared_cores));
      time.us = Program(chain, end, rank_, check_ ? &check_result_ : nullptr).run(trips);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return time;
  }
  CheckResult checked() const override { return check_result_; }

 private:
  const ChainForm& form_;
  const int rank_;
  const std::size_t bytes_;
  const bool check_;
  CheckResult check_result_;
};

}  // namespace

std::unique_ptr<Side> make_chain_side(const std::string& name, const Traffic& traffic, bool check,
                                      std::string& why_not) {
  const auto form = std::find_if(forms.begin(), forms.end(),
                                 [&](const ChainForm& each) { return name == each.name; });
  why_not = refusal_of(*form, traffic.rank);
  return why_not.empty() ? std::make_unique<ChainSide>(*form, traffic, check) : nullptr;
}

}  // namespace penstock::bench
