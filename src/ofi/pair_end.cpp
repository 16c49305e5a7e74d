// SPDX-License-Identifier: Apache-2.0
#include "ofi/pair_end.hpp"

#include <fmt/format.h>
#include <rdma/fi_errno.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace penstock::ofi {

using base::Error;
using base::ErrorKind;

namespace {

// An operation that has met with a full queue fires at the next event of its counter: now and then
// we make one.
constexpr std::uint64_t polls_between_pokes = 64;

void count(const Counter& counter, std::int64_t amount) noexcept {
  fi_cntr_add(counter.get(), static_cast<std::uint64_t>(amount));
}

}  // namespace

// ---- At match

PairEnd::PairEnd(Common& common, const transport::Message& message, protocol::Mode send_mode,
                 const Shape& form, fi_addr_t peer_address)
    : direction(message.direction),
      mode(send_mode),
      peer(message.peer),
      buffer(message.buffer),
      shape(form),
      common_(common),
      peer_address_(peer_address),
      words_(common.words.take()) {
  try {
    allocate(message);
  } catch (...) {
    common_.words.give(words_);
    throw;
  }
}

PairEnd::~PairEnd() {
  // Regions before the counters that they are bound to.
  landing_.close();
  cts_.close();
  // Words that a peer may still write serve nobody else: they are lost, which happens after
  // failures alone.
  if (!reachable_ || over()) common_.words.give(words_);
}

void PairEnd::allocate(const transport::Message& message) {
  Fabric& fabric = common_.fabric;
  if (sends() || rendezvous()) {
    trigger_ = fabric.counter();
    doorbell_ = make_doorbell(*trigger_, doorbell_word_);
  }
  data_ = fabric.counter();
  if (common_.signals) signals_ = fabric.counter();
  if (rendezvous() && !sends()) cts_ends_ = fabric.counter();
  Words& words = *words_.words;
  const std::size_t ring_bytes = shape.slots * shape.slot_bytes();
  const std::optional<int> gpu =
      message.memory == device::MemoryKind::host ? std::nullopt : std::optional(message.gpu);
  if (buffered() || (!sends() && shape.protocol == Protocol::ring)) {
    if (gpu) throw Error(ErrorKind::unsupported, "what waits in slots is copied by the processor");
    staging_ = std::make_unique_for_overwrite<std::byte[]>(ring_bytes);
  }
  if (sends()) {
    hand_ = std::make_unique<RdmaOperation[]>(shape.parts);
    for (unsigned part = 0; part < shape.parts; ++part)
      hand_[part].belong_to(*this, RdmaOperation::Role::data);
    if (rendezvous()) cts_ = Region(fabric, &words.cts, sizeof(words.cts), trigger_.get());
    if ((fabric.has(FI_MR_LOCAL) || gpu) && shape.bytes > 0)
      source_ = buffered() ? Region(fabric, staging_.get(), ring_bytes)
                           : Region(fabric, message.buffer, shape.bytes, nullptr, gpu);
  } else if (staging_) {
    landing_ = Region(fabric, staging_.get(), ring_bytes, data_.get());
  } else if (shape.bytes > 0) {
    landing_ = Region(fabric, message.buffer, shape.bytes, data_.get(), gpu);
  } else {
    landing_ = Region(fabric, &words.nothing, 1, data_.get());
  }
  using enum RdmaOperation::Role;
  cts_operation_.belong_to(*this, cts);
  credit_query_.belong_to(*this, credit_query);
  notice_operation_.belong_to(*this, notice);
  if (sends() || !staging_) return;
  credit_operations_ = std::make_unique<RdmaOperation[]>(shape.slots);
  for (unsigned i = 0; i < shape.slots; ++i) credit_operations_[i].belong_to(*this, credit);
}

OfferRecord PairEnd::offer() const {
  const Words& words = *words_.words;
  OfferRecord record;
  record.shape = shape;
  record.words = {words_.region->address(&words), words_.region->key()};
  if (cts_) record.cts = {cts_.address(&words.cts), cts_.key()};
  return record;
}

AnswerRecord PairEnd::answer() const {
  const void* const landing = staging_          ? static_cast<const void*>(staging_.get())
                              : shape.bytes > 0 ? buffer
                                                : static_cast<const void*>(&words_.words->nothing);
  AnswerRecord record;
  record.words = {words_.region->address(words_.words), words_.region->key()};
  record.landing = {landing_.address(landing), landing_.key()};
  return record;
}

void PairEnd::connect(const OfferRecord& sender) noexcept {
  peer_words_ = sender.words;
  peer_cts_ = sender.cts;
  reachable_ = true;  // by what answer() says
}

void PairEnd::connect(const AnswerRecord& receiver) noexcept {
  peer_words_ = receiver.words;
  peer_landing_ = receiver.landing;
  reachable_ = true;
}

// ---- On the worker

void PairEnd::fill(protocol::Epoch epoch) noexcept {
  if (shape.bytes > 0)
    std::memcpy(staging_.get() + epoch % shape.slots * shape.slot_bytes(), buffer, shape.bytes);
}

