// SPDX-License-Identifier: Apache-2.0
#include "coll/collective_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "coll/direct_exchange.hpp"
#include "coll/placement.hpp"
#include "coll/scheduled_plan.hpp"
#include "coll/selection.hpp"
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

// What a member tells: all that others have to compare.
struct Told {
  CollectiveKind kind{};
  bool in_place = false;
  int root = 0;
  std::size_t element = 1, count = 0;
  transport::Reduction reduction{};
  transport::Element type{};
  int node = 0;
  bool on_gpu = false;
  std::string algorithm, refusal;
  ErrorKind refusal_kind{};
  std::vector<std::size_t> sends, receives;  // bytes, as in Shape
  std::vector<int> destinations, sources;
};

std::vector<std::size_t> bytes_of(const std::vector<Block>& blocks) {
  std::vector<std::size_t> bytes;
  for (const Block& block : blocks) bytes.push_back(block.bytes);
  return bytes;
}

template <class T>
WireRecord to_bytes(const std::vector<T>& numbers) {
  const auto bytes = std::as_bytes(std::span(numbers));
  return {bytes.begin(), bytes.end()};
}

template <class T>
std::vector<T> numbers_of(std::span<const std::byte> bytes) {
  std::vector<T> numbers(bytes.size() / sizeof(T));
  std::copy(bytes.begin(), bytes.end(), std::as_writable_bytes(std::span(numbers)).begin());
  return numbers;
}

Told read_told(core::LetterReader& letter) {
  Told told;
  told.kind = letter.value<CollectiveKind>();
  told.in_place = letter.value<bool>();
  told.root = letter.value<int>();
  told.element = letter.value<std::size_t>();
  told.count = letter.value<std::size_t>();
  told.reduction = letter.value<transport::Reduction>();
  told.type = letter.value<transport::Element>();
  told.node = letter.value<int>();
  told.on_gpu = letter.value<bool>();
  told.algorithm = letter.text();
  told.refusal = letter.text();
  told.refusal_kind = letter.value<ErrorKind>();
  told.sends = numbers_of<std::size_t>(letter.bytes());
  told.receives = numbers_of<std::size_t>(letter.bytes());
  told.destinations = numbers_of<int>(letter.bytes());
  told.sources = numbers_of<int>(letter.bytes());
  return told;
}

// The differences between two members that no collective allows.
void require_alike(const Told& first, const Told& other, std::size_t rank) {
  const auto differs = [&](const char* what) {
    throw Error(ErrorKind::argument, fmt::format("rank 0 and rank {} differ in {}", rank, what));
  };
  if (other.kind != first.kind)
    throw Error(ErrorKind::argument,
                fmt::format("rank 0 calls {} and rank {} {}: all members make their collectives in "
                            "the same order",
                            name_of(first.kind), rank, name_of(other.kind)));
  if (other.root != first.root) differs("the root");
  if (other.reduction != first.reduction) differs("the operation");
  if (other.type != first.type) differs("the datatype");
  if (other.algorithm != first.algorithm) differs("penstock_algorithm or PENSTOCK_COLL");
  if (other.in_place != first.in_place && first.kind != CollectiveKind::reduce)
    differs("MPI_IN_PLACE");
  if (other.count * other.element != first.count * first.element)
    throw Error(ErrorKind::truncate,
                fmt::format("rank 0 has {} bytes and rank {} {}", first.count * first.element, rank,
                            other.count * other.element));
}

void require_room(std::size_t from, std::size_t to, std::size_t bytes, std::size_t room) {
  if (bytes != room)
    throw Error(ErrorKind::truncate,
                fmt::format("rank {} has {} bytes for rank {}, which has room for {}", from, bytes,
                            to, room));
}

void require_fitting(const std::vector<Told>& told) {
  for (std::size_t from = 0; from < told.size(); ++from)
    for (std::size_t to = 0; to < told.size(); ++to)
      require_room(from, to, told[from].sends[to], told[to].receives[from]);
}

// Bytes of each block from a rank to another, in their order.
using Edges = std::map<std::pair<std::size_t, std::size_t>, std::vector<std::size_t>>;

void require_fitting_edge(std::pair<std::size_t, std::size_t> ranks,
                          const std::vector<std::size_t>& blocks,
                          const std::vector<std::size_t>& rooms) {
  const auto [from, to] = ranks;
  if (blocks.size() != rooms.size())
    throw Error(ErrorKind::argument,
                fmt::format("rank {} has {} blocks for rank {}, which takes {} from it: their "
                            "topologies differ",
                            from, blocks.size(), to, rooms.size()));
  for (std::size_t i = 0; i < blocks.size(); ++i) require_room(from, to, blocks[i], rooms[i]);
}

