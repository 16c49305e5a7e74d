// SPDX-License-Identifier: Apache-2.0
#include "coll/collective_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "coll/direct.hpp"
#include "coll/placement.hpp"
#include "coll/scheduled_plan.hpp"
#include "coll/selection.hpp"
#include "coll/told.hpp"
#include "coll/tuning.hpp"
#include "coll/widths.hpp"
#include "core/library.hpp"
#include "core/matching/letter.hpp"
#include "group/identity_hash.hpp"

namespace penstock::coll {

using base::Error;
using base::ErrorKind;
using transport::Direction;
using transport::WireRecord;

namespace {

// Nodes, or teams, count from 0 on, in the order of their first ranks.
void place_ranks(Shape& shape, const std::vector<Told>& told) {
  std::map<int, int> number;
  std::vector<int> members;
  shape.node.clear();
  shape.index.clear();
  for (const Told& each : told) {
    const int first = each.team.empty() ? each.node : each.team.front();
    const int node = number.emplace(first, static_cast<int>(number.size())).first->second;
    if (static_cast<std::size_t>(node) == members.size()) members.push_back(0);
    shape.node.push_back(node);
    shape.index.push_back(members[static_cast<std::size_t>(node)]++);
  }
}

// `shape`: member 0's.
Situation situation_of(Shape shape, const std::vector<Told>& told,
                       const std::vector<DirectTold>& direct) {
  core::Library& library = core::Library::require();
  place_ranks(shape, told);
  give_widths(shape, static_cast<int>(library.settings().collective_groups));
  const bool is_fastest = std::all_of(direct.begin(), direct.end(),
                                      [](const DirectTold& each) { return each.is_fastest; });
  return {.collective = told.front().kind,
          .shape = std::move(shape),
          .on_gpu = told.front().on_gpu,
          .direct = can_connect(direct, library.transports()),
          .direct_name = direct.front().name,
          .direct_is_fastest = is_fastest};
}

Selection select(const Situation& situation, const std::string& forced) {
  if (!forced.empty()) return select(situation, forced, "");
  const TuningKey key = tuning_key(situation.collective, situation.on_gpu, situation.shape);
  return select(situation, "", tuning_of_library().wish(key));
}

WireRecord choice_of(const Selection& selection, const std::vector<DirectTold>& direct) {
  core::LetterWriter letter;
  if (selection.algorithm == nullptr) {
    write_direct_choice(direct, letter);
    return letter.take();
  }
  const Shape& shape = selection.shape;
  letter.text(selection.algorithm->name);
  letter.value(shape.group).value(shape.leader).value(shape.batch);
  letter.list(shape.node).list(shape.index);
  return letter.take();
}

class Part final : public core::CollectivePart {
 public:
  Part(const Algorithm& algorithm, const Shape& shape, int rank, const Arguments& arguments)
      : algorithm_(algorithm.name),
        schedule_(std::make_shared<const Schedule>(algorithm.schedule(shape, rank))),
        steps_(
            make_local_steps(schedule_, arguments.memory, arguments.combination, arguments.gpu)) {
    const Memory& memory = steps_ ? steps_->memory() : arguments.memory;
    for_each_message([&](Direction direction, const auto& message, std::size_t phase) {
      messages_.push_back({direction, message.peer, static_cast<int>(phase),
                           memory.at(message.region), message.region.bytes});
    });
  }

  const std::vector<core::CollectiveMessage>& messages() const noexcept override {
    return messages_;
  }
  std::string algorithm() const override { return algorithm_; }
  std::unique_ptr<transport::Plan> make_plan(
      std::vector<std::unique_ptr<transport::Plan>>&& ends) override {
    return std::make_unique<ScheduledPlan>(algorithm_, schedule_, std::move(steps_),
                                           std::move(ends));
  }

 private:
  // Receives first, as ScheduledPlan takes their ends.
  template <class Visit>
  void for_each_message(Visit visit) const {
    for (std::size_t phase = 0; phase < schedule_->phases.size(); ++phase)
      for (const Receive& receive : schedule_->phases[phase].receives)
        visit(Direction::receive, receive, phase);
    for (std::size_t phase = 0; phase < schedule_->phases.size(); ++phase)
      for (const Send& send : schedule_->phases[phase].sends) visit(Direction::send, send, phase);
  }

