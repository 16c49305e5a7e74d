// SPDX-License-Identifier: Apache-2.0
// Moves MPI along. One pass starts what has been triggered and tests what is active; whoever gets
// the progress lock runs it: the progress thread, or the worker of a stream that has just started
// something or waits for it. Lending a hand saves the hand-over between two threads, which is most
// of a small message's time; the thread is there for what nobody waits for.
#pragma once

#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "group/private_communicator.hpp"
#include "group/world.hpp"
#include "plan/engine_plan.hpp"
#include "plan/progress_thread.hpp"
#include "proxy/notices.hpp"
#include "proxy/pair_end.hpp"
#include "proxy/tags.hpp"

namespace penstock::proxy {

class ProxyEngine final : private plan::ProgressThread::ProgressWork {
 public:
  struct ProxyOptions {
    unsigned slots;
    bool check_ready;
    std::chrono::microseconds spin;
    std::chrono::milliseconds timeout;  // 0: none
    int last_tag;
  };

  ProxyEngine(const ProxyOptions& options, group::World& world);  // collective
  ~ProxyEngine() override;

  // ---- At match; throw base::Error
  std::shared_ptr<PairEnd> add_sender(const transport::Message& send, const PairName& name);
  // Names the pair.
  std::shared_ptr<PairEnd> add_receiver(const transport::Message& receive,
                                        protocol::Mode send_mode);
  void destroy(PairEnd& end) noexcept;  // never confirmed: its tag is not used again, since a
                                        // message may be on its way

  // ---- On a stream's worker
  void mark_ready(PairEnd& end) noexcept;  // after end.trigger()
  void poll(PairEnd& end) noexcept;        // a pass, if the progress lock is free
  // Several passes, whatever the others do; before bad news is believed.
  void poll_until_sure(PairEnd& end) noexcept;
  // A message for this receive is here although it has not been started.
  bool arrived(const PairEnd& end, protocol::Epoch epoch) noexcept;
  void close(PairEnd& end,
             protocol::Epoch closed) noexcept;  // this half is gone: tells the peer, frees what
                                                // MPI does not hold
  void poison(PairEnd& end, protocol::Epoch closed,
              base::ErrorKind reason) noexcept;  // tells the peer, gives up what is under way

  // Whether that epoch's buffer is free, as far as this process knows. Asks the receiver what it
  // has taken, at first; later calls find its answer, which takes the network and the progress of
  // both processes and no act of any program.
  plan::BufferState find_buffer(PairEnd& end, protocol::Epoch epoch, bool& asked) noexcept;

  MPI_Comm communicator() const noexcept { return communicator_->get(); }
  bool check_ready() const noexcept { return options_.check_ready; }
  std::chrono::milliseconds timeout() const noexcept { return options_.timeout; }
  bool dead(int rank) const noexcept { return world_.dead(rank).load(std::memory_order_acquire); }

 private:
  plan::ProgressThread::Outcome advance() noexcept override;
  bool nothing_to_do(bool listening) noexcept override;

  void enroll(const std::shared_ptr<PairEnd>& end);
  void wake_for_notices() noexcept;
  void take_ready() noexcept;
  bool pass(PairEnd* favourite) noexcept;
  void issue(PairEnd& end) noexcept;
  bool test(MpiSlot& operation) noexcept;
  bool test_some(const PairEnd* tested) noexcept;
  bool take_notices() noexcept;
  void activate(MpiSlot& operation) noexcept;
  void deactivate(MpiSlot& operation) noexcept;
  void give_up(PairEnd& end, protocol::Epoch first) noexcept;
  void leave_to_mpi(PairEnd& end) noexcept;
  void read(int sender, const Notice& notice) noexcept;
  void ask(PairEnd& end) noexcept;
  void answer(int sender, std::uint64_t pair, PairEnd* end) noexcept;
  bool has_work() const noexcept;
  bool must_listen() const noexcept;
  void tell(PairEnd& end, protocol::Epoch closed, base::ErrorKind reason) noexcept;
  void destroy_if_over(PairEnd& end) noexcept;
  void forget(PairEnd& end) noexcept;

  void deliver() noexcept;
  bool part() noexcept;
  void say_farewell() noexcept;
  bool owes_messages() const noexcept;

  const ProxyOptions options_;
  group::World& world_;
  std::unique_ptr<group::PrivateCommunicator> communicator_;

  plan::ReadyList<PairEnd> ready_;
  std::mutex progress_lock_;  // taken by try_lock on workers' usual paths; guards all below
  Tags tags_;
  std::uint64_t next_pair_ = 1;
  std::unordered_map<HalfKey, std::shared_ptr<PairEnd>, HalfKeyHash> ends_;
  std::vector<MpiSlot*> active_;
  std::size_t given_up_ = 0;    // of these
  std::size_t operations_ = 0;  // of all ends: what active_ may come to hold
  std::size_t cursor_ = 0;      // where the next pass goes on testing
  int gpu_ = -1;                // whose memory MPI has been given, if any
  Notices notices_;
  Outgoing stray_;             // an answer about a pair that is not known here
  std::size_t listeners_ = 0;  // receivers that may be asked what they have taken
  plan::ProgressThread thread_;
};

}  // namespace penstock::proxy
