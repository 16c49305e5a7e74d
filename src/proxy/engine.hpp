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

class ProxyEngine final : public plan::ProgressEngine<End> {
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
  void destroy(End& end) noexcept;

  // ---- When a window is attached; throw base::Error
  std::uint64_t name_pair() noexcept;  // never the same again
  int take_tag(int peer);              // of messages from there
  // An end that has been made. `gpu`: whose memory MPI is given, if any.
  void enroll(const std::shared_ptr<End>& end, int gpu = -1);

  // What an engine without either knows of starts to come, and of a plan that is gone: it keeps the
  // end until both halves are.
  void expect_start(End&) noexcept {}
  template <class ItsEnd>
  void release(std::shared_ptr<ItsEnd>&) noexcept {}

  // ---- On a stream's worker
  // See ProgressEngine::state_of_buffer.
  plan::BufferState find_buffer(PairEnd& end, protocol::Epoch epoch, bool& asked) noexcept;
  // A message for this receive is here although it has not been started.
  bool arrived(const End& end, protocol::Epoch epoch) noexcept;
  // This half is gone: tells the peer, frees what MPI does not hold.
  void close(End& end, protocol::Epoch closed) noexcept;
  // Tells the peer, gives up what is under way.
  void poison(End& end, protocol::Epoch closed, base::ErrorKind reason) noexcept;
  // Of what has been given up: MPI has let go of the program's buffer.
  bool untouched(const End& end) const noexcept;

  // ---- For ends, under the progress lock
  void begin(MpiSlot& operation) noexcept;  // MPI has it from now on
  bool take_notices() noexcept;

  MPI_Comm communicator() const noexcept { return communicator_->get(); }

 private:
  bool take_ready() noexcept override;
  bool pass(End* favourite) noexcept override;
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

  bool test(MpiSlot& operation) noexcept;
  bool test_all(End& end) noexcept;
  void deactivate(MpiSlot& operation) noexcept;
  void give_up(End& end, protocol::Epoch first) noexcept;
  void leave_to_mpi(End& end) noexcept;
  void read(int sender, const Notice& notice) noexcept;
  bool query_credits(PairEnd& end) noexcept;
  void tell_credits(int sender, std::uint64_t pair, End* end) noexcept;
  void tell(End& end, protocol::Epoch closed, base::ErrorKind reason) noexcept;
  void send_notice(End& end) noexcept;
  void part_with_peer(End& end) noexcept;
  void answer(End& end) noexcept;
  void settle(End& end) noexcept;
  void destroy_if_over(End& end) noexcept;
  void forget(End& end) noexcept;

  const unsigned slots_;  // of a buffered send
  std::unique_ptr<group::PrivateCommunicator> communicator_;
  Tags tags_;
  std::uint64_t next_pair_ = 1;
  std::unordered_map<EndKey, std::shared_ptr<End>, EndKeyHash> ends_;
  plan::ActiveList<MpiSlot> active_;
  std::size_t given_up_ = 0;    // of these
  plan::LargeMessages large_;   // of these
  std::size_t operations_ = 0;  // of all ends: what active_ may come to hold
  int gpu_ = -1;                // whose memory MPI has been given, if any
  Notices notices_;
  Outgoing stray_;  // an answer about a pair that is not known here
};

}  // namespace penstock::proxy
