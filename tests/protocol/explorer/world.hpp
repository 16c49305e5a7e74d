// SPDX-License-Identifier: Apache-2.0
// All processes of a scenario as one value (State), and what they can do next (World). The state
// machines' code is run as it is in src/protocol; around it stand the user's programs, which write,
// read and overwrite their buffers as early as they may.
#pragma once

#include <memory>

#include "protocol/explorer/machine.hpp"
#include "protocol/explorer/program.hpp"

namespace penstock::explorer {

// Of a set of threads or endpoints.
constexpr std::uint8_t bit(unsigned index) {
  return static_cast<std::uint8_t>(1u << index);
}

struct Endpoint {
  SenderState send;
  ReceiverState receive;
  std::uint8_t started = 0;
  std::uint8_t ended = 0;
  bool closed = false;  // freed or given up
  bool ending = false;  // the same, and its buffer may not be the program's yet
  CopyFate fate;
};

// The last three need CLOSED words: to ask whether the wait is hopeless, to be released from it, to
// free the half.
enum class Activity : std::uint8_t { none, start, wait, ask, release, close };

struct Thread {
  std::uint8_t at = 0;       // in its program
  std::uint8_t waiting = 0;  // endpoints that its wait call still waits for
  Activity activity = Activity::none;
  std::uint8_t endpoint = 0;  // of the step function that is being run
  bool halted = false;        // it does nothing more
  bool failed = false;        // its queue has failed
  bool knows = false;         // start: that the peer has closed. Then it must not succeed
  CallLog log;
};

struct State {
  Memory memory;
  std::array<Endpoint, max_endpoints> endpoints{};
  std::array<std::uint8_t, max_pairs> copied{};
  std::array<Thread, max_threads> threads{};
  std::uint8_t releases = 0;  // so far
};

struct Move {
  enum class Kind : std::uint8_t {
    resume,
    start,
    poll,
    wait,
    ask,
    release,
    close,
    record,
    await,
    zero,
    renew
  };
  Kind kind = Kind::resume;
  std::uint8_t endpoint = 0;  // number of the event or pair for the last four
  std::uint8_t mask = 0;      // wait: what for
};

struct Effect {
  unsigned choices = 1;  // how many values the load could have read
  const char* fault = nullptr;
};

class World {
 public:
  World(const Scenario& scenario, const std::vector<Machine>& machines, MakePort make_port);
  World(const World&) = delete;

  State initial() const;
  void moves(const State& state, unsigned thread, std::vector<Move>& moves) const;
  // Does one access to shared memory. `text` takes its description.
  Effect apply(State& state, unsigned thread, const Move& move, unsigned choice,
               std::string* text = nullptr) const;
  bool finished(const State& state, unsigned thread) const;
  bool finished(const State& state) const;

  // The lemma behind G4: a wait whose epoch the peer has started ends by its own steps, once a call
  // that the peer is in the middle of has run on. Null, or what is wrong.
  const char* check_progress(const State& state) const;

  std::string save(const State& state) const;
  void restore(const std::string& bytes, State& state) const;

  unsigned threads() const { return static_cast<unsigned>(programs_.size()); }
  const Shape& shape() const { return shape_; }

 private:
  // One run of a call of an end's code.
  struct Running {
    const Machine& machine;
    Step& step;
    ModelPort& port;
    Side side;
    SenderState send;
    ReceiverState receive;
    protocol::StartOutcome outcome = protocol::StartOutcome::started;
    bool settles = false;  // what the look is for: the epoch before the next start, or the one that
                           // has been started
    bool ended = false;
    bool gave_up = false;
    bool ending = false;     // as the endpoint's
    bool under_way = false;  // it is started, and has not ended

    void execute(Activity activity, bool queue_failed);
    void start();
    void poll();
    void give_up();
    void close();
    bool looks_on() const { return side == Side::receiver && machine.is_untouched != nullptr; }
    Epoch awaited() const;
    Epoch epoch() const;
    const Closing& closing() const { return machine.closing[static_cast<unsigned>(side)]; }
  };

  void any_order_moves(const State& state, unsigned thread, std::vector<Move>& moves) const;
  bool settles(const State& state, unsigned endpoint) const;
  void start_moves(const State& state, const Thread& thread, std::uint8_t endpoint,
                   std::vector<Move>& moves) const;
  void waiting_moves(const State& state, const Thread& thread, std::uint8_t endpoint,
                     std::vector<Move>& moves) const;
  Effect begin_call(State& state, unsigned thread, Activity activity, std::uint8_t endpoint,
                    unsigned choice, std::string* text) const;
  Effect run_call(State& state, unsigned thread, unsigned choice, std::string* text) const;
  void before_start(State& state, Step& step, unsigned endpoint) const;
  void after_start(State& state, Step& step, Thread& thread, protocol::StartOutcome outcome) const;
  void after_wait(State& state, Step& step, Thread& thread) const;
  void after_give_up(State& state, Step& step, unsigned thread, const Running& run) const;
  void after_look_at_ending(State& state, Step& step, unsigned thread, const Running& run) const;
  void after_close(State& state, unsigned thread, unsigned endpoint) const;
  void leave_call(State& state, unsigned thread) const;
  void enter_call(State& state, unsigned thread) const;
  unsigned closed_by_peer(unsigned endpoint) const;  // location
  bool peer_has_closed(const State& state, unsigned endpoint) const;
  bool may_reuse(const State& state, unsigned endpoint) const;
  bool knows_peer_closed(const State& state, unsigned thread, unsigned endpoint) const;
  bool record(State& state, unsigned thread, unsigned event) const;
  const char* zero(State& state, unsigned thread, unsigned pair) const;
  bool renew(State& state, unsigned thread, unsigned pair) const;
  unsigned owned(unsigned thread, unsigned pair) const;  // the thread's end of the pair
  bool ends_alone(const State& state, unsigned thread, unsigned endpoint) const;

  std::vector<PairSpec> specs_;
  std::vector<PairPlaces> places_;
  std::vector<Machine> machines_;
  MakePort make_port_;
  std::vector<Program> programs_;
  std::array<std::uint8_t, max_threads> any_order_{};  // endpoints
  std::array<std::uint8_t, max_threads> owns_{};       // endpoints
  std::array<std::uint8_t, max_events> events_{};      // locations
  // Cells of the private words, where several threads use them.
  std::array<std::uint8_t, max_endpoints> private_{};
  std::vector<unsigned> epochs_;  // by pair
  unsigned releases_;
  bool may_close_ = false;
  bool buffer_may_fill_;
  Shape shape_;
};

// What every step asks.
inline bool World::finished(const State& state, unsigned index) const {
  const Thread& thread = state.threads[index];
  if (thread.halted) return true;
  if (thread.activity != Activity::none || thread.waiting != 0) return false;
  if (any_order_[index] == 0) return thread.at == programs_[index].size();
  for (unsigned e = 0; e < max_endpoints; ++e)
    if ((any_order_[index] >> e & 1) && state.endpoints[e].ended < epochs_[pair_of(e)])
      return false;
  return true;
}

// Whether what a thread waits for at this end is that its next start need wait no more.
inline bool World::settles(const State& state, unsigned e) const {
  const Endpoint& endpoint = state.endpoints[e];
  return !machines_[pair_of(e)].send_has_wait && endpoint.send.posted &&
         endpoint.started == endpoint.ended;
}

}  // namespace penstock::explorer
