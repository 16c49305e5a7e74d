// SPDX-License-Identifier: Apache-2.0
#include "core/matching/matcher.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/backoff.hpp"
#include "base/log.hpp"
#include "base/thread.hpp"
#include "core/matched_request.hpp"
#include "core/matching/few_lines.hpp"

namespace penstock::core {

using base::Error;
using base::ErrorKind;

Matcher::Matcher(const base::Settings& settings, group::World& world, group::Mailbox& mailbox,
                 Transports& transports)
    : settings_(settings),
      world_(world),
      mailbox_(mailbox),
      letters_(world, mailbox),
      sender_({transports, letters_, jobs_, pairs_, settings.check}),
      receiver_({transports, letters_, jobs_, pairs_, settings.check}, world.rank()),
      group_({transports, letters_, jobs_, pairs_, settings.check}, sender_, receiver_) {}

Matcher::~Matcher() {
  stop_driving();
}

// ---- Handing requests to match

void Matcher::check(const MatchedRequest& request) const {
  const Recording& recording = request.recording();
  const auto refuse = [&](ErrorKind kind, const std::string& text) {
    throw RequestError(request, kind, text);
  };
  if (recording.kind == RequestKind::collective && !recording.collective)
    refuse(
        ErrorKind::unsupported,
        " cannot be matched, as MPI alone carries it out: start it with MPI_Start, or make one of "
        "the collectives that streams carry out (docs/collectives.md)");
  if (request.matched() || request.match_under_way())
    refuse(ErrorKind::already_matched,
           request.matched()
               ? " is matched already: match a request once, and start it again and again"
               : " is being matched already: complete that match");
  if (recording.peer == null_rank) return;
  if (!recording.communicator || !recording.communicator->known)
    refuse(ErrorKind::communicator,
           fmt::format(": the communicator is not known to Penstock ({}): "
                       "call PST_Comm_attach on all its members first",
                       recording.communicator ? recording.communicator->why_unknown
                                              : "its creation was not seen"));
  if (recording.peer_world == group::not_in_world)
    refuse(ErrorKind::communicator,
           ": the peer is not in MPI_COMM_WORLD, and only its processes can match: use MPI alone "
           "with it");
}

std::shared_ptr<MatchJob> Matcher::prepare(std::vector<MatchedRequest*> requests) {
  const std::lock_guard lock(mutex_);
  auto job = std::make_shared<MatchJob>();
  job->open.insert(requests.begin(), requests.end());
  std::size_t checked = 0;
  try {
    for (; checked < requests.size(); ++checked) {
      check(*requests[checked]);
      // So that a request that occurs twice in the array is found.
      requests[checked]->match_begins();
    }
  } catch (...) {
    while (checked-- > 0) requests[checked]->match_failed();
    throw;
  }
  job->to_post = std::move(requests);
  return job;
}

void Matcher::begin(const std::shared_ptr<MatchJob>& job) {
  {
    const std::lock_guard lock(mutex_);
    move_on([&] { read_letters(); });  // who has an offer, or an invitation, need not write one
    if (settings_.timeout.count() > 0)
      job->deadline = std::chrono::steady_clock::now() + settings_.timeout;
    try {
      jobs_.begin(job);
    } catch (...) {
      for (MatchedRequest* request : job->to_post) request->match_failed();
      throw;
    }
    for (MatchedRequest* request : std::exchange(job->to_post, {})) post(*request, job);
    helper_wakes_.notify_one();
  }
  drive(std::unique_lock(mutex_));  // whoever leaves may not come here again
}

void Matcher::post(MatchedRequest& request, const std::shared_ptr<MatchJob>& job) {
  try {
    if (request.recording().peer == null_rank) {
      request.take_match({null_rank, any_tag, 0}, nullptr, "null");
      jobs_.succeed(request, *job);
    } else if (request.gathers()) {  // its lanes are of the job, too
      request.take_match({any_rank, request.recording().tag, request.recording().bytes},
                         request.recording().channel->make_gathering_plan(),
                         std::string(base::peer_transport));
      jobs_.succeed(request, *job);
    } else if (request.recording().collective) {
      group_.post(request, job);
    } else if (request.is_receive()) {
      receiver_.post(request, job);
    } else {
      sender_.post(request, job);
    }
  } catch (const std::exception& failure) {
    give_up(request, *job, error_of(failure));
  }
}

// ---- Giving up

void Matcher::give_up(MatchedRequest& request, MatchJob& job, const Error& error) {
  if (request.recording().collective)
    group_.give_up(request, job, error);
  else if (request.is_receive())
    receiver_.give_up(request, job, error);
  else
    sender_.give_up(request, job, error);
}

// Those for which why(request, job) has an error. Takes no memory, and giving up one gives no
// other an outcome.
template <class Why>
void Matcher::give_up_where(Why&& why) {
  jobs_.for_each_open([&](MatchedRequest& request, const std::shared_ptr<MatchJob>& job) {
    if (const std::optional<Error> error = why(request, *job)) give_up(request, *job, *error);
  });
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

// Jobs whose time is over, and requests whose peer has died.
void Matcher::look_for_lost_causes() {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_look_) return;
  next_look_ = now + std::chrono::milliseconds(2);
  // Waits of queues drive, too.
  if (jobs_.open_jobs().empty() && !receiver_.holds_ends() && !sender_.holds_ends()) return;
  const bool any_gone = letters_.anybody_gone();
  if (!jobs_.any_late(now) && !any_gone) return;
  // From here on it costs time in proportion to the requests under way.
  if (!jobs_.open_jobs().empty()) give_up_lost_causes(now);
  if (!any_gone) return;
  receiver_.leave_the_gone();
  sender_.forget_the_dead();
}

// What has come by now counts: the program may have called nothing for long, and MPI brings letters
// in by several calls.
void Matcher::give_up_lost_causes(std::chrono::steady_clock::time_point now) {
  constexpr int quiet_rounds = 16;
  constexpr int most_rounds = 1000;  // where letters come without end
  for (int quiet = 0, rounds = 0; quiet < quiet_rounds && rounds < most_rounds; ++rounds)
    quiet = read_letters() ? 0 : quiet + 1;
  if (jobs_.any_late(now)) report_matches();
  give_up_where([&](const MatchedRequest& request, const MatchJob& job) {
    return lost_cause(request, job.late(now));
  });
}

std::optional<Error> Matcher::lost_with(int peer, const MatchedRequest& request) const {
  const auto cannot = [&](ErrorKind kind, std::string_view why) {
    return base::error_by(
        kind, [&] { return fmt::format("{} cannot be matched: {}", request.label(), why); });
  };
  if (peer >= 0 && letters_.dead(peer))
    return cannot(
        ErrorKind::peer_dead,
        fmt::format("the process of rank {} of MPI_COMM_WORLD has ended: see its output", peer));
  if (peer >= 0 && letters_.mpi_fails(peer))
    return cannot(ErrorKind::mpi,
                  "MPI has failed to carry a letter to or from the peer; see the log");
  if (const std::string* const why = letters_.why_lost(peer))
    return cannot(ErrorKind::internal, *why);
  return std::nullopt;
}

std::optional<Error> Matcher::lost_cause(const MatchedRequest& request, bool late) const {
  const auto& collective = request.recording().collective;
  const double limit = static_cast<double>(settings_.timeout.count()) / 1000.0;
  if (!collective) {
    if (auto lost = lost_with(request.recording().peer_world, request)) return lost;
  } else {
    for (const int member : collective->members())
      if (auto lost = lost_with(member, request)) return lost;
  }
  if (!late) return std::nullopt;
  if (collective)
    return base::error_by(ErrorKind::timeout, [&] {
      return fmt::format(
          "{} has not been matched within PENSTOCK_TIMEOUT ({} s): {} of {} must hand it to "
          "match, where each member makes its collectives in the same order; SIGUSR1 prints what "
          "a rank waits for",
          request.label(), limit, group_.missing(request), request.recording().communicator->name);
    });
  return base::error_by(ErrorKind::timeout, [&] {
    return fmt::format(
        "{} has not been matched within PENSTOCK_TIMEOUT ({} s): see that its other half is handed "
        "to match, with the same tag and communicator, and that neither rank waits for the other "
        "before that (one PST_Matchall takes all that they exchange); SIGUSR1 prints what a rank "
        "waits for",
        request.label(), limit);
  });
}

// ---- Letters

// What goes wrong with a letter fails the request that it names, and nothing else. Where a letter
// is too short to name one, its sender's letters mean nothing any more, and that rank is lost to
// matching.
void Matcher::read(int rank, std::span<const std::byte> bytes) {
  auto kind = LetterKind::offer;
  std::optional<std::uint64_t> id;
  try {
    LetterReader letter(bytes);
    kind = letter.value<LetterKind>();
    if (kind > LetterKind::leave) throw Error(ErrorKind::internal, "a letter of an unknown kind");
    LetterReader whole = letter;
    id = letter.value<std::uint64_t>();
    read(rank, kind, whole);
  } catch (const std::exception& failure) {
    const Error error(error_of(failure).kind(), fmt::format("a letter from rank {} is lost: {}",
                                                            rank, error_of(failure).text()));
    base::log::error(error.text());
    if (id)
      cannot_read(rank, kind, *id, error);
    else
      letters_.lose(rank, error.text());
  }
}

void Matcher::read(int rank, LetterKind kind, LetterReader& letter) {
  switch (kind) {
    case LetterKind::offer:
      return receiver_.read_offer(rank, letter);
    case LetterKind::answer:
      return sender_.read_answer(letter);
    case LetterKind::confirm:
      return receiver_.read_confirm(letter);
    case LetterKind::withdraw:
      return receiver_.read_withdrawal(rank, letter);
    case LetterKind::withdrawn:
      return sender_.read_withdrawn(letter);
    case LetterKind::invite:
      return sender_.read_invite(rank, letter);
    case LetterKind::accept:
      return receiver_.read_accept(rank, letter);
    case LetterKind::revoke:
      return sender_.read_revoke(rank, letter);
    case LetterKind::revoked:
      return receiver_.read_revoked(letter);
    case LetterKind::join:
      return group_.read_join(rank, letter);
    case LetterKind::choice:
      return group_.read_choice(letter);
    case LetterKind::ready:
      return group_.read_ready(rank, letter);
    case LetterKind::verdict:
      return group_.read_verdict(letter);
    case LetterKind::leave:
      return group_.read_leave(rank, letter);
  }
}

// Ends what the letter is about, on both sides.
void Matcher::cannot_read(int rank, LetterKind kind, std::uint64_t id, const Error& error) {
  base::log::failures_in([&] {
    if (kind == LetterKind::offer) receiver_.cannot_read_offer(rank, id, error);
    if (kind == LetterKind::answer) sender_.cannot_read_answer(id, error);
    if (kind == LetterKind::confirm) receiver_.cannot_read_confirm(id, error);
    if (kind == LetterKind::invite) sender_.cannot_read_invite(rank, id);
    if (kind == LetterKind::accept) receiver_.cannot_read_accept(id, error);
    if (kind >= LetterKind::join) group_.cannot_read(rank, kind, id, error);
  });
}

// Reads all letters that have arrived before it answers offers that leave: a later letter may
// withdraw the offer, and the answer would already have matched the receive.
bool Matcher::read_letters() {
  constexpr int most_polls = 16;  // more may arrive all the time
  const auto handle = [this](int rank, std::span<const std::byte> letter) { read(rank, letter); };
  bool any = false;
  for (int polls = 0; polls < most_polls; ++polls) {
    if (!mailbox_.poll(handle)) break;
    any = true;
    if (!receiver_.has_offers_that_leave()) break;
  }
  receiver_.answer_those_that_leave();
  return any;
}

// Hands over all letters while a match may not be driven again soon. A letter for which there is no
// memory leaves with the next round.
void Matcher::send_letters() noexcept {
  try {
    if (jobs_.unattended())
      mailbox_.hand_over();
    else
      mailbox_.dispatch();
  } catch (const std::bad_alloc&) {
  }
}

// ---- Driving

void Matcher::drive() {
  // Otherwise another thread is driving.
  if (std::unique_lock lock(mutex_, std::try_to_lock); lock) drive(std::move(lock));
}

void Matcher::drive(std::unique_lock<std::mutex> lock) {
  move_on([&] {
    read_letters();
    look_for_lost_causes();
  });
  send_letters();
  jobs_.end_settled(letters_);
  move_on([&] { group_.advance(); });
  const MatchJobs::List ended = jobs_.take_ended();
  lock.unlock();
  MatchJobs::tell(ended);
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
  base::log::failures_in([&] {
    std::unique_lock lock(mutex_);
    jobs_.wait_for_no_letters();
    FewLines lines;
    give_up_where([&](const MatchedRequest& request, const MatchJob&) {
      const Error error = base::error_by(ErrorKind::not_matched, [&] {
        return request.label() + " is still unmatched at " + call;
      });
      lines.add([&] { return std::string(error.text()); });
      return std::optional(error);
    });
    lines.tell_the_rest("requests are still unmatched at " + call);
    letters_.fall_silent();
    drive(std::move(lock));
  });
}

bool Matcher::anybody_unreachable() const {
  return world_.anybody_dead() || mailbox_.any_lost();
}

void Matcher::end_together() noexcept {
  using std::chrono::steady_clock;
  constexpr auto farewell = std::chrono::seconds(1);  // for those who can still be reached
  const auto began = steady_clock::now();
  std::optional<steady_clock::time_point> in_trouble_since;
  const auto go_on = [&] {
    base::log::failures_in([&] { drive(); });
    const auto now = steady_clock::now();
    if (settings_.timeout.count() > 0 && now - began > settings_.timeout) return false;
    if (!in_trouble_since && anybody_unreachable()) in_trouble_since = now;
    return !in_trouble_since || now - *in_trouble_since < farewell;
  };
  base::log::failures_in([&] {
    world_.end_together([this] { return mailbox_.all_flushed(); }, go_on);
    const std::lock_guard lock(mutex_);  // what MPI would otherwise find unreceived
    while (
        mailbox_.poll([this](int rank, std::span<const std::byte> letter) { read(rank, letter); }))
      continue;
  });
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
  const auto idle = [this] { return !jobs_.unattended(); };
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (idle()) backoff.reset();
      helper_wakes_.wait(lock, [&] { return helper_stops_ || !idle(); });
      if (helper_stops_) return;
    }
    base::log::failures_in([&] { drive(); });
    backoff.pause();
  }
}

}  // namespace penstock::core
