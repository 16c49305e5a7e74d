// SPDX-License-Identifier: Apache-2.0
// Handing requests to match, driving, outcomes. The letters are in matcher_handshake.cpp.
#include "core/matcher.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/backoff.hpp"
#include "base/log.hpp"

namespace penstock::core {

using base::Error;
using base::ErrorKind;

std::atomic<int> Matcher::jobs_under_way{0};

Matcher::Matcher(const base::Settings& settings, group::World& world, group::Mailbox& mailbox, Transports& transports)
    : settings_(settings), world_(world), mailbox_(mailbox), transports_(transports) {}

Matcher::~Matcher() {
  helper_stops_.store(true);
  if (helper_.joinable()) helper_.join();
}

// ---- Handing requests to match

void Matcher::check(const Operation& operation) const {
  const Recording& recording = operation.recording();
  const auto refuse = [&](ErrorKind kind, const std::string& text) { throw OperationError(operation, kind, text); };
  if (recording.kind == RequestKind::collective)
    refuse(ErrorKind::unsupported,
           fmt::format(" cannot be matched: persistent collectives ({}) are not supported yet; start it "
                       "with MPI_Start",
                       recording.call));
  if (recording.kind == RequestKind::partitioned)
    refuse(
        ErrorKind::unsupported,
        fmt::format(" cannot be matched: {} makes a partitioned request, and only persistent sends and receives match",
                    recording.call));
  if (operation.match_state() != MatchState::unmatched)
    refuse(ErrorKind::already_matched, operation.matched() ? " is matched already" : " is being matched already");
  if (recording.peer == null_rank) return;
  if (!recording.communicator || !recording.communicator->known)
    refuse(ErrorKind::communicator,
           fmt::format(": the communicator is not known to Penstock ({}): call PST_Comm_attach on all its members "
                       "first",
                       recording.communicator ? recording.communicator->why_unknown : "its creation was not seen"));
  if (recording.peer_world == outside_world)
    refuse(ErrorKind::communicator, ": the peer is not in MPI_COMM_WORLD, and only its processes can match");
}

std::shared_ptr<MatchJob> Matcher::prepare(std::vector<Operation*> operations) {
  const std::lock_guard lock(mutex_);
  std::size_t checked = 0;
  try {
    for (; checked < operations.size(); ++checked) {
      check(*operations[checked]);
      operations[checked]->match_begins();  // so that a request that occurs twice in the array is found
    }
  } catch (...) {
    while (checked-- > 0) operations[checked]->match_failed();
    throw;
  }
  auto job = std::make_shared<MatchJob>();
  job->open.insert(operations.begin(), operations.end());
  for (const Operation* operation : operations)
    if (operation->recording().is_send() && operation->recording().peer != null_rank)
      job->receivers.push_back(operation->recording().peer_world);
  std::sort(job->receivers.begin(), job->receivers.end());
  job->receivers.erase(std::unique(job->receivers.begin(), job->receivers.end()), job->receivers.end());
  job->to_post = std::move(operations);
  return job;
}

void Matcher::begin(const std::shared_ptr<MatchJob>& job) {
  {
    const std::lock_guard lock(mutex_);
    if (settings_.timeout.count() > 0) job->deadline = std::chrono::steady_clock::now() + settings_.timeout;
    jobs_under_way.fetch_add(1);
    jobs_.push_back(job);
    if (job->open.empty()) settle(*job);
    for (Operation* operation : std::exchange(job->to_post, {})) post(*operation, job);
  }
  drive();
}

void Matcher::post(Operation& operation, const std::shared_ptr<MatchJob>& job) {
  const Recording& recording = operation.recording();
  if (recording.peer == null_rank) {
    operation.matched_to({null_rank, any_tag, 0}, nullptr, "null");
    succeed(operation, *job);
  } else if (operation.is_receive()) {
    post_receive(operation, job);
  } else {
    post_send(operation, job);
  }
}

// ---- Outcomes

void Matcher::succeed(Operation& operation, MatchJob& job) {
  job.open.erase(&operation);
  settle(job);
}

void Matcher::fail(Operation& operation, MatchJob& job, const Error& error) {
  operation.match_failed();
  if (!job.error) job.error.emplace(operation, error);
  job.open.erase(&operation);
  settle(job);
}

void Matcher::settle(MatchJob& job) {
  if (!job.open.empty()) return;
  const auto self = std::find_if(jobs_.begin(), jobs_.end(), [&](const auto& each) { return each.get() == &job; });
  settled_.push_back(*self);
  jobs_.erase(self);
}

// A call may return only when its last letters are MPI's: its peers wait for them, and the program may not call MPI
// again for long. The last letter of a match is the sender's.
void Matcher::end_settled_jobs() {
  std::erase_if(settled_, [&](const std::shared_ptr<MatchJob>& job) {
    const auto flushed = [&](int rank) { return mailbox_.flushed(rank); };
    if (!job->error && !std::all_of(job->receivers.begin(), job->receivers.end(), flushed)) return false;
    jobs_under_way.fetch_sub(1);
    if (job->on_finished) finished_.push_back([job] { job->on_finished(); });
    job->finished.store(true, std::memory_order_release);
    return true;
  });
}

// Takes an operation out of whatever stage its match is in.
void Matcher::withdraw(Operation& operation) {
  const auto sending = std::find_if(sending_.begin(), sending_.end(),
                                    [&](const auto& each) { return each.second.operation == &operation; });
  if (sending != sending_.end()) {
    send_withdrawal(operation.recording().peer_world, sending->first);
    sending_.erase(sending);
    return;
  }
  posted_.withdraw(envelope_of(operation.recording()), Receiving{&operation, nullptr, 0});
  for (auto& [id, answered] : answered_)
    if (answered.receiving.operation == &operation) answered.receiving = {};  // abandoned: closed once it is confirmed
}

// Jobs whose time is over, and requests whose peer has died.
void Matcher::look_for_lost_causes() {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_look_) return;
  next_look_ = now + std::chrono::milliseconds(2);  // a look costs time in proportion to the requests under way
  const auto jobs = jobs_;
  for (const auto& job : jobs) {
    const bool late = job->deadline && now >= *job->deadline;
    for (Operation* operation : std::vector<Operation*>(job->open.begin(), job->open.end())) {
      if (const auto error = lost_cause(*operation, late)) {
        withdraw(*operation);
        fail(*operation, *job, *error);
      }
    }
  }
}

