// SPDX-License-Identifier: Apache-2.0
#include "scale/dissemination.hpp"

#include "scale/no_plan.hpp"

namespace penstock::scale {
namespace {

constexpr std::size_t told_bytes = 64;  // as much as a barrier's members tell each other

class Part final : public core::CollectivePart {
 public:
  Part(int ranks, int rank) {
    for (int round = 0, far = 1; far < ranks; ++round, far *= 2) {
      messages_.push_back(
          {transport::Direction::receive, (rank + ranks - far) % ranks, round, nullptr, 1});
      messages_.push_back({transport::Direction::send, (rank + far) % ranks, round, nullptr, 1});
    }
  }
  const std::vector<core::CollectiveMessage>& messages() const noexcept override {
    return messages_;
  }
  std::string algorithm() const override { return "dissemination"; }
  std::unique_ptr<transport::Plan> make_plan(
      std::vector<std::unique_ptr<transport::Plan>>&& ends) override {
    return std::make_unique<NoPlan>(std::move(ends));
  }

 private:
  std::vector<core::CollectiveMessage> messages_;
};

class Offer final : public core::CollectiveOffer {
 public:
  Offer(int ranks, int rank) : ranks_(ranks), rank_(rank) {}
  transport::WireRecord record() const override { return transport::WireRecord(told_bytes); }
  std::unique_ptr<core::CollectivePart> prepare(const transport::WireRecord&) override {
    return std::make_unique<Part>(ranks_, rank_);
  }

 private:
  const int ranks_, rank_;
};

class Dissemination final : public core::Collective {
 public:
  Dissemination(const Job& job, int rank, std::uint64_t number)
      : job_(job), rank_(rank), number_(number) {}
  std::string label() const override { return "barrier (MPI_COMM_WORLD)"; }
  group::CommunicatorId id() const noexcept override { return {~number_, number_ * 7919}; }
  std::uint64_t turn() const noexcept override { return number_; }
  int rank() const noexcept override { return rank_; }
  const std::vector<int>& members() const noexcept override { return job_.members; }
  std::unique_ptr<core::CollectiveOffer> offer() const override {
    return std::make_unique<Offer>(job_.ranks(), rank_);
  }
  transport::WireRecord choose(std::span<const transport::WireRecord>,
                               const core::FailedChoice*) const override {
    return transport::WireRecord(told_bytes);
  }

 private:
  const Job& job_;
  const int rank_;
  const std::uint64_t number_;
};

}  // namespace

std::shared_ptr<const core::Collective> make_dissemination(const Job& job, int rank,
                                                           std::uint64_t number) {
  return std::make_shared<Dissemination>(job, rank, number);
}

}  // namespace penstock::scale