void PairEnd::take_out(protocol::Epoch epoch) noexcept {
  if (shape.bytes > 0)
    std::memcpy(buffer, staging_.get() + epoch % shape.slots * shape.slot_bytes(), shape.bytes);
  store(words_.words->taken, epoch);
}

std::optional<Error> PairEnd::broken(protocol::Epoch epoch) const {
  // What the peer has done explains what the network says.
  if (closed_before(epoch)) {
    const auto reason = static_cast<ErrorKind>(closing_reason(load(words().closed)));
    if (reason == ErrorKind::ready)
      return Error(ErrorKind::ready,
                   "a ready send was started before its receive, as the receiver has seen: use a "
                   "standard send, or order "
                   "the start");
    if (reason == ErrorKind::peer_freed)
      return Error(
          ErrorKind::peer_freed,
          fmt::format("rank {} has freed its half of the pair, or has called MPI_Finalize", peer));
    return Error(ErrorKind::peer_freed,
                 fmt::format("rank {} has given up its half of the pair after an error", peer));
  }
  if (const Error* error = failure_.load(std::memory_order_acquire)) return *error;
  return std::nullopt;
}

// ---- Where things are

Source PairEnd::source(protocol::Epoch epoch, unsigned part) const noexcept {
  if (shape.bytes == 0) return {&words_.words->nothing, 1, words_.region->descriptor()};
  const auto* memory = static_cast<const std::byte*>(buffer);
  if (buffered()) memory = staging_.get() + epoch % shape.slots * shape.slot_bytes();
  const std::uint64_t from = part * shape.part_bytes;
  return {memory + from, std::min(shape.part_bytes, shape.bytes - from), source_.descriptor()};
}

Target PairEnd::target(protocol::Epoch epoch, unsigned part) const noexcept {
  std::uint64_t address = peer_landing_.address + part * shape.part_bytes;
  if (shape.protocol == Protocol::ring) address += epoch % shape.slots * shape.slot_bytes();
  return {peer_address_, address, peer_landing_.key};
}

Target PairEnd::own_word(const std::uint64_t& word) const noexcept {
  return {common_.self, words_.region->address(&word), words_.region->key()};
}

Target PairEnd::remote_word(std::size_t offset) const noexcept {
  return {peer_address_, peer_words_.address + offset, peer_words_.key};
}

// ---- Progress

bool PairEnd::ready_for_next() const noexcept {
  return !given_up_ && carrying_ == 0 && rung_ < started.load(std::memory_order_acquire) &&
         complete(rung_);
}

bool PairEnd::advance() noexcept {
  bool moved = false;
  if (!given_up_) {
    moved = carry_out();
    if (poll_counters()) moved = true;
    while (ready_for_next()) {
      take_doorbell();
      hand_on_doorbell();
      moved = true;
      carry_out();
      poll_counters();
    }
    poke();
  }
  if (given_up_ ? forget_posted() : free_entries()) moved = true;
  if (give_credits()) moved = true;
  if (send_notice()) moved = true;
  return moved;
}

void PairEnd::take_doorbell() noexcept {
  rewind();
  const protocol::Epoch epoch = ++rung_;
  if (posted_ < epoch) {
    posted_ = epoch;
    part_ = {};
  }
  if (posted_ == epoch && !whole(part_)) {
    carrying_ = epoch;
    carried_ = part_;
    fired_ = counted_placed_ = false;
    issued_ = part_.parts;
    placed_ = 0;
    cts_owed_ = !sends() && rendezvous() && !part_.cts;
    taken_over = true;
  }
}

void PairEnd::hand_on_doorbell() noexcept {
  if (!doorbell_) return;
  if (!stream_rings()) doorbell_->ring(1);
  if (const int code = doorbell_->relay(); code < 0)
    fail(common_.fabric.error("fi_cntr_add", code));
}

// Long before a threshold would pass what a counter can hold, all counters go back, while the
// provider has nothing that waits for them. What a peer has counted already stays counted.
void PairEnd::rewind() noexcept {
  const std::uint64_t epochs = relative(rung_);
  if ((epochs + 1) * std::max<std::uint64_t>(2, shape.parts) < common_.counter_limit || !quiet())
    return;
  const auto amount = static_cast<std::int64_t>(epochs);
  if (trigger_) count(trigger_, -amount * static_cast<std::int64_t>(steps()));
  count(data_, -amount * shape.parts);
  if (signals_) count(signals_, -static_cast<std::int64_t>(std::exchange(signals_posted_, 0)));
  if (cts_ends_) count(cts_ends_, -static_cast<std::int64_t>(std::exchange(cts_posted_, 0)));
  base_ = rung_;
}

bool PairEnd::quiet() const noexcept {
  return first_posted_ == nullptr && carrying_ == 0 && posted_ <= rung_ && complete(rung_);
}