std::optional<Error> Matcher::lost_cause(const Operation& operation, bool late) const {
  const int peer = operation.recording().peer_world;
  if (peer >= 0 && world_.dead(peer).load(std::memory_order_acquire))
    return Error(ErrorKind::peer_dead, operation.label() + " cannot be matched: the peer process has ended");
  if (late)
    return Error(
        ErrorKind::timeout,
        fmt::format("{} has not been matched within PENSTOCK_TIMEOUT ({} s): the peer has not handed the other half "
                    "to match",
                    operation.label(), static_cast<double>(settings_.timeout.count()) / 1000.0));
  return std::nullopt;
}

// Which way the pair takes, and why not a better one.
void Matcher::log_pair(const Operation& operation, const transport::Plan& plan, const Refusals& mine,
                       const Refusals& theirs) const {
  if (!base::log::enabled(base::LogLevel::info)) return;
  std::string line = operation.label() + ": " + plan.path();
  const auto add = [&](const std::string& name, const Refusals& refusals, const char* side) {
    for (const auto& [transport, why] : refusals)
      if (transport == name) line += fmt::format("; not {} ({}: {})", transport, side, why);
  };
  for (const Transports::Entry& entry : transports_.entries()) {
    const std::string name = entry.transport->name();
    if (name == operation.transport()) break;
    add(name, mine, "here");
    add(name, theirs, "peer");
  }
  base::log::info(line);
}

// ---- Driving

void Matcher::drive() {
  std::vector<std::function<void()>> finished;
  {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return;  // another thread is driving
    mailbox_.poll([this](int rank, std::span<const std::byte> letter) { read(rank, letter); });
    look_for_lost_causes();
    end_settled_jobs();
    finished.swap(finished_);
  }
  for (const auto& call : finished) call();
}

void Matcher::finish(MatchJob& job) {
  base::Backoff backoff(std::chrono::microseconds(20));
  while (!job.finished.load(std::memory_order_acquire)) {
    drive();
    backoff.pause();
  }
  if (job.error) throw *job.error;
}

void Matcher::drive_from_own_thread() {
  const std::lock_guard lock(mutex_);
  if (helper_.joinable()) return;
  helper_ = std::thread([this] {
    base::Backoff backoff(std::chrono::microseconds(0));
    while (!helper_stops_.load()) {
      if (under_way()) drive();
      backoff.pause();
    }
  });
}

void Matcher::report_leftovers() {
  const std::lock_guard lock(mutex_);
  for (const auto& job : jobs_)
    for (const Operation* operation : job->open)
      base::log::error(operation->label() + " is still unmatched at MPI_Finalize");
  unexpected_.for_each([](const Envelope& envelope, const IncomingOffer& offer) {
    base::log::error(
        fmt::format("rank {} has handed a send of {} bytes with tag {} to match, and no receive for it was ever "
                    "handed to match here",
                    envelope.source, offer.message.bytes, envelope.tag));
  });
}

}  // namespace penstock::core
