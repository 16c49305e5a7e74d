// SPDX-License-Identifier: Apache-2.0
#include "coll/direct.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "coll/selection.hpp"
#include "device/gpu.hpp"

namespace penstock::coll {

using transport::GroupBlock;
using transport::GroupMessage;
using transport::GroupWay;

namespace {

// What goes to a member, and what comes from it; as Shape has the lengths.
GroupBlock block_with(std::size_t member, const Arguments& of) {
  const std::size_t bytes = of.count * of.element;
  const std::size_t me = static_cast<std::size_t>(of.communicator->rank);
  std::byte* const output = of.memory.output;
  const std::byte* const input = of.in_place ? output : of.memory.input;
  switch (of.kind) {
    case CollectiveKind::allreduce:
      return {input, bytes, output, bytes};
    case CollectiveKind::reduce_scatter_block:
      return {input + member * bytes, bytes, output, bytes};
    case CollectiveKind::allgather:
      return {of.in_place ? output + me * bytes : input, bytes, output + member * bytes, bytes};
    case CollectiveKind::alltoall:
      return {input + member * bytes, bytes, output + member * bytes, bytes};
    case CollectiveKind::alltoallv: {
      const Block &send = of.sends[member], &receive = of.receives[member];
      return {input + send.offset, send.bytes, output + receive.offset, receive.bytes};
    }
    default:
      return {};  // a barrier brings nothing
  }
}

GroupWay way_of(std::string_view name) noexcept {
  if (name == "put-lock") return GroupWay::put_lock;
  return name == "put-fence" ? GroupWay::put_fence : GroupWay::slots;
}

GroupMessage message_of(const Arguments& arguments, std::string_view name) {
  GroupMessage message;
  message.way = way_of(name);
  message.in_place = arguments.in_place;
  message.members = arguments.members;
  message.me = static_cast<std::size_t>(arguments.communicator->rank);
  message.gpu = arguments.gpu;
  if (message.gpu >= 0) message.memory = transport::MemoryKind::cuda;
  for (std::size_t member = 0; member < arguments.members.size(); ++member)
    message.blocks.push_back(block_with(member, arguments));
  if (arguments.kind == CollectiveKind::allreduce ||
      arguments.kind == CollectiveKind::reduce_scatter_block)
    message.combination = arguments.combination;
  return message;
}

// Of a collective that goes directly: nothing is matched.
class DirectPart final : public core::CollectivePart {
 public:
  DirectPart(std::string algorithm, std::string transport, std::unique_ptr<transport::Plan> plan)
      : algorithm_(std::move(algorithm)),
        transport_(std::move(transport)),
        plan_(std::move(plan)) {}

  const std::vector<core::CollectiveMessage>& messages() const noexcept override { return none_; }
  std::string algorithm() const override { return algorithm_; }
  std::string transport() const override { return transport_; }
  std::unique_ptr<transport::Plan> make_plan(
      std::vector<std::unique_ptr<transport::Plan>>&& /*ends*/) override {
    return std::move(plan_);
  }
  void close() noexcept override {
    if (plan_) plan_->close();
  }

