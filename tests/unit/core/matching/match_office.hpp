// SPDX-License-Identifier: Apache-2.0
// Processes that match with one another, in one process without MPI: letters lie in queues between
// them, and whatever may fail in reality fails here when told to.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/matched_request.hpp"
#include "core/matching/matcher.hpp"

namespace penstock::core::test {

using base::Error;
using base::ErrorKind;

class OfficeWorld final : public group::World {
 public:
  OfficeWorld(int rank, int size) : dead_(static_cast<std::size_t>(size)) {
    rank_ = rank;
    size_ = processes_on_host_ = size;
    thread_level_ = group::ThreadLevel::multiple;
    host_ = mpi_version_ = "here";
  }
  std::vector<std::vector<std::byte>> all_gather(std::span<const std::byte>) override { return {}; }
  const std::atomic<bool>& dead(int rank) const noexcept override {
    if (when_looked_at) when_looked_at(rank);
    return dead_[static_cast<std::size_t>(rank)];
  }
  std::function<void(int rank)> when_looked_at;  // a process may die between two looks
  void watch(int) noexcept override {}
  void wake() noexcept override {}
  void kill(int rank) { dead_[static_cast<std::size_t>(rank)].store(true); }

 private:
  std::vector<std::atomic<bool>> dead_;
};

// The letters of all processes. Any thread.
class Office {
 public:
  using Letter = group::Mailbox::Letter;
  void post(int from, int to, Letter letter) {
    const std::lock_guard lock(mutex_);
    letters_[to].emplace_back(from, std::move(letter));
  }
  bool take(int to, std::pair<int, Letter>& letter) {
    const std::lock_guard lock(mutex_);
    auto& queue = letters_[to];
    if (queue.empty()) return false;
    letter = std::move(queue.front());
    queue.pop_front();
    return true;
  }
  std::size_t waiting(int to) {
    const std::lock_guard lock(mutex_);
    return letters_[to].size();
  }

 private:
  std::mutex mutex_;
  std::map<int, std::deque<std::pair<int, Letter>>> letters_;
};

class OfficeMailbox final : public group::Mailbox {
 public:
  OfficeMailbox(int rank, Office& office) : rank_(rank), office_(office) {}

  std::uint64_t send(int rank, Letter letter) override {
    if (refused.count(rank) != 0) throw Error(ErrorKind::mpi, "no letters to this rank");
    if (std::exchange(refuses_one, false)) throw Error(ErrorKind::mpi, "not this letter");
    office_.post(rank_, rank, std::move(letter));
    const std::uint64_t number = ++sent_[rank];
    if (stuck.count(rank) == 0) left_[rank] = number;
    return number;
  }
  bool poll(const std::function<void(int, std::span<const std::byte>)>& handle) override {
    if (broken.load()) throw Error(ErrorKind::mpi, "MPI_Improbe failed");
    std::pair<int, Letter> letter;
    if (deaf) return false;
    if (empty_polls > 0) return --empty_polls, false;
    bool any = false;
    for (std::size_t read = 0; read < most && office_.take(rank_, letter); ++read, any = true)
      handle(letter.first, letter.second);
    return any;
  }
  bool flushed(int rank, std::uint64_t last) override {
    return stuck.count(rank) == 0 || last <= left_[rank];
  }
  bool all_flushed() override { return stuck.empty(); }
  void dispatch() override {
    if (out_of_memory) throw std::bad_alloc();
  }
  void hand_over() override { dispatch(); }
  bool any_lost() override { return !lost_ranks.empty(); }
  bool lost(int rank) override { return lost_ranks.count(rank) != 0; }

  std::set<int> refused, stuck, lost_ranks;
  int empty_polls = 0;                                         // before a letter is found
  bool deaf = false;                                           // finds no letters
  std::size_t most = std::numeric_limits<std::size_t>::max();  // letters in one poll
  bool out_of_memory = false;                                  // where letters are handed over
  bool refuses_one = false;                                    // the next letter
  std::atomic<bool> broken{false};

 private:
  int rank_;
  Office& office_;
  std::map<int, std::uint64_t> sent_, left_;  // by rank: the last one, and that before it was stuck
};

inline bool is_unmatched(const MatchedRequest& request) {
  return !request.matched() && !request.match_under_way();
}

// What the tests ask of a process's transport, and what they learn from it.
struct Pigeons {
  bool connect = true;
  bool has_room = true;   // for an offer
  bool confirms = false;  // an acceptance needs no confirmation unless this is set
  bool invites = true;
  bool accepts = true;  // invitations
  int offers = 0;       // that exist, invitations among them
  int closed = 0;       // plans that were given up
  std::function<void()> on_close{};
  std::function<void()> on_path{};  // called when a pair's log line is made
};

class OfficePlan final : public transport::Plan {
 public:
  explicit OfficePlan(Pigeons& pigeons) : pigeons_(pigeons) {}
  void check_stream(const device::Stream&) const override {}
  void start(device::Stream&, transport::Sink&) override {}
  void wait(device::Stream&, transport::Sink&) override {}
  void hand_over(device::Stream*, device::Stream&) override {}
  void close(device::Stream&, void (*)(void*), void*) override {}
  void close() override {
    ++pigeons_.closed;
    if (pigeons_.on_close) pigeons_.on_close();
  }
  transport::PairState pair_state(transport::Epoch) const noexcept override {
    return transport::PairState::serves;
  }
  void cancel_wait(const Error&) noexcept override {}
  std::string describe() const override { return ""; }
  std::string path() const override {
    if (pigeons_.on_path) pigeons_.on_path();
    return "by air";
  }