void require_fitting_edges(const std::vector<Told>& told) {
  Edges sent, received;
  for (std::size_t rank = 0; rank < told.size(); ++rank) {
    const Told& own = told[rank];
    for (std::size_t i = 0; i < own.sends.size(); ++i)
      sent[{rank, own.destinations[i]}].push_back(own.sends[i]);
    for (std::size_t i = 0; i < own.receives.size(); ++i)
      received[{own.sources[i], rank}].push_back(own.receives[i]);
  }
  for (const auto& [ranks, blocks] : sent) require_fitting_edge(ranks, blocks, received[ranks]);
  for (const auto& [ranks, rooms] : received) require_fitting_edge(ranks, sent[ranks], rooms);
}

bool is_of_neighbors(CollectiveKind kind) {
  return kind == CollectiveKind::neighbor_alltoall || kind == CollectiveKind::neighbor_alltoallv;
}

// Nodes count from 0 on, in the order of their first ranks.
void place_ranks(Shape& shape, const std::vector<Told>& told) {
  std::map<int, int> number;
  std::vector<int> members;
  shape.node.clear();
  shape.index.clear();
  for (const Told& each : told) {
    const int node = number.emplace(each.node, static_cast<int>(number.size())).first->second;
    if (static_cast<std::size_t>(node) == members.size()) members.push_back(0);
    shape.node.push_back(node);
    shape.index.push_back(members[static_cast<std::size_t>(node)]++);
  }
}

void require_all_fitting(const std::vector<Told>& told) {
  for (std::size_t rank = 0; rank < told.size(); ++rank) {
    if (!told[rank].refusal.empty())
      throw Error(told[rank].refusal_kind, fmt::format("rank {}: {}", rank, told[rank].refusal));
    require_alike(told.front(), told[rank], rank);
  }
  const CollectiveKind kind = told.front().kind;
  if (kind == CollectiveKind::alltoallv) require_fitting(told);
  if (is_of_neighbors(kind)) require_fitting_edges(told);
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
          .is_fastest_directly = is_fastest};
}

Selection select(const Situation& situation, const std::string& forced) {
  if (!forced.empty()) return select(situation, forced, "");
  const TuningKey key = tuning_key(situation.collective, situation.on_gpu, situation.shape);
  return select(situation, "", tuning_of_library().wish(key));
}

WireRecord choice_of(const Selection& selection, const std::vector<DirectTold>& direct) {
  core::LetterWriter letter;
  if (selection.algorithm == nullptr) {
    write_direct(direct, letter);
    return letter.take();
  }
  const Shape& shape = selection.shape;
  letter.text(selection.algorithm->name);
  letter.value(shape.group).value(shape.leader).value(shape.batch);
  letter.bytes(std::as_bytes(std::span(shape.node)));
  letter.bytes(std::as_bytes(std::span(shape.index)));
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

// Messages serve in the place of a direct exchange, and nothing in theirs.
void require_other(CollectiveKind kind, const core::FailedChoice& failed) {
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
  letter.value(arguments_.kind).value(arguments_.in_place).value(arguments_.root);
  letter.value(arguments_.element).value(arguments_.count);
  letter.value(arguments_.combination.reduction).value(arguments_.combination.element);
  letter.value(arguments_.node).value(arguments_.gpu >= 0).text(arguments_.algorithm);
  letter.text(arguments_.refusal).value(arguments_.refusal_kind);
  letter.bytes(to_bytes(bytes_of(arguments_.sends)));
  letter.bytes(to_bytes(bytes_of(arguments_.receives)));
  letter.bytes(to_bytes(arguments_.destinations)).bytes(to_bytes(arguments_.sources));
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
  if (failed != nullptr) require_other(arguments_.kind, *failed);
  std::vector<Told> told;
  std::vector<DirectTold> direct;
  for (const WireRecord& record : records) {
    core::LetterReader letter(record);
    told.push_back(read_told(letter));
    direct.push_back(read_direct(letter));
  }
  try {
    require_all_fitting(told);
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
  Shape shape = call_.shape();
  shape.group = letter.value<int>();
  shape.leader = letter.value<int>();
  shape.batch = letter.value<int>();
  shape.node = numbers_of<int>(letter.bytes());
  shape.index = numbers_of<int>(letter.bytes());
  return std::make_unique<Part>(coll::choose(arguments_.kind, name, shape).algorithm, shape,
                                call_.rank(), arguments_);
}

}  // namespace penstock::coll
