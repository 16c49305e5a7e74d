// SPDX-License-Identifier: Apache-2.0
// Handing requests to match, driving, outcomes. The letters are in matcher_handshake.cpp and those
// beside it.
#include "core/matching/matcher.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

#include "base/backoff.hpp"
#include "base/log.hpp"
#include "base/thread.hpp"

namespace penstock::core {

using base::Error;
using base::ErrorKind;

std::atomic<int> Matcher::jobs_under_way{0};

Matcher::Matcher(const base::Settings& settings, group::World& world, group::Mailbox& mailbox,
                 Transports& transports)
    : settings_(settings), world_(world), mailbox_(mailbox), transports_(transports) {}

Matcher::~Matcher() {
  stop_driving();
  // Those that nobody has completed.
  jobs_under_way.fetch_sub(static_cast<int>(jobs_.size() + settled_.size() + finished_.size()));
}

// ---- Handing requests to match

void Matcher::check(const MatchedRequest& operation) const {
  const Recording& recording = operation.recording();
  const auto refuse = [&](ErrorKind kind, const std::string& text) {
    throw RequestError(operation, kind, text);
  };
  if (recording.kind == RequestKind::collective)
    refuse(ErrorKind::unsupported,
           fmt::format(
               " cannot be matched: persistent collectives ({}) are not supported yet; start it "
               "with MPI_Start",
               recording.call));
  if (recording.kind == RequestKind::partitioned)
    refuse(ErrorKind::unsupported,
           fmt::format(" cannot be matched: {} makes a partitioned request, and only persistent "
                       "sends and receives match",
                       recording.call));
  if (!recording.refusal.empty())
    refuse(ErrorKind::argument, " cannot be matched: " + recording.refusal);
  if (operation.match_state() != MatchState::unmatched)
    refuse(ErrorKind::already_matched,
           operation.matched()
               ? " is matched already: match a request once, and start it again and again"
               : " is being matched already: complete that match");
  if (recording.peer == null_rank) return;
  if (!recording.communicator || !recording.communicator->known)
    refuse(ErrorKind::communicator,
           fmt::format(": the communicator is not known to Penstock ({}): call PST_Comm_attach on "
                       "all its members "
                       "first",
                       recording.communicator ? recording.communicator->why_unknown
                                              : "its creation was not seen"));
  if (recording.peer_world == outside_world)
    refuse(ErrorKind::communicator,
           ": the peer is not in MPI_COMM_WORLD, and only its processes can match: use MPI alone "
           "with it");
}

std::shared_ptr<MatchJob> Matcher::prepare(std::vector<MatchedRequest*> operations) {
  const std::lock_guard lock(mutex_);
  auto job = std::make_shared<MatchJob>();
  job->open.insert(operations.begin(), operations.end());
  std::size_t checked = 0;
  try {
    for (; checked < operations.size(); ++checked) {
      check(*operations[checked]);
      // So that a request that occurs twice in the array is found.
      operations[checked]->match_begins();
    }
  } catch (...) {
    while (checked-- > 0) operations[checked]->match_failed();
    throw;
  }
  job->to_post = std::move(operations);
  return job;
}

void Matcher::begin(const std::shared_ptr<MatchJob>& job) {
  {
    const std::lock_guard lock(mutex_);
    move_on([&] { read_letters(); });  // who has an offer, or an invitation, need not write one
    if (settings_.timeout.count() > 0)
      job->deadline = std::chrono::steady_clock::now() + settings_.timeout;
    try {
      job->place = jobs_.insert(jobs_.end(), job);
    } catch (...) {
      for (MatchedRequest* operation : job->to_post) operation->match_failed();
      throw;
    }
    jobs_under_way.fetch_add(1);
    if (job->on_finished) ++unattended_;
    if (job->open.empty()) settle(*job);
    for (MatchedRequest* operation : std::exchange(job->to_post, {}))
      attempt(*operation, job, [&] { post(*operation, job); });
    helper_wakes_.notify_one();
  }
  drive(std::unique_lock(mutex_));  // whoever leaves may not come here again
}

void Matcher::post(MatchedRequest& operation, const std::shared_ptr<MatchJob>& job) {
  const Recording& recording = operation.recording();
  if (recording.peer == null_rank) {
    operation.take_match({null_rank, any_tag, 0}, nullptr, "null");
    succeed(operation, *job);
  } else if (operation.is_receive()) {
    post_receive(operation, job);
  } else {
    post_send(operation, job);
  }
}

// ---- Outcomes

Error Matcher::error_of(const std::exception& failure) noexcept {
  if (const auto* error = dynamic_cast<const Error*>(&failure)) return *error;
  if (dynamic_cast<const std::bad_alloc*>(&failure)) return Error(ErrorKind::resources);
  return base::error_by(ErrorKind::internal, [&] { return failure.what(); });
}

// Both say what has become of the operation as the last thing they do with it: it may be freed at
// once.
void Matcher::succeed(MatchedRequest& operation, MatchJob& job) {
  job.open.erase(&operation);
  operation.publish_match();
  settle(job);
}

void Matcher::fail(MatchedRequest& operation, MatchJob& job, const Error& error) {
  if (!job.error) job.error.emplace(operation, error);
  job.open.erase(&operation);
  operation.match_failed();
  settle(job);
}

// A half that has been connected is closed before the letter leaves: who reads that gives the
// memory to another pair.
void Matcher::give_up(MatchedRequest& operation, MatchJob& job, const Error& error) {
  operation.give_up_plan();
  withdraw(operation, error);
  fail(operation, job, error);
}

// Those for which why(operation, job) has an error. Takes no memory, and giving up one gives no
// other an outcome.
template <class Why>
void Matcher::give_up_where(Why&& why) {
  for (auto next = jobs_.begin(); next != jobs_.end();) {
    const std::shared_ptr<MatchJob> job = *next++;
    for (auto each = job->open.begin(); each != job->open.end();) {
      MatchedRequest& operation = **each++;
      if (const std::optional<Error> error = why(operation, *job)) give_up(operation, *job, *error);
    }
  }
}

// Runs a step that concerns all matches. Where it throws, as MPI brings no letters any more, all of
// them fail.
template <class Step>
void Matcher::move_on(Step&& step) noexcept {
  try {
    step();
  } catch (const std::exception& failure) {
    const Error error = error_of(failure);
    give_up_where([&](const MatchedRequest&, const MatchJob&) { return std::optional(error); });
  }
}

void Matcher::settle(MatchJob& job) {
  if (job.open.empty()) settled_.splice(settled_.end(), jobs_, job.place);
}

// A call may return only when its last letters are MPI's, refusals too: its peers wait for them,
// and the program may not call MPI again for long. Not for the letters of a job whose time is over:
// a peer that has stopped takes none, though its half is matched. At the end part() sees to them.
// Nor for letters behind its own: their reader may have what it needs and read no more.
void Matcher::end_settled_jobs() {
  for (auto next = settled_.begin(); next != settled_.end();) {
    const auto self = next++;
    MatchJob& job = **self;
    const auto rests = [&](const auto& letters) {
      return gone(letters.first) || mailbox_.flushed(letters.first, letters.second);
    };
    const bool late = job.deadline && std::chrono::steady_clock::now() >= *job.deadline;
    if (!late && !ending_ && !std::all_of(job.last_letters.begin(), job.last_letters.end(), rests))
      continue;
    if (job.on_finished) {
      --unattended_;
      finished_.splice(finished_.end(), settled_, self);
      continue;
    }
    jobs_under_way.fetch_sub(1);
    job.finished.store(true, std::memory_order_release);
    settled_.erase(self);
  }
}

// Takes an operation out of whatever stage its match is in.
void Matcher::withdraw(MatchedRequest& operation, const Error& why) {
  if (!operation.is_receive()) {
    const auto id = sending_ids_.extract(&operation);
    if (id.empty()) return;
    const auto sending = sending_.find(id.mapped());
    send_withdrawal(sending->second, sending->first);
    sending->second.operation = nullptr;
    if (dead(operation.recording().peer_world)) return forget(sending);
    return count_withdrawn(sending->second);
  }
  const Envelope key = envelope_of(operation.recording());
  if (const auto posted = posted_.withdraw(key, Receiving{&operation, nullptr, 0, 0})) {
    if (const auto inviting = inviting_.find(posted->invitation); inviting != inviting_.end()) {
      inviting->second.receiving.operation = nullptr;
      revoke(posted->invitation);
    }
    return revoke_behind(key, posted->number);
  }
  // It keeps an offer, or there was no memory to post it.
  const auto keeps = std::find_if(inviting_.begin(), inviting_.end(), [&](const auto& each) {
    return each.second.receiving.operation == &operation;
  });
  if (keeps != inviting_.end()) {
    keeps->second.receiving.operation = nullptr;
    return revoke(keeps->first);
  }
  const auto waiting = std::find_if(to_answer_.begin(), to_answer_.end(), [&](const auto& each) {
    return each.first.operation == &operation;
  });
  if (waiting != to_answer_.end()) {
    refuse(waiting->second, *waiting->first.job, why);
    to_answer_.erase(waiting);
    return;
  }
  for (auto& [id, answered] : answered_) {
    if (answered.receiving.operation != &operation) continue;
    answered.receiving.operation = nullptr;
    answered.abandoned = why;  // closed once it is confirmed
  }
}

bool Matcher::dead(int rank) const {
  return world_.dead(rank).load(std::memory_order_acquire);
}

// No letter goes to the process or comes from it any more. It may be alive: what it has been given
// by letters it may still use.
bool Matcher::gone(int rank) const {
  return dead(rank) || mailbox_.lost(rank) || unreadable_.count(rank) != 0;
}

// Jobs whose time is over, and requests whose peer has died. What has come by then counts: the
// program may have called nothing for long, and MPI brings letters in by several calls.
void Matcher::look_for_lost_causes() {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_look_) return;
  next_look_ = now + std::chrono::milliseconds(2);
  const auto is_late = [now](const MatchJob& job) { return job.deadline && now >= *job.deadline; };
  const auto any_late = [&] {
    return std::any_of(jobs_.begin(), jobs_.end(), [&](const auto& job) { return is_late(*job); });
  };
  const bool any_gone = anybody_unreachable() || !unreadable_.empty();
  if (!any_late() && !any_gone) return;
  // From here on it costs time in proportion to the requests under way.
  constexpr int quiet_rounds = 16;
  for (int quiet = 0; quiet < quiet_rounds; ++quiet)
    if (read_letters()) quiet = 0;
  if (any_late()) report_matches();
  give_up_where([&](const MatchedRequest& operation, const MatchJob& job) {
    return lost_cause(operation, is_late(job));
  });
  if (any_gone) look_for_dead_senders();
}

