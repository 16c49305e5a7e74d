// SPDX-License-Identifier: Apache-2.0
#include "scale/simulation.hpp"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "scale/allocated.hpp"

namespace penstock::scale {

using core::MatchedRequest;

namespace {

constexpr int tags_with_wildcard = 2;  // those below this remainder of four are received from all
constexpr int every_rank_with_any_tag = 8;

std::size_t most_resident() {
  std::ifstream status("/proc/self/status");
  std::size_t kilobytes = 0;
  for (std::string word; status >> word;)
    if (word == "VmHWM:" && status >> kilobytes) break;
  return kilobytes * 1024;
}

// Not what other programs take of the core.
double seconds_of_thread() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Of all messages of a job no two are as long.
std::size_t bytes_of(int sender, std::size_t send) {
  return (static_cast<std::size_t>(sender) << 32) + send + 1;
}
int sender_of(std::size_t bytes) {
  return static_cast<int>(bytes >> 32);
}

bool fits(int wanted, int found) {
  return wanted < 0 || wanted == found;
}

}  // namespace

std::uint64_t Report::all_letters() const {
  return std::accumulate(letters.letters.begin(), letters.letters.end(), std::uint64_t{0});
}
std::uint64_t Report::all_letter_bytes() const {
  return std::accumulate(letters.bytes.begin(), letters.bytes.end(), std::uint64_t{0});
}

struct Simulation::Member {
  std::unique_ptr<SimulatedRank> rank;
  std::vector<MatchedRequest*> sends, receives;  // as in its edges
  MatchedRequest* collective = nullptr;
  bool begun = false, has_ended = false;
  double seconds = 0;

