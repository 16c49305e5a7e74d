// SPDX-License-Identifier: Apache-2.0
#include "ofi/pair_memory.hpp"

#include <algorithm>
#include <optional>

namespace penstock::ofi {

using base::Error;
using base::ErrorKind;

PairMemory::PairMemory(Fabric& fabric, EndWords& words, const transport::Message& message,
                       const Cut& cut, bool buffered, const PairCounters& counters)
    : words_(words),
      cut_(cut),
      packed_(message, cut.bytes),
      sends_(message.direction == transport::Direction::send),
      buffered_(buffered) {
  register_memory(fabric, message, counters);
}

void PairMemory::register_memory(Fabric& fabric, const transport::Message& message,
                                 const PairCounters& counters) {
  const std::size_t ring_bytes = cut_.slots * cut_.slot_bytes();
  const std::optional<int> gpu =
      message.memory == device::MemoryKind::host ? std::nullopt : std::optional(message.gpu);
  if (buffered_ || (!sends_ && cut_.path == Path::ring)) {
    if (gpu) throw Error(ErrorKind::unsupported, "what waits in slots is copied by the processor");
    slots_ = std::make_unique_for_overwrite<std::byte[]>(ring_bytes);
  } else {
    place_ = packed_.room();
  }
  if (sends_) {
    if (cut_.path == Path::rendezvous)
      cts_ = Region(fabric, &words_->cts, sizeof words_->cts, counters.trigger.get());
    if ((fabric.has(FI_MR_LOCAL) || gpu) && cut_.bytes > 0)
      source_ = buffered_ ? Region(fabric, slots_.get(), ring_bytes)
                          : Region(fabric, place_, cut_.bytes, nullptr, gpu);
  } else if (slots_) {
    landing_ = Region(fabric, slots_.get(), ring_bytes, counters.data.get());
  } else if (cut_.bytes > 0) {
    landing_ = Region(fabric, place_, cut_.bytes, counters.data.get(), gpu);
  } else {
    landing_ = Region(fabric, &words_->nothing, 1, counters.data.get());
  }
}

void PairMemory::close_regions() noexcept {
  landing_.close();
  cts_.close();
}

// ---- What the two ends tell each other

OfferRecord PairMemory::offer() const {
  OfferRecord record;
  record.cut = cut_;
  record.words = words_.address();
  if (cts_) record.cts = cts_.at(&words_->cts);
  return record;
}

AnswerRecord PairMemory::answer() const {
  const void* const landing = slots_           ? static_cast<const void*>(slots_.get())
                              : cut_.bytes > 0 ? place_
                                               : static_cast<const void*>(&words_->nothing);
  AnswerRecord record;
  record.words = words_.address();
  record.landing = landing_.at(landing);
  return record;
}

void PairMemory::connect(const OfferRecord& sender) noexcept {
  words_.connect(sender.words);
  peer_cts_ = sender.cts;
}

void PairMemory::connect(const AnswerRecord& receiver) noexcept {
  words_.connect(receiver.words);
  peer_landing_ = receiver.landing;
}

// ---- Slots

void PairMemory::fill_slot(protocol::Epoch epoch) noexcept {
  packed_.pack(slot(epoch));
}

void PairMemory::empty_slot(protocol::Epoch epoch) noexcept {
  packed_.unpack(slot(epoch));
  store(words_->taken, epoch);
}

// ---- Where things are

Source PairMemory::source(protocol::Epoch epoch, unsigned part) const noexcept {
  if (cut_.bytes == 0) return words_.local(words_->nothing, 1);
  const auto* memory = buffered_ ? slot(epoch) : place_;
  const std::uint64_t from = part * cut_.part_bytes;
  return {memory + from, std::min(cut_.part_bytes, cut_.bytes - from), source_.descriptor()};
}

Target PairMemory::target(protocol::Epoch epoch, unsigned part) const noexcept {
  std::uint64_t address = peer_landing_.address + part * cut_.part_bytes;
  if (cut_.path == Path::ring) address += epoch % cut_.slots * cut_.slot_bytes();
  return {words_.peer(), address, peer_landing_.key};
}

}  // namespace penstock::ofi