void Matcher::report_matches() const noexcept {
  try {
    base::log::error("what the matches wait for:" + describe_matches());
  } catch (const std::exception& failure) {
    base::log::error(failure.what());
  }
}

// Receives whose sender will not confirm any more. Named ones have been given up by now; others
// take another offer. What a sender that is still alive has been given stays.
void Matcher::look_for_dead_senders() {
  while (Answered* const answered = first_of_the_gone()) {
    const Receiving receiving = answered->receiving;
    answered->receiving.operation = nullptr;
    answered->abandoned = Error(ErrorKind::mpi);
    take_offer_or_wait(receiving, true);
  }
  std::erase_if(answered_, [&](const auto& entry) { return dead(entry.second.offer.sender); });
  for (auto inviting = inviting_.begin(); inviting != inviting_.end();) {
    const auto each = inviting++;
    if (dead(each->second.sender)) end_invitation(each);
  }
  for (auto sending = sending_.begin(); sending != sending_.end();) {
    const auto each = sending++;
    if (each->second.operation == nullptr && dead(each->second.lane.source)) forget(each);
  }
}

// The earliest receive that such a sender has been answered for. Takes no memory.
Matcher::Answered* Matcher::first_of_the_gone() {
  Answered* first = nullptr;
  for (auto& [id, answered] : answered_) {
    const Receiving& receiving = answered.receiving;
    if (receiving.operation == nullptr || !gone(answered.offer.sender)) continue;
    if (!first || receiving.number < first->receiving.number) first = &answered;
  }
  return first;
}

