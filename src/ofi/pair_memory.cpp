// SPDX-License-Identifier: Apache-2.0
#include "ofi/pair_memory.hpp"

#include <algorithm>
#include <optional>

namespace penstock::ofi {

using base::Error;
using base::ErrorKind;

PairMemory::PairMemory(const Owner& owner, const transport::Message& message, const Cut& cut,
                       bool buffered, const PairCounters& counters)
    : owner_(owner),
      cut_(cut),
      packed_(message, cut.bytes),
      sends_(message.direction == transport::Direction::send),
      buffered_(buffered),
      words_(owner.words.take()) {
  try {
    register_memory(message, counters);
  } catch (...) {
    owner_.words.give(words_);
    throw;
  }
}

PairMemory::~PairMemory() {
  close_regions();
  if (!may_be_written_) owner_.words.give(words_);
}

void PairMemory::register_memory(const transport::Message& message, const PairCounters& counters) {
  Fabric& fabric = owner_.fabric;
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
      cts_ = Region(fabric, &words().cts, sizeof(words().cts), counters.trigger.get());
    if ((fabric.has(FI_MR_LOCAL) || gpu) && cut_.bytes > 0)
      source_ = buffered_ ? Region(fabric, slots_.get(), ring_bytes)
                          : Region(fabric, place_, cut_.bytes, nullptr, gpu);
  } else if (slots_) {
    landing_ = Region(fabric, slots_.get(), ring_bytes, counters.data.get());
  } else if (cut_.bytes > 0) {
    landing_ = Region(fabric, place_, cut_.bytes, counters.data.get(), gpu);
  } else {
    landing_ = Region(fabric, &words().nothing, 1, counters.data.get());
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
  record.words = words_.region->at(&words());
  if (cts_) record.cts = cts_.at(&words().cts);
  return record;
}

AnswerRecord PairMemory::answer() const {
  const void* const landing = slots_           ? static_cast<const void*>(slots_.get())
                              : cut_.bytes > 0 ? place_
                                               : static_cast<const void*>(&words().nothing);
  AnswerRecord record;
  record.words = words_.region->at(&words());
  record.landing = landing_.at(landing);
  return record;
}

void PairMemory::connect(const OfferRecord& sender) noexcept {
  peer_words_ = sender.words;
  peer_cts_ = sender.cts;
  may_be_written_ = true;  // by what answer() says
}

void PairMemory::connect(const AnswerRecord& receiver) noexcept {
  peer_words_ = receiver.words;
  peer_landing_ = receiver.landing;
  may_be_written_ = true;
}

// ---- Slots

void PairMemory::fill_slot(protocol::Epoch epoch) noexcept {
  packed_.pack(slot(epoch));
}

void PairMemory::empty_slot(protocol::Epoch epoch) noexcept {
  packed_.unpack(slot(epoch));
  store(words().taken, epoch);
}

// ---- Where things are

Source PairMemory::source(protocol::Epoch epoch, unsigned part) const noexcept {
  if (cut_.bytes == 0) return {&words().nothing, 1, words_.region->descriptor()};
  const auto* memory = buffered_ ? slot(epoch) : place_;
  const std::uint64_t from = part * cut_.part_bytes;
  return {memory + from, std::min(cut_.part_bytes, cut_.bytes - from), source_.descriptor()};
}

Target PairMemory::target(protocol::Epoch epoch, unsigned part) const noexcept {
  std::uint64_t address = peer_landing_.address + part * cut_.part_bytes;
  if (cut_.path == Path::ring) address += epoch % cut_.slots * cut_.slot_bytes();
  return {owner_.peer, address, peer_landing_.key};
}

Target PairMemory::own_word(const std::uint64_t& word) const noexcept {
  return {owner_.self, words_.region->address(&word), words_.region->key()};
}

Target PairMemory::remote_word(std::size_t offset) const noexcept {
  return {owner_.peer, peer_words_.address + offset, peer_words_.key};
}

}  // namespace penstock::ofi