  std::vector<MatchedRequest*> all() const {
    std::vector<MatchedRequest*> requests = receives;
    requests.insert(requests.end(), sends.begin(), sends.end());
    if (collective != nullptr) requests.push_back(collective);
    return requests;
  }
};

Simulation::Simulation(const Options& options)
    : options_(options), job_(options.ranks), post_(options.ranks, options.post, options.seed) {
  // Malloc now and then merges all small free blocks, those of all ranks: what one rank's call
  // would pay for has nothing to do with that rank.
  mallopt(M_MXFAST, 0);
  report_.ranks = options_.ranks;
  edges_ = edges_of(options_.graph, options_.ranks, options_.seed);
  for (const Edges& edges : edges_) {
    std::unordered_set<int> peers;
    for (const Edge& edge : edges.sends) peers.insert(edge.peer);
    for (const Edge& edge : edges.receives) peers.insert(edge.peer);
    report_.most_neighbours = std::max(report_.most_neighbours, static_cast<double>(peers.size()));
  }
}

Simulation::~Simulation() = default;

Report Simulation::run() {
  before_ = allocated();
  for (int rank = 0; rank < options_.ranks; ++rank) {
    members_.push_back(std::make_unique<Member>());
    members_.back()->rank = std::make_unique<SimulatedRank>(settings_, job_, post_, rank,
                                                            report_.letters, options_.record_bytes);
  }
  report_.made = bytes_a_rank();
  for (int rank = 0; rank < options_.ranks; ++rank) record_requests(rank);
  report_.recorded = report_.most = bytes_a_rank();
  hand_in_all();
  drive_all();
  drive_those_that_wait();
  report_.simulated_us = static_cast<double>(post_.now());
  report_.after = bytes_a_rank();
  report_.bundles = post_.bundles();
  report_.bundle_bytes = post_.bytes();
  for (const auto& member : members_) {
    report_.seconds += member->seconds;
    report_.slowest_seconds = std::max(report_.slowest_seconds, member->seconds);
  }
  check();
  for (const auto& member : members_) {
    member->rank->free_requests();
    *member = Member{std::move(member->rank), {}, {}, nullptr, true, true, 0};
  }
  report_.freed = bytes_a_rank();
  report_.most_resident = most_resident();
  return report_;
}

double Simulation::bytes_a_rank() const {
  return (allocated() - before_) / options_.ranks;
}

// A match begins at another time on each rank, and half of the way some end.
void Simulation::hand_in_all() {
  std::vector<std::pair<std::uint64_t, int>> begins;
  for (int rank = 0; rank < options_.ranks; ++rank) begins.emplace_back(post_.random(0, 100), rank);
  std::sort(begins.begin(), begins.end());
  for (std::size_t i = 0; i < begins.size(); ++i) {
    hand_in(*members_[static_cast<std::size_t>(begins[i].second)]);
    if (i == begins.size() / 2) end_some();
    look_at_memory(1);
  }
}

void Simulation::drive_all() {
  for (int rank = post_.next(); rank >= 0; rank = post_.next()) {
    drive(*members_[static_cast<std::size_t>(rank)]);
    look_at_memory(40);
  }
}

// Not each time, as it takes long: some twenty times for each `steps` steps of a rank.
void Simulation::look_at_memory(std::size_t steps) {
  if (++looks_ % (steps * (1 + members_.size() / 20)) == 0)
    report_.most = std::max(report_.most, bytes_a_rank());
  if (options_.on_progress) options_.on_progress(ended_);
}

// With wildcards nothing is left over, whatever takes what: of a tag either all receives of a rank
// name their sender or none does, and some ranks name neither sender nor tag.
void Simulation::record_requests(int number) {
  Member& member = *members_[static_cast<std::size_t>(number)];
  const Edges& edges = edges_[static_cast<std::size_t>(number)];
  const bool any_tag = options_.wildcards && number % every_rank_with_any_tag == 0;
  for (std::size_t i = 0; i < edges.sends.size(); ++i)
    member.sends.push_back(
        &member.rank->record_send(edges.sends[i].peer, edges.sends[i].tag, bytes_of(number, i)));
  for (const Edge& edge : edges.receives) {
    const bool any_source = options_.wildcards && edge.tag % 4 < tags_with_wildcard;
    member.receives.push_back(&member.rank->record_receive(
        any_tag || any_source ? core::any_rank : edge.peer, any_tag ? core::any_tag : edge.tag));
  }
  if (options_.collective) member.collective = &member.rank->record_collective();
  report_.requests += member.all().size();
}

template <class Step>
void Simulation::timed(Member& member, Step&& step) {
  const double begin = seconds_of_thread();
  step();
  member.seconds += seconds_of_thread() - begin;
  if (!member.has_ended && ended(member)) {
    member.has_ended = true;
    ++ended_;
  }
}

void Simulation::hand_in(Member& member) {
  if (is_dead(member.rank->rank())) return;
  std::vector<MatchedRequest*> requests = member.all();
  member.begun = true;
  timed(member, [&] { member.rank->begin(std::move(requests), options_.leaves); });
}

void Simulation::drive(Member& member) {
  if (!member.begun) return;
  timed(member, [&] { member.rank->matcher().drive(); });
}

bool Simulation::ended(const Member& member) const {
  return member.begun && member.rank->job()->finished;
}

// Ranks whose letters others still expect, and whom nobody hears any more.
void Simulation::end_some() {
  for (int i = 0; i < options_.dead && options_.ranks > 1; ++i) {
    const int rank =
        static_cast<int>(post_.random(1, static_cast<std::uint64_t>(job_.ranks()) - 1));
    job_.end(rank);
    post_.end(rank);
    Member& member = *members_[static_cast<std::size_t>(rank)];
    if (!std::exchange(member.has_ended, true)) ++ended_;
    member.begun = false;
  }
}

// Where ranks have died others notice it when they look. The looks are two milliseconds apart.
void Simulation::drive_those_that_wait() {
  constexpr int most_rounds = 20;
  for (int round = 0; ended_ < options_.ranks; ++round) {
    if (round == most_rounds)
      throw std::runtime_error(
          fmt::format("{} of {} ranks wait for ever", options_.ranks - ended_, options_.ranks));
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    for (const auto& member : members_)
      if (!member->has_ended) drive(*member);
    for (int rank = post_.next(); rank >= 0; rank = post_.next())
      drive(*members_[static_cast<std::size_t>(rank)]);
  }
}

// ---- Checks

void Simulation::check() {
  for (int number = 0; number < options_.ranks; ++number) {
    if (is_dead(number)) continue;
    for (const MatchedRequest* receive : members_[static_cast<std::size_t>(number)]->receives)
      check_receive(number, *receive);
  }
  for (int number = 0; number < options_.ranks; ++number) {
    if (is_dead(number)) continue;
    const Member& member = *members_[static_cast<std::size_t>(number)];
    for (const MatchedRequest* send : member.sends) check_send(number, *send);
    if (member.collective == nullptr) continue;
    count(*member.collective);
    require(member.collective->matched() != job_.any_dead, number, *member.collective);
  }
}

bool Simulation::is_dead(int rank) const {
  return rank >= 0 && job_.dead[static_cast<std::size_t>(rank)];
}

void Simulation::count(const MatchedRequest& request) {
  ++(request.matched() ? report_.matched : report_.failed);
}

void Simulation::require(bool right, int rank, const MatchedRequest& request) {
  if (!right)
    throw std::runtime_error(fmt::format("rank {}: {} is {}matched, which is wrong", rank,
                                         request.label(), request.matched() ? "" : "not "));
}

// What a receive has been matched with, its bytes say.
void Simulation::check_receive(int number, const MatchedRequest& receive) {
  const core::Recording& recording = receive.recording();
  count(receive);
  if (!receive.matched()) return require(is_dead(recording.peer), number, receive);
  const core::MatchResult& result = receive.result();
  const int sender = sender_of(result.bytes);
  const auto send = static_cast<std::size_t>(static_cast<std::uint32_t>(result.bytes)) - 1;
  const Edge sent = edges_.at(static_cast<std::size_t>(sender)).sends.at(send);
  require(result.source == sender && sent.peer == number && result.tag == sent.tag, number,
          receive);
  require(fits(recording.peer, sender) && fits(recording.tag, sent.tag), number, receive);
  require(taken_.insert(result.bytes).second, number, receive);
  // All receives that a message of this kind could take are alike, so they keep its order.
  const auto [before, first] = last_.try_emplace({number, sender, sent.tag}, send);
  require(first || before->second < send, number, receive);
  before->second = send;
}

void Simulation::check_send(int number, const MatchedRequest& send) {
  count(send);
  if (is_dead(send.recording().peer)) return;
  require(send.matched() && taken_.count(send.recording().bytes) != 0, number, send);
}

}  // namespace penstock::scale