std::optional<Error> Matcher::lost_cause(const MatchedRequest& operation, bool late) const {
  const int peer = operation.recording().peer_world;
  const auto cannot = [&](ErrorKind kind, std::string_view why) {
    return base::error_by(
        kind, [&] { return fmt::format("{} cannot be matched: {}", operation.label(), why); });
  };
  if (peer >= 0 && world_.dead(peer).load(std::memory_order_acquire))
    return cannot(ErrorKind::peer_dead, "the peer process has ended: see its output");
  if (peer >= 0 && mailbox_.lost(peer))
    return cannot(ErrorKind::mpi,
                  "MPI has failed to carry a letter to or from the peer; see the log");
  if (const auto why = unreadable_.find(peer); why != unreadable_.end())
    return cannot(ErrorKind::internal, why->second);
  if (!late) return std::nullopt;
  return base::error_by(ErrorKind::timeout, [&] {
    return fmt::format(
        "{} has not been matched within PENSTOCK_TIMEOUT ({} s): see that its other half is handed "
        "to match, and that "
        "neither rank waits for the other before that (one PST_Matchall takes all that they "
        "exchange); SIGUSR1 prints "
        "what a rank waits for",
        operation.label(), static_cast<double>(settings_.timeout.count()) / 1000.0);
  });
}