 private:
  Pigeons& pigeons_;
};

class OfficeOffer final : public transport::Offer {
 public:
  explicit OfficeOffer(Pigeons& pigeons) : pigeons_(pigeons) { ++pigeons_.offers; }
  ~OfficeOffer() override { --pigeons_.offers; }
  transport::WireRecord record() const override { return {}; }
  std::unique_ptr<transport::Plan> connect(std::span<const std::byte>) override {
    if (!pigeons_.connect) throw Error(ErrorKind::transport, "the pigeons are ill");
    return std::make_unique<OfficePlan>(pigeons_);
  }

 private:
  Pigeons& pigeons_;
};

class OfficeAcceptance final : public transport::Acceptance {
 public:
  explicit OfficeAcceptance(Pigeons& pigeons) : pigeons_(pigeons) {}
  transport::WireRecord record() const override { return {}; }
  bool needs_confirmation() const override { return pigeons_.confirms; }
  std::unique_ptr<transport::Plan> confirm() override {
    return std::make_unique<OfficePlan>(pigeons_);
  }

 private:
  Pigeons& pigeons_;
};

class OfficeTransport final : public transport::Transport {
 public:
  explicit OfficeTransport(Pigeons& pigeons) : pigeons_(pigeons) {}
  std::string name() const override { return "pigeon"; }
  transport::WireRecord address() override { return {}; }
  void add_peers(std::span<const transport::WireRecord>) override {}
  transport::Verdict usable() const override { return {true, ""}; }
  transport::Verdict can_serve(const transport::Message&) const override { return {true, ""}; }
  std::unique_ptr<transport::Offer> offer(const transport::Message&) override {
    if (!pigeons_.has_room) throw Error(ErrorKind::resources, "the loft is full");
    return std::make_unique<OfficeOffer>(pigeons_);
  }
  std::unique_ptr<transport::Acceptance> accept(const transport::Message&,
                                                const transport::Message&,
                                                std::span<const std::byte>) override {
    return std::make_unique<OfficeAcceptance>(pigeons_);
  }
  std::unique_ptr<transport::Offer> invite(const transport::Message&) override {
    if (!pigeons_.invites) return nullptr;
    return std::make_unique<OfficeOffer>(pigeons_);
  }
  std::unique_ptr<transport::Acceptance> accept_invitation(const transport::Message&,
                                                           const transport::Message&,
                                                           std::span<const std::byte>) override {
    if (!pigeons_.connect || !pigeons_.accepts)
      throw Error(ErrorKind::transport, "the pigeons are ill");
    return std::make_unique<OfficeAcceptance>(pigeons_);
  }

 private:
  Pigeons& pigeons_;
};

// One process: what a rank has of the library for matching.
class Clerk {
 public:
  Clerk(int rank, int size, Office& office, base::Settings settings_ = {})
      : settings(std::move(settings_)),
        world(rank, size),
        mailbox(rank, office),
        transports(entries()) {
    auto members = std::make_shared<group::Communicator>();
    members->known = true;
    members->rank = rank;
    members->name = "MPI_COMM_WORLD";
    communicator_ = std::move(members);
    matcher.emplace(settings, world, mailbox, transports);
  }

  std::unique_ptr<MatchedRequest> send(int peer, int tag = 0, std::size_t bytes = 8) {
    return request(RequestKind::send, peer, tag, bytes);
  }
  std::unique_ptr<MatchedRequest> receive(int peer, int tag = 0, std::size_t bytes = 8) {
    return request(RequestKind::receive, peer, tag, bytes);
  }

  std::shared_ptr<MatchJob> begin(std::vector<MatchedRequest*> requests) {
    auto job = matcher->prepare(std::move(requests));
    matcher->begin(job);
    return job;
  }

  // As PST_Imatch does where no thread drives.
  std::shared_ptr<MatchJob> leave(std::vector<MatchedRequest*> requests) {
    auto job = matcher->prepare(std::move(requests));
    job->leaves = true;
    matcher->begin(job);
    return job;
  }
  // As PST_Imatch does where one does.
  std::shared_ptr<MatchJob> begin_unattended(std::vector<MatchedRequest*> requests) {
    auto job = matcher->prepare(std::move(requests));
    // What the program's calls find until MPI knows.
    job->on_finished = [this] {
      if (!Matcher::under_way()) ended_too_early = true;
    };
    matcher->begin(job);
    return job;
  }

  Pigeons pigeons;
  base::Settings settings;
  OfficeWorld world;
  OfficeMailbox mailbox;
  Transports transports;
  std::optional<Matcher> matcher;
  std::atomic<bool> ended_too_early{false};

 private:
  std::vector<Transports::Entry> entries() {
    std::vector<Transports::Entry> all;
    all.push_back({std::make_unique<OfficeTransport>(pigeons), true});
    return all;
  }
  std::unique_ptr<MatchedRequest> request(RequestKind kind, int peer, int tag, std::size_t bytes) {
    Recording recording;
    recording.kind = kind;
    recording.bytes = bytes;
    recording.communicator = communicator_;
    recording.peer = recording.peer_world = peer;
    recording.tag = tag;
    return std::make_unique<MatchedRequest>(std::move(recording));
  }

  std::shared_ptr<const group::Communicator> communicator_;
};

}  // namespace penstock::core::test