// What the provider has not been given in time.
bool PairEnd::carry_out() noexcept {
  if (carrying_ == 0) return false;
  bool moved = false;
  if (!fired_) {
    if (trigger_ && read(trigger_) < steps() * relative(carrying_)) return false;
    fired_ = moved = true;
  }
  if (sends()) {
    if (issue_parts()) moved = true;
    const unsigned ours = shape.parts - carried_.parts;
    if (placed_ < ours) return moved;
    if (!std::exchange(counted_placed_, true)) count(data_, ours);
  } else if (send_cts()) {
    moved = true;
  }
  if (cts_owed_ || read(data_) < shape.parts * relative(carrying_)) return moved;
  if (common_.signals && !carried_.signal) {
    // The provider may still owe the signal of the epoch before.
    std::uint64_t& done = words_.words->done;
    if (load(done) != carrying_ - 1) return moved;
    store(done, carrying_);
  }
  carrying_ = 0;
  return true;
}

bool PairEnd::issue_parts() noexcept {
  bool moved = false;
  while (issued_ < shape.parts) {
    RdmaOperation& operation = hand_[issued_];
    operation.epoch = carrying_;
    operation.make_write(common_.fabric.endpoint(), source(carrying_, issued_),
                         target(carrying_, issued_));
    const ssize_t code = operation.issue(true, false);
    if (code == -FI_EAGAIN) break;
    if (code != 0) {
      fail(common_.fabric.error("fi_writemsg", code));
      break;
    }
    ++issued_;
    moved = true;
  }
  return moved;
}

bool PairEnd::send_cts() noexcept {
  if (!cts_owed_ || cts_operation_.under_way) return false;
  cts_operation_.make_addition(common_.fabric.endpoint(), common_.one,
                               {peer_address_, peer_cts_.address, peer_cts_.key});
  const ssize_t code = cts_operation_.issue(true, true);
  if (code == -FI_EAGAIN) return false;
  if (code != 0) fail(common_.fabric.error("fi_atomicmsg", code));
  cts_operation_.under_way = code == 0;
  cts_owed_ = false;
  return true;
}

// The counters tell earlier than a signal, which is one operation more.
bool PairEnd::poll_counters() noexcept {
  if (complete(rung_) || read(data_) < shape.parts * relative(rung_)) return false;
  counted_.store(rung_, std::memory_order_release);
  return true;
}

bool PairEnd::arrived(protocol::Epoch epoch) const noexcept {
  return read(data_) >= shape.parts * relative(epoch);
}

void PairEnd::poke() noexcept {
  if (complete(rung_) && first_posted_ == nullptr) {
    polls_ = 0;
  } else if (++polls_ % polls_between_pokes == 0) {
    if (trigger_) count(trigger_, 0);
    count(data_, 0);
  }
}

// Also after a failure: what has been taken before may be what a wait of the sender stands for.
bool PairEnd::give_credits() noexcept {
  const protocol::Epoch taken = load(words().taken);
  bool moved = false;
  while (credits_.owed(taken)) {
    RdmaOperation& operation = credit_operations_[credits_.given % shape.slots];
    if (operation.under_way) break;
    operation.make_addition(common_.fabric.endpoint(), common_.one,
                            remote_word(offsetof(Words, consumed)));
    const ssize_t code = operation.issue(true, true);
    if (code == -FI_EAGAIN) break;
    moved = true;
    if (code != 0) {
      credits_.refused = true;
      fail(common_.fabric.error("fi_atomicmsg", code));
      break;
    }
    operation.under_way = true;
    ++credits_.given;
  }
  return moved;
}

bool PairEnd::query_credits() noexcept {
  // An earlier one, whose answer may be older than what the program knows.
  if (credit_query_.under_way) return false;
  const Source landing{&words_.words->seen, sizeof(std::uint64_t), words_.region->descriptor()};
  credit_query_.make_read(common_.fabric.endpoint(), landing, remote_word(offsetof(Words, taken)));
  const ssize_t code = credit_query_.issue(true, false);
  if (code == -FI_EAGAIN) return false;
  if (code != 0) fail(common_.fabric.error("fi_readmsg", code));
  credit_query_.under_way = code == 0;
  return code == 0;
}

bool PairEnd::has_work() const noexcept {
  if (notice_owed_) return true;
  if (given_up_) return !forgotten_;
  if (first_posted_ != nullptr) return true;
  return carrying_ != 0 || rung_ < started.load(std::memory_order_acquire) || !complete(rung_) ||
         credits_.owed(load(words().taken));
}

// ---- What the completion queue reports

void PairEnd::ended(RdmaOperation& operation) noexcept {
  operation.under_way = false;
  if (operation.role == RdmaOperation::Role::data) ++placed_;
}

void PairEnd::failed(RdmaOperation& operation, Error error) noexcept {
  using enum RdmaOperation::Role;
  operation.under_way = false;
  if (operation.role == notice) return;  // to a process that is gone
  // Counted as given, and may never come: then the peer's words serve nobody else.
  if (operation.role == credit) credits_.refused = true;
  const bool counted = operation.role == data || operation.role == signal || operation.role == cts;
  if (counted && &operation != &cts_operation_) ++lost_;
  fail(std::move(error));
}

void PairEnd::fail(Error error) noexcept {
  if (failure_text_) return;
  failure_text_ = std::move(error);
  failure_.store(&*failure_text_, std::memory_order_release);
}

}  // namespace penstock::ofi