// What holds up a match may be a wait that only the caller can release.
std::string Matcher::describe() {
  constexpr int most_tries = 100;
  std::unique_lock lock(mutex_, std::defer_lock);
  for (int tries = 0; !lock.try_lock(); ++tries) {
    if (tries == most_tries) return "\n  a match is held up";
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return describe_matches();
}

std::string Matcher::describe_matches() const {
  constexpr int most_lines = 32;
  std::string text;
  int lines = 0;
  const auto add = [&](auto&& make_line) {
    if (++lines <= most_lines) text += "\n  match: " + make_line();
  };
  const auto now = std::chrono::steady_clock::now();
  for (const auto& job : jobs_)
    for (const MatchedRequest* operation : job->open)
      add([&] {
        return fmt::format("{} waits for its other half, for {:.1f} s", operation->label(),
                           std::chrono::duration<double>(now - job->since).count());
      });
  unexpected_.for_each([&](const Envelope& envelope, const IncomingOffer& offer) {
    add([&] {
      return fmt::format(
          "rank {} has handed a send of {} bytes (tag {}) to match, which waits here for a receive "
          "of its "
          "communicator, source "
          "and tag",
          envelope.source, offer.message.bytes, envelope.tag);
    });
  });
  if (lines > most_lines) text += fmt::format("\n  match: {} more", lines - most_lines);
  return text;
}

// Which way the pair takes, and why not a better one.
void Matcher::note_pair(const transport::Plan& plan, const std::string& transport,
                        const Refusals& mine, const Refusals& theirs) {
  std::vector<PairCounts::Reason> passed_over;
  const auto add = [&](const std::string& name, const Refusals& refusals, const char* side) {
    for (const auto& [refused, why] : refusals)
      if (refused == name) passed_over.emplace_back(name, fmt::format("{}: {}", side, why));
  };
  for (const Transports::Entry& entry : transports_.entries()) {
    const std::string name = entry.transport->name();
    if (name == transport) break;
    add(name, mine, "here");
    add(name, theirs, "peer");
  }
  pairs_.add(transport, passed_over);
  if (!base::log::enabled(base::LogLevel::info)) return;
  std::string line = plan.label() + ": " + plan.path();
  for (const auto& [name, why] : passed_over) line += fmt::format("; not {} ({})", name, why);
  base::log::info(line);
}

// ---- Driving

// Reads all letters that have arrived before it answers offers that leave: a later letter may
// withdraw the offer, and the answer would already have matched the receive.
bool Matcher::read_letters() {
  constexpr int most_polls = 16;  // more may arrive all the time
  const auto handle = [this](int rank, std::span<const std::byte> letter) { read(rank, letter); };
  bool any = false;
  for (int polls = 0; polls < most_polls; ++polls) {
    if (!mailbox_.poll(handle)) break;
    any = true;
    if (to_answer_.empty()) break;
  }
  answer_those_that_leave();
  return any;
}

// All of them where a match may be driven no more for long. What there is no memory for leaves with
// the next round.
void Matcher::send_letters() noexcept {
  try {
    if (unattended_ > 0)
      mailbox_.hand_over();
    else
      mailbox_.dispatch();
  } catch (const std::bad_alloc&) {
  }
}

void Matcher::drive() {
  // Otherwise another thread is driving.
  if (std::unique_lock lock(mutex_, std::try_to_lock); lock) drive(std::move(lock));
}

void Matcher::drive(std::unique_lock<std::mutex> lock) {
  std::list<std::shared_ptr<MatchJob>> finished;
  move_on([&] {
    read_letters();
    look_for_lost_causes();
  });
  send_letters();
  end_settled_jobs();
  finished.swap(finished_);
  lock.unlock();
  // A match is under way until MPI's request is complete: a call of MPI's that is given the request
  // of a match that has ended must not find it incomplete (MPICH 4.0 ends the job where a null
  // request stands beside such a one).
  for (const auto& job : finished) {
    job->on_finished();
    job->finished.store(true, std::memory_order_release);
    jobs_under_way.fetch_sub(1);
  }
}

void Matcher::finish(MatchJob& job) {
  base::Backoff backoff(std::chrono::microseconds(20));
  while (!job.finished.load(std::memory_order_acquire)) {
    drive();
    backoff.pause();
  }
  if (job.error) throw *job.error;
}

// ---- The end

void Matcher::give_up_matches(const std::string& call) noexcept {
  try {
    std::unique_lock lock(mutex_);
    ending_ = true;
    give_up_where([&](const MatchedRequest& operation, const MatchJob&) {
      const Error error = base::error_by(ErrorKind::not_matched, [&] {
        return operation.label() + " is still unmatched at " + call;
      });
      base::log::error(error.text());
      return std::optional(error);
    });
    silent_ = true;
    drive(std::move(lock));
  } catch (const std::exception& failure) {
    base::log::error(failure.what());
  }
}

void Matcher::report_leftovers() {
  const std::lock_guard lock(mutex_);
  unexpected_.for_each([](const Envelope& envelope, const IncomingOffer& offer) {
    base::log::error(
        fmt::format("rank {} has handed a send of {} bytes with tag {} to match, and no receive "
                    "for it was ever "
                    "handed to match here",
                    envelope.source, offer.message.bytes, envelope.tag));
  });
}

bool Matcher::anybody_unreachable() const {
  return world_.anybody_dead() || mailbox_.any_lost();
}

void Matcher::part() noexcept {
  using std::chrono::steady_clock;
  constexpr auto farewell = std::chrono::seconds(1);  // for those who can still be reached
  const auto began = steady_clock::now();
  std::optional<steady_clock::time_point> in_trouble_since;
  const auto go_on = [&] {
    try {
      drive();
    } catch (const std::exception& failure) {
      base::log::error(failure.what());
    }
    const auto now = steady_clock::now();
    if (settings_.timeout.count() > 0 && now - began > settings_.timeout) return false;
    if (!in_trouble_since && anybody_unreachable()) in_trouble_since = now;
    return !in_trouble_since || now - *in_trouble_since < farewell;
  };
  try {
    world_.part([this] { return mailbox_.all_flushed(); }, go_on);
    const std::lock_guard lock(mutex_);  // what MPI would otherwise find unreceived
    while (
        mailbox_.poll([this](int rank, std::span<const std::byte> letter) { read(rank, letter); }))
      continue;
  } catch (const std::exception& failure) {
    base::log::error(failure.what());
  }
}

// ---- The thread of our own

void Matcher::drive_from_own_thread() {
  const std::lock_guard lock(mutex_);
  if (helper_.joinable() || helper_stops_) return;
  helper_ = base::start_thread("penstock-match", [this] { help(); });
}

void Matcher::stop_driving() noexcept {
  {
    const std::lock_guard lock(mutex_);
    helper_stops_ = true;
  }
  helper_wakes_.notify_one();
  if (helper_.joinable()) helper_.join();
}

void Matcher::help() noexcept {
  base::Backoff backoff(std::chrono::microseconds(0));
  const auto idle = [this] { return unattended_ == 0; };
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (idle()) backoff.reset();
      helper_wakes_.wait(lock, [&] { return helper_stops_ || !idle(); });
      if (helper_stops_) return;
    }
    try {
      drive();
    } catch (const std::exception& failure) {
      base::log::error(failure.what());
    }
    backoff.pause();
  }
}

}  // namespace penstock::core
