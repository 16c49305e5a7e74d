// SPDX-License-Identifier: Apache-2.0
// A plan whose messages an engine moves along: what ofi and proxy have in common. The worker writes
// what it has started and rings; progress, and whoever is behind it, writes the words that the wait
// looks at.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/elapsed.hpp"
#include "base/log.hpp"
#include "plan/host_plan.hpp"
#include "transport/message.hpp"

namespace penstock::plan {

// Says whether a buffered send's next message has a buffer.
enum class BufferState : std::uint8_t {
  free,
  full,    // the receiver has not taken what it holds
  unknown  // the answer is on its way
};

// An end that carries one message an epoch: packed() has it where its bytes lie with gaps, fill()
// copies that of a buffered send, and there are ready sends. The ends of windows know none of that.
template <class PairEnd>
concept CarriesMessage = requires(PairEnd& end) {
  end.packed();
};

// PairEnd says what is particular to its transport; wait_is_over() and end_wait() are asked and
// told by the wait.
template <class Engine, class PairEnd>
class EnginePlan final : public HostPlan {
  static constexpr bool carries_message = CarriesMessage<PairEnd>;

 public:
  EnginePlan(Engine& engine, std::shared_ptr<PairEnd> end) noexcept
      : engine_(engine), end_(std::move(end)) {
    engine_.note_answer(end_->peer);  // it has just matched
  }
  ~EnginePlan() override { engine_.release(end_); }

  void expect_start() override { engine_.expect_start(*end_); }
  void note_freed() noexcept override { reason_ = base::ErrorKind::peer_freed; }
  transport::PairState pair_state(protocol::Epoch epoch) const noexcept override {
    return state_by(end_->closed_before(epoch));
  }
  std::string describe() const override {
    return poisoned() ? end_->describe_given_up() : end_->describe();
  }
  std::string path() const override { return end_->path(); }
  const char* advice() const noexcept override {
    if constexpr (requires { PairEnd::advice; })
      return PairEnd::advice;
    else
      return HostPlan::advice();
  }

 private:
  // What the peer has said comes first, then that it is dead: either explains what the network, or
  // MPI, says.
  std::optional<base::Error> broken(protocol::Epoch epoch) const {
    if (!end_->closed_before(epoch) && engine_.dead(end_->peer))
      return base::Error(
          base::ErrorKind::peer_dead,
          "the process of rank " + std::to_string(end_->peer) + " has ended: see its output");
    return end_->broken(epoch);
  }

  // What the network or MPI says.
  static bool may_be_explained(base::ErrorKind kind) noexcept {
    return kind == base::ErrorKind::transport || kind == base::ErrorKind::mpi;
  }

  // The same, or nothing and `later` while a better reason may still come: a process that ends
  // closes its sockets before the system says that it is gone. So its own word is waited for, for
  // longer than a process takes to end.
  std::optional<base::Error> believed(protocol::Epoch epoch, bool& later) {
    constexpr std::chrono::milliseconds longer_than_an_end{100};
    auto error = broken(epoch);
    if (!error || !may_be_explained(error->kind()) || unexplained_.exceeds(longer_than_an_end))
      return error;
    later = true;
    return std::nullopt;
  }

  // A buffered send finds no buffer free. The receiver's own word on what it has taken decides, and
  // then the end of that; until it is here the start is left for later. A network that is cut
  // brings no word and tells nobody that it is cut: PENSTOCK_TIMEOUT ends that, as it does a wait.
  std::optional<base::Error> find_buffer(protocol::Epoch epoch, bool& later) {
    if (!search_) search_.emplace();
    const BufferState buffer = engine_.find_buffer(*end_, epoch, search_->asked);
    if (buffer == BufferState::free) return std::nullopt;
    if (auto error = believed(epoch, later); error || later) return error;
    if (buffer == BufferState::full)
      return base::Error(base::ErrorKind::buffer,
                         "all " + std::to_string(end_->buffers()) +
                             " library buffers hold messages that rank " +
                             std::to_string(end_->peer) +
                             " has not received: raise PENSTOCK_SLOTS or receive sooner");
    const auto limit = engine_.timeout();
    if (limit.count() > 0 && search_->lasts.exceeds(limit))
      return base::Error(base::ErrorKind::timeout,
                         "rank " + std::to_string(end_->peer) +
                             " could not be asked whether it has taken the messages before");
    later = true;
    return std::nullopt;
  }

  std::optional<base::Error> take_buffer(protocol::Epoch epoch, bool& later) {
    if (!end_->buffer_free(epoch))
      if (auto error = find_buffer(epoch, later); error || later) return error;
    search_.reset();
    return end_->fill(epoch);
  }

  std::optional<base::Error> prepare_message(protocol::Epoch epoch, bool& later) {
    auto error = broken_promise(epoch);
    if (!error && end_->buffered()) error = take_buffer(epoch, later);
    if (!error && !later && end_->sends()) end_->packed().before_start();
    return error;
  }