  const std::string algorithm_;
  const std::shared_ptr<const Schedule> schedule_;
  std::unique_ptr<LocalSteps> steps_;
  std::vector<core::CollectiveMessage> messages_;
};

// Messages serve where a collective cannot go directly, and nothing where these cannot.
void require_another_way(CollectiveKind kind, const core::FailedChoice& failed) {
  if (!is_direct(kind, core::LetterReader(failed.choice).text())) throw failed.why;
}

}  // namespace

CollectiveCall::CollectiveCall(Arguments arguments) : arguments_(std::move(arguments)) {}

group::CommunicatorId CollectiveCall::id() const noexcept {
  return group::IdentityHash()
      .add(arguments_.communicator->id)
      .add("collective")
      .add(arguments_.number)
      .value();
}

// By communicator, then by number, which may come round. The highest bit stays 0, so no turn is
// last_turn.
std::uint64_t CollectiveCall::turn() const noexcept {
  constexpr unsigned number_bits = 24;
  const std::uint64_t number = arguments_.number & ((std::uint64_t{1} << number_bits) - 1);
  return arguments_.communicator->id.low >> (number_bits + 1) << number_bits | number;
}

// What a member has; of uneven blocks, what it sends.
std::size_t CollectiveCall::bytes() const {
  std::size_t bytes = arguments_.count * arguments_.element;
  for (const Block& block : arguments_.sends) bytes += block.bytes;
  return bytes;
}

std::string CollectiveCall::label() const {
  return fmt::format("{} {} ({}, {} bytes)", name_of(arguments_.kind), arguments_.number,
                     arguments_.communicator->name, bytes());
}

base::trace::TracedMessage CollectiveCall::traced() const {
  return {.bytes = bytes(),
          .collective = name_of(arguments_.kind).data(),  // a literal
          .number = arguments_.number};
}

class CollectiveCall::Offer final : public core::CollectiveOffer {
 public:
  explicit Offer(const CollectiveCall& call)
      : call_(call),
        arguments_(placed(call.arguments_)),
        direct_(arguments_, core::Library::require().transports()) {}

  WireRecord record() const override;
  std::unique_ptr<core::CollectivePart> prepare(const WireRecord& choice) override;

 private:
  const CollectiveCall& call_;
  const Arguments arguments_;
  DirectOffer direct_;
};

std::unique_ptr<core::CollectiveOffer> CollectiveCall::offer() const {
  return std::make_unique<Offer>(*this);
}

WireRecord CollectiveCall::Offer::record() const {
  core::LetterWriter letter;
  write_told(letter, arguments_, core::Library::require().settings().check);
  direct_.tell(letter);
  return letter.take();
}

Shape CollectiveCall::shape() const {
  Shape shape;
  shape.ranks = static_cast<int>(arguments_.members.size());
  shape.root = arguments_.root;
  shape.in_place = arguments_.in_place;
  shape.element = arguments_.element;
  shape.count = arguments_.count;
  shape.sends = arguments_.sends;
  shape.receives = arguments_.receives;
  shape.destinations = arguments_.destinations;
  shape.sources = arguments_.sources;
  return shape;
}

WireRecord CollectiveCall::choose(std::span<const WireRecord> records,
                                  const core::FailedChoice* failed) const {
  if (failed != nullptr) require_another_way(arguments_.kind, *failed);
  std::vector<Told> told;
  std::vector<DirectTold> direct;
  for (const WireRecord& record : records) {
    core::LetterReader letter(record);
    told.push_back(read_told(letter));
    direct.push_back(read_direct_told(letter));
  }
  try {
    require_fitting(told);
    Situation situation = situation_of(shape(), told, direct);
    if (failed != nullptr) situation.direct = base::refused(failed->why.what());
    const Selection selection = select(situation, told.front().algorithm);
    if (base::log::enabled(base::LogLevel::info))
      base::log::info(label() + ": " + describe(selection, situation));
    return choice_of(selection, direct);
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{} cannot be matched: {}", label(), error.text()));
  }
}

std::unique_ptr<core::CollectivePart> CollectiveCall::Offer::prepare(const WireRecord& choice) {
  core::LetterReader letter(choice);
  const std::string name = letter.text();
  if (is_direct(arguments_.kind, name)) return direct_.connect(letter);
  direct_.drop();
  Shape shape = call_.shape();
  shape.group = letter.value<int>();
  shape.leader = letter.value<int>();
  shape.batch = letter.value<int>();
  shape.node = letter.list<int>();
  shape.index = letter.list<int>();
  const Algorithm* const algorithm = find_algorithm(arguments_.kind, name);
  if (algorithm == nullptr)
    throw Error(ErrorKind::internal, "member 0 has chosen an algorithm that is not known here");
  return std::make_unique<Part>(*algorithm, shape, call_.rank(), arguments_);
}

}  // namespace penstock::coll
