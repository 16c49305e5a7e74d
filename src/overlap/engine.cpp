// SPDX-License-Identifier: Apache-2.0
#include "overlap/engine.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/reserve.hpp"
#include "base/shared_word.hpp"
#include "base/thread.hpp"
#include "overlap/ports.hpp"
#include "peer/copy_error.hpp"

namespace penstock::overlap {

using base::Error;
using base::ErrorKind;
namespace rget = protocol::rget;

namespace {

// A message that the program's own calls are to pull is the thread's after this: the program may
// compute for long, or wait in a call of MPI's that we do not see.
constexpr std::chrono::milliseconds grace{1};
// While messages come and no core is free for the thread, it looks so often as not to be late for
// that, and senders need not wake it, which would cost them and who computes here. After this time
// without news it sleeps.
constexpr std::chrono::milliseconds attentive{100};
constexpr std::chrono::microseconds first_look{5};
// How often the thread looks whether a full ring has room: nobody tells it.
constexpr std::chrono::microseconds until_room{200};

core::Envelope envelope_of(const Receive& message) {
  return {message.communicator->id, message.peer, message.tag};
}

core::Envelope envelope_of(const Announcement& line) {
  return {line.communicator, line.source, line.tag};
}

// Threads inherit the cores of who starts them, which a launcher may have cut down to one.
void run_on_any_core() noexcept {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (int core = 0; core < CPU_SETSIZE; ++core) CPU_SET(core, &all);
  sched_setaffinity(0, sizeof all, &all);
}

std::string place_of(const Message& message) {
  const std::string peer =
      message.peer == core::any_rank ? "any rank" : fmt::format("rank {}", message.peer);
  const std::string tag =
      message.tag == core::any_tag ? "any tag" : fmt::format("tag {}", message.tag);
  return fmt::format("{} {}, {}, {}", message.sends ? "to" : "from", peer, tag,
                     message.communicator->name);
}

}  // namespace

std::string Message::label() const {
  return fmt::format("{} {}, {} bytes", call, place_of(*this), bytes);
}

// ---- Beginning and end

Engine::Engine(const base::Settings& settings, group::World& world, peer::Peer& peer)
    : least_bytes_(settings.overlap_min),
      policy_(settings.overlap_policy),
      world_(world),
      rank_(world.rank()),
      courier_(peer),
      core_is_free_(settings.overlap_policy != base::OverlapPolicy::never) {
  connect(peer);
}

// Every process tells where its words are, and whom it reaches.
void Engine::connect(peer::Peer& peer) {
  const auto size = static_cast<std::size_t>(world_.size());
  struct Introduction {
    std::uint64_t there = 0;
    peer::ArenaAddress place;
  };
  std::vector<std::byte> mine(sizeof(Introduction) + size);
  world_.together([&] {
    partners_.resize(size);
    served_.assign(size * size, false);
    Introduction introduction;
    if (peer.shared_memory() != nullptr) {
      block_ = peer.hold(Station::bytes_for(world_.size()), nullptr);
      station_ = Station(block_.block(), world_.size());
      introduction = {1, block_.place()};
      for (std::size_t rank = 0; rank < size; ++rank)
        mine[sizeof introduction + rank] =
            std::byte{courier_.serves(static_cast<int>(rank)) ? std::uint8_t{1} : std::uint8_t{0}};
    }
    std::memcpy(mine.data(), &introduction, sizeof introduction);
    free_answers_.resize(answers);
    for (std::uint32_t i = 0; i < answers; ++i) free_answers_[i] = answers - 1 - i;
    sent_.reserve(answers);
  });
  const auto all = world_.all_gather(mine);
  world_.together([&] {
    const auto reaches = [&](std::size_t one, std::size_t other) {
      return all[one][sizeof(Introduction) + other] != std::byte{0};
    };
    for (std::size_t one = 0; one < size; ++one)
      for (std::size_t other = 0; other < size; ++other)
        served_[one * size + other] = reaches(one, other) && reaches(other, one);
    for (std::size_t rank = 0; rank < size; ++rank) {
      if (!serves(rank_, static_cast<int>(rank))) continue;
      Introduction theirs;
      std::memcpy(&theirs, all[rank].data(), sizeof theirs);
      Partner& partner = partners_[rank];
      partner.station =
          Station(peer.map(static_cast<int>(rank), theirs.place), static_cast<int>(size));
      partner.to = &partner.station.ring(rank_);
    }
  });
}

Engine::~Engine() {
  if (!thread_.joinable()) return;
  stopping_.store(true, std::memory_order_relaxed);
  ring_thread();
  thread_.join();
}

bool Engine::serves(int one, int other) const noexcept {
  const auto size = partners_.size();
  const auto from = static_cast<std::size_t>(one), to = static_cast<std::size_t>(other);
  return from < size && to < size && served_[from * size + to];
}

std::optional<std::pair<int, int>> Engine::apart() const noexcept {
  const auto size = static_cast<int>(partners_.size());
  for (int one = 0; one < size; ++one)
    for (int other = one; other < size; ++other)
      if (!serves(one, other)) return std::pair(one, other);
  return std::nullopt;
}

// ---- What the program begins

void Engine::send(Send& message) {
  message.announced.communicator = message.communicator->id;
  message.announced.source = message.communicator->rank;
  message.announced.tag = message.tag;
  courier_.expose(message);
  const std::lock_guard lock(mutex_);
  start_thread();
  Partner& partner = partners_[static_cast<std::size_t>(message.peer_world)];
  note_beginning(message);
  with_waiting_.insert(message.peer_world);
  partner.waiting.push_back(&message);
  base::store(partner.to->begun, ++partner.begun);
  ++counts_.sent;
  announce_waiting(message.peer_world);
  if (!partner.waiting.empty()) ring_thread();  // it has to look for room
}

void Engine::receive(Receive& message, Caller caller) {
  const std::lock_guard lock(mutex_);
  start_thread();
  note_beginning(message);
  base::reserve_for(ready_, ready_.size() + 1);  // should it match
  if (const auto arrival = unexpected_.take(envelope_of(message)))
    match(message, *arrival);
  else
    post(message);
  tell_thread(caller);
}

void Engine::receive(Receive& message, const Arrival& arrival, Caller caller) {
  const std::lock_guard lock(mutex_);
  start_thread();
  note_beginning(message);
  base::reserve_for(ready_, ready_.size() + 1);
  match(message, arrival);
  tell_thread(caller);
}

void Engine::note_beginning(Message& message) noexcept {
  message.begun = Clock::now();
  message.serial = ++serials_;
}

void Engine::post(Receive& message) {
  unmatched_.insert(&message);
  try {
    posted_.post(posted_.next_number(), envelope_of(message), &message);
  } catch (...) {
    unmatched_.erase(&message);
    throw;
  }
}

std::optional<Arrival> Engine::probe(const core::Envelope& key, bool take) {
  const std::lock_guard lock(mutex_);
  look();
  tell_thread(Caller::passing);
  if (take) return unexpected_.take(key);
  std::optional<Arrival> found;
  unexpected_.for_each([&](const core::Envelope& envelope, const Arrival& arrival) {
    if (!found && key.accepts(envelope)) found = arrival;
  });
  return found;
}

bool Engine::cancel(Receive& message) noexcept {
  const std::lock_guard lock(mutex_);
  look();
  tell_thread(Caller::passing);
  if (message.matched || message.over || unmatched_.erase(&message) == 0) return false;
  posted_.withdraw(envelope_of(message), &message);
  message.cancelled = true;
  end(message);
  return true;
}

// ---- Steps

void Engine::advance(Caller caller) noexcept {
  for (;;) {
    Receive* message = nullptr;
    {
      const std::lock_guard lock(mutex_);
      look();
      message = claim_for(caller);
      if (message == nullptr) return tell_thread(caller);
    }
    pull(*message, caller);
    if (caller == Caller::passing) return;
  }
}

// Of messages that are to be read, which who returns to the program leaves to it.
void Engine::tell_thread(Caller caller) noexcept {
  if (caller != Caller::passing) return;
  if (std::ranges::any_of(
          ready_, [](const Receive* each) { return !each->claimed && !each->left_to_program; }))
    ring_thread();
}

// A thread that has just looked and is about to sleep misses that it is parked: then senders wake
// it in vain until the next wait.
void Engine::begin_waiting() noexcept {
  const std::lock_guard lock(mutex_);
  if (waiting_++ == 0)
    parked_ = std::atomic_ref(station_.asleep()).exchange(0, std::memory_order_acq_rel) != 0;
}

// As a thread that is about to sleep: what comes from now on wakes it, and what has come is seen.
void Engine::end_waiting() noexcept {
  const std::lock_guard lock(mutex_);
  if (--waiting_ != 0 || !std::exchange(parked_, false)) return;
  if (!may_sleep() || !ready_.empty()) ring_thread();
}

// With the lock held, as all that follows but pull().
bool Engine::look() noexcept {
  bool moved = take_lines();
  moved |= look_at_answers();
  if (!with_waiting_.empty())
    for (auto each = with_waiting_.begin(); each != with_waiting_.end();) {
      const int process = *each;
      moved |= announce_waiting(process);
      each = partners_[static_cast<std::size_t>(process)].waiting.empty()
                 ? with_waiting_.erase(each)
                 : std::next(each);
    }
  if (world_.anybody_dead()) moved |= look_at_the_dead();
  if (moved) last_news_ = Clock::now();
  return moved;
}

// In their order, as far as there is room.
bool Engine::announce_waiting(int process) noexcept {
  Partner& partner = partners_[static_cast<std::size_t>(process)];
  bool moved = false;
  while (!partner.waiting.empty() && !free_answers_.empty() && !partner.dead) {
    Send& message = *partner.waiting.front();
    message.announced.answer = free_answers_.back();
    message.announced.number = numbers_ + 1;
    HostRing ring(partner.station, station_, rank_, process, message.announced);
    if (!rget::announce(ring, partner.announced + 1)) break;
    wake_program(partner.station);
    ++partner.announced;
    ++numbers_;
    free_answers_.pop_back();
    sent_.push_back(&message);  // there is room for all answers
    partner.waiting.pop_front();
    moved = true;
  }
  return moved;
}

bool Engine::take_lines() noexcept {
  bool moved = false;
  Announcement unused;
  for (std::size_t word = 0; word < station_.rung_words(); ++word) {
    const int first = static_cast<int>(word) * 64;
    HostRing bell(station_, station_, first, rank_, unused);
    if (!rget::listen(bell)) continue;
    for (std::uint64_t left = bell.heard(); left != 0; left &= left - 1)
      moved |= take_lines_of(first + std::countr_zero(left));
  }
  return moved;
}

bool Engine::take_lines_of(int process) noexcept {
  Partner& partner = partners_[static_cast<std::size_t>(process)];
  if (partner.to == nullptr) return false;
  bool moved = false;
  for (;;) {
    if (!partner.stalled) {
      Arrival arrival{process, {}};
      HostRing ring(station_, partner.station, process, rank_, arrival.announced);
      if (!rget::take(ring, partner.taken + 1)) return moved;
      ++partner.taken;
      partner.stalled = arrival;
    }
    if (!sort_in(*partner.stalled)) {  // once more at the next look
      Announcement unused;
      HostRing bell(station_, station_, process, rank_, unused);
      bell.exchange(rget::Word::rung, 1);
      return moved;
    }
    partner.stalled.reset();
    moved = true;
  }
}

// False: there is no memory for it.
bool Engine::sort_in(const Arrival& arrival) noexcept {
  const core::Envelope envelope = envelope_of(arrival.announced);
  try {
    base::reserve_for(ready_, ready_.size() + 1);
    if (const auto receive = posted_.take(envelope)) {
      unmatched_.erase(receive->second);
      match(*receive->second, arrival);
    } else {
      unexpected_.add(unexpected_.next_number(), envelope, arrival);
      ++counts_.unexpected;
    }
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void Engine::match(Receive& message, const Arrival& arrival) noexcept {
  message.matched = true;
  message.arrival = arrival;
  message.source = arrival.announced.source;
  message.its_tag = arrival.announced.tag;
  if (arrival.announced.bytes != message.bytes) {
    message.error = base::error_by(ErrorKind::assertion, [&] {
      return fmt::format(
          "{} has met a message of {} bytes from rank {} with tag {}: PENSTOCK_OVERLAP=exact is "
          "the promise that receives are as long as their messages; give the receive that length, "
          "or leave PENSTOCK_OVERLAP off",
          message.label(), arrival.announced.bytes, message.source, message.its_tag);
    });
    refuse(partners_[static_cast<std::size_t>(arrival.sender)].station, arrival.announced);
    end(message);
    return;
  }
  message.matched_at = Clock::now();
  ready_.push_back(&message);  // there is room
  ++news_;
}

bool Engine::look_at_answers() noexcept {
  bool moved = false;
  for (std::size_t i = 0; i < sent_.size();) {
    Send& message = *sent_[i];
    SentMessage port(station_, message.announced.answer);
    const std::uint64_t told = rget::told(port);
    if (told >> 2 != message.announced.number) {
      ++i;
      continue;
    }
    if (static_cast<Answer>(told & 3) == Answer::copy_failed)
      fail(message, ErrorKind::transport,
           ": its receiver could not read it, for which it has its own error");
    free_answers_.push_back(message.announced.answer);
    sent_[i] = sent_.back();
    sent_.pop_back();
    end(message);
    moved = true;
  }
  return moved;
}

// Behind all that they have said.
bool Engine::look_at_the_dead() noexcept {
  bool moved = false;
  for (std::size_t rank = 0; rank < partners_.size(); ++rank) {
    Partner& partner = partners_[rank];
    if (partner.dead || !world_.dead(static_cast<int>(rank)).load(std::memory_order_acquire))
      continue;
    take_lines_of(static_cast<int>(rank));
    look_at_answers();
    partner.dead = moved = true;
  }
  constexpr char has_ended[] = ": that process has ended: see its output";
  const auto dead = [&](int rank) {
    return rank >= 0 && partners_[static_cast<std::size_t>(rank)].dead;
  };
  std::erase_if(sent_, [&](Send* each) {
    if (!dead(each->peer_world)) return false;
    free_answers_.push_back(each->announced.answer);
    fail(*each, ErrorKind::peer_dead, has_ended);
    end(*each);
    return moved = true;
  });
  for (Partner& partner : partners_) {
    if (!partner.dead) continue;
    for (Send* const each : partner.waiting) {
      fail(*each, ErrorKind::peer_dead, has_ended);
      end(*each);
    }
    partner.waiting.clear();
  }
  std::erase_if(unmatched_, [&](Receive* each) {
    if (!dead(each->peer_world)) return false;
    posted_.withdraw(envelope_of(*each), each);
    fail(*each, ErrorKind::peer_dead, has_ended);
    end(*each);
    return moved = true;
  });
  return moved;
}

// The first that is nobody's yet, and may be the caller's.
Receive* Engine::claim_for(Caller caller) noexcept {
  for (Receive* const each : ready_) {
    if (each->claimed || left_to(caller, *each)) continue;
    each->claimed = true;
    if (caller == Caller::thread) ++pulled_by_thread_;
    return each;
  }
  return nullptr;
}

// Whether the caller leaves it to the other thread.
bool Engine::left_to(Caller caller, Receive& message) noexcept {
  if (caller == Caller::waiting) return false;
  if (caller == Caller::passing) return core_is_free_ && !message.left_to_program;
  if (policy_ == base::OverlapPolicy::always) return false;
  if (Clock::now() - message.matched_at >= grace) return false;
  if (policy_ == base::OverlapPolicy::adaptive && look_for_core()) return false;
  return message.left_to_program = true;
}

bool Engine::look_for_core() noexcept {
  return core_is_free_ = policy_ == base::OverlapPolicy::always ||
                         (policy_ == base::OverlapPolicy::adaptive && free_core_.found());
}

// Without the lock. The message may be gone when its owner has seen its end.
void Engine::pull(Receive& message, Caller caller) noexcept {
  const Station& sender = partners_[static_cast<std::size_t>(message.arrival.sender)].station;
  TakenMessage port(message, sender, courier_);
  rget::pull(port, answer_word(message.arrival.announced.number, Answer::pulled));
  wake_program(sender);
  const std::lock_guard lock(mutex_);
  if (message.copy_failed != 0)
    message.error = peer::copy_error(message.arrival.sender, message.copy_failed);
  ready_.erase(std::find(ready_.begin(), ready_.end(), &message));
  if (caller != Caller::thread)
    ++counts_.by_program;
  else if (message.left_to_program)
    ++counts_.by_grace;
  else
    ++counts_.by_thread;
  if (caller == Caller::thread) --pulled_by_thread_;
  end(message);
  if (caller == Caller::thread) wake_program(station_);
}

void Engine::fail(Message& message, ErrorKind kind, const char* why) noexcept {
  message.error = base::error_by(kind, [&] { return message.label() + why; });
}

void Engine::end(Message& message) noexcept {
  message.over = true;
  ++news_;
  if (!message.listed) return;
  message.next_ended = nullptr;
  (last_ended_ != nullptr ? last_ended_->next_ended : first_ended_) = &message;
  last_ended_ = &message;
}

std::uint64_t Engine::news() noexcept {
  const std::lock_guard lock(mutex_);
  return news_;
}

bool Engine::thread_is_at_it() noexcept {
  const std::lock_guard lock(mutex_);
  return pulled_by_thread_ > 0;
}

// The word first and then the last look: as in rget::may_sleep.
void Engine::doze(std::uint64_t seen, Clock::duration limit) noexcept {
  std::atomic_ref(station_.dozing()).store(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  bool nothing = false;
  {
    const std::lock_guard lock(mutex_);
    look();
    nothing = news_ == seen;
  }
  if (nothing)
    sleep_on(station_.dozing(), limit);
  else
    std::atomic_ref(station_.dozing()).store(0, std::memory_order_relaxed);
}

bool Engine::ended(Message& message) noexcept {
  const std::lock_guard lock(mutex_);
  return message.over;
}

Message* Engine::take_ended() noexcept {
  const std::lock_guard lock(mutex_);
  Message* const taken = first_ended_;
  if (taken == nullptr) return nullptr;
  first_ended_ = taken->next_ended;
  if (first_ended_ == nullptr) last_ended_ = nullptr;
  return taken;
}

bool Engine::idle() noexcept {
  const std::lock_guard lock(mutex_);
  look();
  tell_thread(Caller::passing);
  return sent_.empty() && with_waiting_.empty() && ready_.empty();
}

// ---- Promises

std::vector<Engine::Unmatched> Engine::unmatched(Clock::duration for_so_long) {
  const auto before = Clock::now() - for_so_long;
  const std::lock_guard lock(mutex_);
  std::vector<Unmatched> found;
  for (const Receive* const each : unmatched_)
    if (each->begun <= before)
      found.push_back({each->serial, each->communicator, each->peer, each->tag, each->label()});
  return found;
}

bool Engine::may_bring_more(int process) noexcept {
  const std::lock_guard lock(mutex_);
  look();
  tell_thread(Caller::passing);
  const Partner& partner = partners_[static_cast<std::size_t>(process)];
  if (partner.to == nullptr) return false;
  return base::load(station_.ring(process).begun) != partner.taken || partner.stalled;
}

void Engine::fail_unmatched(std::uint64_t serial, const Error& error) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(unmatched_, serial, &Message::serial);
  if (found == unmatched_.end()) return;
  Receive& message = **found;
  unmatched_.erase(found);
  posted_.withdraw(envelope_of(message), &message);
  message.error = error;
  end(message);
}

// ---- The thread

// With the lock held.
void Engine::start_thread() {
  if (thread_.joinable()) return;
  thread_ = base::start_thread("pst-overlap", [this] { run(); });
}

// The bell alone could be heard by a call of the program's in the thread's place.
void Engine::ring_thread() noexcept {
  thread_news_.store(true, std::memory_order_relaxed);
  Announcement unused;
  HostRing bell(station_, station_, rank_, rank_, unused);
  rget::ring(bell);
}

void Engine::run() noexcept {
  run_on_any_core();
  prctl(PR_SET_TIMERSLACK, 1);  // of this thread: it wakes as soon as it asks for
  while (!stopping_.load(std::memory_order_relaxed)) {
    thread_news_.store(false, std::memory_order_relaxed);
    advance(Caller::thread);
    const std::optional<Clock::duration> limit = may_sleep_for();
    if (limit && *limit <= Clock::duration::zero()) continue;
    if (naps())
      nap(std::min<Clock::duration>(limit.value_or(grace), grace));
    else
      sleep(limit);
  }
}

bool Engine::naps() noexcept {
  const std::lock_guard lock(mutex_);
  return !core_is_free_ && Clock::now() - last_news_ < attentive;
}

// A core may come free at any moment, as the program goes on to wait for something else: while
// there is a message for the thread it looks soon, and then less and less often.
void Engine::nap(Clock::duration limit) noexcept {
  {
    const std::lock_guard lock(mutex_);
    next_look_ = ready_.empty() ? first_look : std::min<Clock::duration>(2 * next_look_, grace);
    if (!ready_.empty()) limit = std::min(limit, next_look_);
  }
  std::this_thread::sleep_for(limit);
  const std::lock_guard lock(mutex_);
  look_for_core();
}

// Nothing: until somebody rings.
std::optional<Clock::duration> Engine::may_sleep_for() noexcept {
  const std::lock_guard lock(mutex_);
  std::optional<Clock::duration> limit;
  if (!with_waiting_.empty()) limit = until_room;
  for (const Receive* const each : ready_) {
    if (each->claimed) continue;
    const Clock::duration left = each->matched_at + grace - Clock::now();
    if (!limit || left < *limit) limit = left;
  }
  return limit;
}

// False: somebody has rung.
bool Engine::may_sleep() noexcept {
  Announcement unused;
  bool may = true;
  for (std::size_t word = 0; word < station_.rung_words(); ++word) {
    HostRing bell(station_, station_, static_cast<int>(word) * 64, rank_, unused);
    may = rget::may_sleep(bell) && may;
  }
  return may;
}

void Engine::sleep(std::optional<Clock::duration> limit) noexcept {
  if (may_sleep() && !thread_news_.load(std::memory_order_relaxed) &&
      !stopping_.load(std::memory_order_relaxed))
    sleep_on(station_.asleep(), limit);
  else
    std::atomic_ref(station_.asleep()).store(0, std::memory_order_relaxed);
}

// ---- What is told

Counts Engine::counts() noexcept {
  const std::lock_guard lock(mutex_);
  return counts_;
}

std::string Engine::lines() {
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  std::string lines;
  const auto add = [&](const Message& message, const char* what) {
    lines += fmt::format("\n  {}: {}, for {:.1f} s", message.label(), what,
                         std::chrono::duration<double>(now - message.begun).count());
  };
  for (const Receive* const each : unmatched_) add(*each, "no message has been announced");
  for (const Receive* const each : ready_) add(*each, "is being read");
  for (const Send* const each : sent_) add(*each, "its receiver has not read it");
  for (const Partner& partner : partners_)
    for (const Send* const each : partner.waiting) add(*each, "not announced yet");
  return lines;
}

}  // namespace penstock::overlap