 private:
  const std::vector<core::CollectiveMessage> none_;
  const std::string algorithm_, transport_;
  std::unique_ptr<transport::Plan> plan_;
};

// What may be offered; empty: nothing. What a file names takes the place of the default.
std::string_view name_to_offer(const Arguments& arguments) noexcept {
  const auto names = direct_names(arguments.kind);
  if (!arguments.algorithm.empty())
    return is_direct(arguments.kind, arguments.algorithm) ? arguments.algorithm
                                                          : std::string_view();
  if (!arguments.tuned_direct.empty()) return arguments.tuned_direct;
  return names.empty() ? std::string_view() : names.front();
}

// Without memory, as in a barrier, a member does not say on whose queues it will be. Messages go on
// both kinds.
bool has_place(const Arguments& arguments) {
  const Memory& memory = arguments.memory;
  return memory.input != nullptr || memory.output != nullptr || !device::gpus_in_use();
}

// All that a member stores, or all that comes to it.
std::size_t exchanged(const GroupMessage& message) {
  std::size_t stored = 0, taken = 0;
  for (std::size_t member = 0; member < message.blocks.size(); ++member) {
    if (member == message.me) continue;
    stored += message.blocks[member].bytes_to;
    taken += message.blocks[member].bytes_from;
  }
  return std::max(stored, taken);
}

bool is_fastest(const GroupMessage& message, const core::Transports& transports) {
  if (message.way != GroupWay::slots) return false;
  for (const core::Transports::Entry& entry : transports.entries())
    if (entry.allowed && entry.transport->can_serve_group(message).yes)
      return exchanged(message) <= entry.transport->fastest_directly(message);
  return false;
}

}  // namespace

DirectTold read_direct_told(core::LetterReader& letter) {
  DirectTold told{letter.text(), letter.text(), letter.text(), letter.value<bool>(), {}};
  const auto record = letter.bytes();
  told.record.assign(record.begin(), record.end());
  return told;
}

base::Verdict can_connect(const std::vector<DirectTold>& told, const core::Transports& transports) {
  std::vector<transport::WireRecord> records;
  for (std::size_t rank = 0; rank < told.size(); ++rank) {
    if (told[rank].transport.empty())
      return base::refused(fmt::format("rank {}: {}", rank, told[rank].why_not));
    if (told[rank].name != told.front().name)
      return base::refused(
          fmt::format("rank 0 offers {} and rank {} {}", told.front().name, rank, told[rank].name));
    if (told[rank].transport != told.front().transport)
      return base::refused(fmt::format("rank 0 offers it by {} and rank {} by {}",
                                       told.front().transport, rank, told[rank].transport));
    records.push_back(told[rank].record);
  }
  for (const core::Transports::Entry& entry : transports.entries())
    if (entry.transport->name() == told.front().transport)
      if (auto verdict = entry.transport->can_connect_group(records); !verdict.yes) return verdict;
  return base::accepted();
}

void write_direct_choice(const std::vector<DirectTold>& told, core::LetterWriter& choice) {
  choice.text(told.front().name);
  for (const DirectTold& each : told) choice.bytes(each.record);
}

DirectOffer::DirectOffer(const Arguments& arguments, const core::Transports& transports)
    : members_(arguments.members.size()), name_(name_to_offer(arguments)) {
  if (!arguments.refusal.empty() || name_.empty()) return;
  const GroupMessage message = message_of(arguments, name_);
  is_fastest_ = is_fastest(message, transports);
  if (arguments.algorithm.empty() && arguments.tuned_direct.empty() && !is_fastest_) {
    why_not_ = "it is not offered, as others are expected to be faster";
    return;
  }
  if (!has_place(arguments)) {
    why_not_ = "it has no memory, and may be on queues of the host or of a GPU";
    return;
  }
  for (const core::Transports::Entry& entry : transports.entries())
    if (!offer_) open(message, entry);
}

void DirectOffer::open(const GroupMessage& message, const core::Transports::Entry& entry) {
  const std::string name = entry.transport->name();
  try {
    const auto verdict = entry.allowed ? entry.transport->can_serve_group(message)
                                       : base::refused("not in PENSTOCK_TRANSPORT");
    if (!verdict.yes) throw base::Error(verdict.kind, verdict.why);
    offer_ = entry.transport->open_group(message);
    transport_ = name;
  } catch (const std::exception& failure) {
    why_not_ += fmt::format("{}{}: {}", why_not_.empty() ? "" : "; ", name, failure.what());
  }
}

void DirectOffer::tell(core::LetterWriter& letter) const {
  letter.text(name_).text(transport_).text(why_not_).value(is_fastest_);
  letter.bytes(offer_ ? offer_->record() : transport::WireRecord());
}

void DirectOffer::drop() noexcept {
  offer_.reset();
}

std::unique_ptr<core::CollectivePart> DirectOffer::connect(core::LetterReader& choice) {
  std::vector<transport::WireRecord> records;
  for (std::size_t member = 0; member < members_; ++member) {
    const auto record = choice.bytes();
    records.emplace_back(record.begin(), record.end());
  }
  return std::make_unique<DirectPart>(name_, transport_, offer_->connect(records));
}

}  // namespace penstock::coll
