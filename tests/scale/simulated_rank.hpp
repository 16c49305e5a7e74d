// SPDX-License-Identifier: Apache-2.0
// What one rank has of the library for matching: registry, mailbox and matcher as they are, over a
// transport that carries nothing. What all ranks hold alike stands once in the process.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "core/matched_request.hpp"
#include "core/matching/matcher.hpp"
#include "core/registry.hpp"
#include "scale/post.hpp"

namespace penstock::scale {

// Alike on all ranks.
struct Job {
  explicit Job(int ranks);

  std::vector<std::atomic<bool>> dead;
  std::atomic<bool> any_dead{false};
  std::vector<int> members;  // of a collective of all

  int ranks() const noexcept { return static_cast<int>(dead.size()); }
  void end(int rank) {
    dead[static_cast<std::size_t>(rank)] = true;
    any_dead = true;
  }
};

class SimulatedWorld final : public group::World {
 public:
  SimulatedWorld(const Job& job, int rank);
  std::vector<std::vector<std::byte>> all_gather(std::span<const std::byte>) override { return {}; }
  const std::atomic<bool>& dead(int rank) const noexcept override {
    return job_.dead[static_cast<std::size_t>(rank)];
  }
  bool anybody_dead() const noexcept override { return job_.any_dead; }
  void watch(int) noexcept override {}
  void wake() noexcept override {}

 private:
  const Job& job_;
};

// Letters that a rank has sent, by kind.
struct LetterCounts {
  static constexpr std::size_t kinds = static_cast<std::size_t>(core::LetterKind::leave) + 1;
  std::array<std::uint64_t, kinds> letters{}, bytes{};
};

// Counts what goes through the mailbox.
class CountingMailbox final : public group::Mailbox {
 public:
  CountingMailbox(std::unique_ptr<group::Mailbox> mailbox, LetterCounts& counts)
      : mailbox_(std::move(mailbox)), counts_(counts) {}
  std::uint64_t send(int rank, Letter letter) override {
    const auto kind = static_cast<std::size_t>(letter.front());
    ++counts_.letters[kind];
    counts_.bytes[kind] += letter.size();
    return mailbox_->send(rank, std::move(letter));
  }
  bool poll(const std::function<void(int, std::span<const std::byte>)>& handle) override {
    return mailbox_->poll(handle);
  }
  void dispatch() override { mailbox_->dispatch(); }
  void hand_over() override { mailbox_->hand_over(); }
  bool flushed(int rank, std::uint64_t last) override { return mailbox_->flushed(rank, last); }
  bool all_flushed() override { return mailbox_->all_flushed(); }
  bool lost(int rank) override { return mailbox_->lost(rank); }
  bool any_lost() override { return mailbox_->any_lost(); }

 private:
  std::unique_ptr<group::Mailbox> mailbox_;
  LetterCounts& counts_;
};

class SimulatedRank {
 public:
  SimulatedRank(const base::Settings& settings, const Job& job, Post& post, int rank,
                LetterCounts& counts, std::size_t record_bytes);
  ~SimulatedRank();

  int rank() const noexcept { return world_.rank(); }
  // As the recorder does for a new request. Its bytes tell a send from all others.
  core::MatchedRequest& record_send(int peer, int tag, std::size_t bytes) {
    return record(core::RequestKind::send, peer, tag, bytes);
  }
  core::MatchedRequest& record_receive(int peer, int tag) {
    return record(core::RequestKind::receive, peer, tag, most_bytes);
  }
  // One of all ranks, with messages as a barrier by dissemination has them.
  core::MatchedRequest& record_collective();
  void begin(std::vector<core::MatchedRequest*> requests, bool leaves);
  core::Matcher& matcher() noexcept { return matcher_; }
  group::Mailbox& mailbox() noexcept { return mailbox_; }
  const core::MatchJob* job() const noexcept { return job_.get(); }
  void free_requests();

  static constexpr std::size_t most_bytes = std::size_t{1} << 62;

 private:
  core::MatchedRequest& record(core::RequestKind kind, int peer, int tag, std::size_t bytes);
  core::MatchedRequest& keep(core::Recording recording);

  const Job& all_;
  SimulatedWorld world_;
  CountingMailbox mailbox_;
  core::Transports transports_;
  core::Registry registry_;
  std::shared_ptr<const group::Communicator> communicator_;
  core::Matcher matcher_;
  std::shared_ptr<core::MatchJob> job_;
  core::Handle last_handle_ = 0;
};

}  // namespace penstock::scale