  std::optional<base::Error> run_start(bool& later) override {
    const protocol::Epoch epoch = done_ + 1;
    auto error = believed(epoch, later);
    if (error && error->kind() == base::ErrorKind::peer_dead && has_come(epoch)) error.reset();
    if constexpr (carries_message)
      if (!error && !later) error = prepare_message(epoch, later);
    // A peer that has closed serves at most the starts that have been made, so this one is refused
    // in words too.
    if (!error && !later && !end_->trigger(epoch)) error = broken(epoch);
    if (!error && !later) {
      engine_.mark_ready(*end_);
      // So that the receiver's check finds what it can.
      if (end_->sends() && checks_ready())
        engine_.poll_until(*end_, [&] { return end_->wait_is_over(epoch); });
      // The pass may have brought the receiver's word that it has gone. What the network says, and
      // that it is dead, is left to the wait: it may have received this message before. A buffered
      // send's wait does not look.
      if (end_->sends() && (buffered() || end_->closed_before(epoch))) error = end_->broken(epoch);
    }
    if (error) reason_ = error->kind();
    return error;
  }

  bool run_wait() noexcept override {
    const protocol::Epoch epoch = done_ + 1;
    if (!ended(epoch)) {
      engine_.poll(*end_);
      if (!ended(epoch)) return false;
    }
    done_ = epoch;
    engine_.leave();
    if constexpr (carries_message)
      if (!end_->sends()) end_->packed().after_wait();
    if (end_->end_wait(epoch)) engine_.mark_ready(*end_);
    return true;
  }

  std::optional<base::Error> hopeless() override {
    const protocol::Epoch epoch = done_ + 1;
    bool later = false;
    auto error = believed(epoch, later);
    if (!error) return std::nullopt;
    // The message, or the peer's own word of what has happened, may be here already.
    engine_.poll_until_sure(*end_);
    if (auto better = broken(epoch)) error = std::move(better);
    reason_ = error->kind();
    return error;
  }

  void run_close() noexcept override { engine_.close(*end_, done_ + 1); }
  void run_poison() noexcept override {
    closed_at_giving_up_ = end_->closed_before(done_ + 1);
    engine_.poison(*end_, done_ + 1, reason_);
  }

  // The peer answers without its program; one that has died, or that PENSTOCK_TIMEOUT gives up,
  // does not.
  bool run_untouched() noexcept override {
    engine_.poll(*end_);
    if (engine_.untouched(*end_)) {
      // What is untouched of itself is no answer, nor is a word from before.
      if (!closed_at_giving_up_ && end_->closed_before(done_ + 1)) engine_.note_answer(end_->peer);
    } else if (!nobody_answers()) {
      return false;
    }
    engine_.leave();
    return true;
  }

  // One silence of PENSTOCK_TIMEOUT is enough: the other pairs with that peer wait no second time.
  std::chrono::milliseconds patience() const noexcept {
    constexpr std::chrono::milliseconds for_answer_under_way{100};
    return engine_.silent(end_->peer) ? std::min(engine_.timeout(), for_answer_under_way)
                                      : engine_.timeout();
  }

  bool nobody_answers() noexcept {
    if (engine_.dead(end_->peer)) {
      engine_.poll_until_sure(*end_);  // what it had sent before
      return true;
    }
    if (left_to_peer_) return true;
    if (engine_.timeout().count() == 0 || !touched_.exceeds(patience())) return false;
    left_to_peer_ = true;
    engine_.note_silence(end_->peer);
    base::log::failures_in([&] {
      base::log::error(label() + ": rank " + std::to_string(end_->peer) +
                       " has not said that nothing moves the buffer any more: do not use it, or "
                       "free it, before MPI_Finalize has returned");
    });
    return true;
  }

  // With a peer that has gone nothing counts as complete, whatever the words say: nobody will
  // receive the send, and a sender that PENSTOCK_TIMEOUT has let go may have used its buffer.
  bool ended(protocol::Epoch epoch) const noexcept {
    return end_->wait_is_over(epoch) && !end_->closed_before(epoch);
  }

  // Of a receive: the message is here, though its sender has died.
  bool has_come(protocol::Epoch epoch) noexcept {
    if (end_->sends()) return false;
    engine_.poll_until_sure(*end_);
    return engine_.arrived(*end_, epoch);
  }

  // Of a ready send. Sound, as the program can have told the sender of this start only after the
  // start; and the message may still be on its way, so that not every broken promise is found.
  std::optional<base::Error> broken_promise(protocol::Epoch epoch) const {
    if (!end_->sends() && checks_ready() && engine_.arrived(*end_, epoch))
      return base::Error(base::ErrorKind::ready, "a ready send was started before this receive");
    return std::nullopt;
  }

  bool checks_ready() const noexcept {
    if constexpr (carries_message)
      return engine_.check_ready() && end_->mode == protocol::Mode::ready;
    else
      return false;
  }
  bool buffered() const noexcept {
    if constexpr (carries_message)
      return end_->buffered();
    else
      return false;
  }

  struct BufferSearch {
    base::Elapsed lasts;
    bool asked = false;
  };

  Engine& engine_;
  std::shared_ptr<PairEnd> end_;
  std::optional<BufferSearch> search_;                   // of a start that has been left for later
  base::Elapsed unexplained_;                            // a failure that the network has told
  base::Elapsed touched_;                                // since the first look after the giving up
  bool closed_at_giving_up_ = false;                     // the peer had
  bool left_to_peer_ = false;                            // it was for too long
  protocol::Epoch done_ = 0;                             // waits that have ended; the worker's own
  base::ErrorKind reason_ = base::ErrorKind::transport;  // why the pair is poisoned, for the peer
};

}  // namespace penstock::plan
