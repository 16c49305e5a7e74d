// SPDX-License-Identifier: Apache-2.0
// Moves MPI along: gives it what has been started, tests what is active, sends and takes notices.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "group/private_communicator.hpp"
#include "group/world.hpp"
#include "plan/active_list.hpp"
#include "plan/large_messages.hpp"
#include "plan/progress_engine.hpp"
#include "proxy/notices.hpp"
#include "proxy/pair_end.hpp"
#include "proxy/tags.hpp"

namespace penstock::proxy {

class ProxyEngine final : public plan::ProgressEngine<PairEnd> {
 public:
  struct ProxyOptions {
    plan::ProgressOptions progress;
    unsigned slots;
    int last_tag;
  };

  ProxyEngine(const ProxyOptions& options, group::World& world);  // collective
  ~ProxyEngine() override;                                        // collective

  // ---- At match; throw base::Error
  std::shared_ptr<PairEnd> add_sender(const transport::Message& send, const AnswerRecord& name);
  // Names the pair.
  std::shared_ptr<PairEnd> add_receiver(const transport::Message& receive,
                                        protocol::Mode send_mode);
  // Never confirmed: its tag is not used again, since a message may be on its way.
  void destroy(PairEnd& end) noexcept;

  // What an engine without either knows of starts to come, and of a plan that is gone: it keeps the
  // end until both halves are.
  void expect_start(PairEnd&) noexcept {}
  void release(std::shared_ptr<PairEnd>&) noexcept {}

  // ---- On a stream's worker
  // See ProgressEngine::state_of_buffer.
  plan::BufferState find_buffer(PairEnd& end, protocol::Epoch epoch, bool& asked) noexcept;
  // A message for this receive is here although it has not been started.
  bool arrived(const PairEnd& end, protocol::Epoch epoch) noexcept;
  // This half is gone: tells the peer, frees what MPI does not hold.
  void close(PairEnd& end, protocol::Epoch closed) noexcept;
  // Tells the peer, gives up what is under way.
  void poison(PairEnd& end, protocol::Epoch closed, base::ErrorKind reason) noexcept;
  // Of what has been given up: MPI has let go of the program's buffer.
  bool untouched(const PairEnd& end) const noexcept;

  MPI_Comm communicator() const noexcept { return communicator_->get(); }

 private:
  bool take_ready() noexcept override;
  bool pass(PairEnd* favourite) noexcept override;
  // What has been given up may last for ever: it is looked at now and then.
  bool under_way() const noexcept override {
    return active_.size() > given_up_ || !notices_.all_sent();
  }
  int passes_at_once() const noexcept override { return large_.passes_at_once(); }
  // Senders ask receivers, and wait for their notices.
  // The peer of any half may give its own up, or ask.
  bool must_listen() const noexcept override { return !ends_.empty(); }
  bool owes_messages() const noexcept override;
  bool owes_notices() const noexcept override;
  // MPICH does not leave MPI_Finalize while its queues are full of what nobody takes any more.
  bool may_end() const noexcept override { return notices_.all_sent(); }

  void enroll(const std::shared_ptr<PairEnd>& end);
  void issue(PairEnd& end) noexcept;
  bool test(MpiSlot& operation) noexcept;
  bool test_all(PairEnd& end) noexcept;
  bool take_notices() noexcept;
  void deactivate(MpiSlot& operation) noexcept;
  void give_up(PairEnd& end, protocol::Epoch first) noexcept;
  void leave_to_mpi(PairEnd& end) noexcept;
  void read(int sender, const Notice& notice) noexcept;
  bool query_credits(PairEnd& end) noexcept;
  void tell_credits(int sender, std::uint64_t pair, PairEnd* end) noexcept;
  void tell(PairEnd& end, protocol::Epoch closed, base::ErrorKind reason) noexcept;
  void send_notice(PairEnd& end) noexcept;
  void answer_end(PairEnd& receive, const Notice& of_send) noexcept;
  void settle(PairEnd& end) noexcept;
  void destroy_if_over(PairEnd& end) noexcept;
  void forget(PairEnd& end) noexcept;

  const unsigned slots_;  // of a buffered send
  std::unique_ptr<group::PrivateCommunicator> communicator_;
  Tags tags_;
  std::uint64_t next_pair_ = 1;
  std::unordered_map<EndKey, std::shared_ptr<PairEnd>, EndKeyHash> ends_;
  plan::ActiveList<MpiSlot> active_;
  std::size_t given_up_ = 0;    // of these
  plan::LargeMessages large_;   // of these
  std::size_t operations_ = 0;  // of all ends: what active_ may come to hold
  int gpu_ = -1;                // whose memory MPI has been given, if any
  Notices notices_;
  Outgoing stray_;  // an answer about a pair that is not known here
};

}  // namespace penstock::proxy
