// SPDX-License-Identifier: Apache-2.0
#include "ofi/window_origin.hpp"

#include <fmt/format.h>

#include <limits>

namespace penstock::ofi {

using Role = RdmaOperation::Role;
using transport::Operation;
using transport::Verb;

WindowOrigin::WindowOrigin(Common& common, int its_peer, fi_addr_t peer_address)
    : End(common, {.triggered = true, .signals = true, .adds = true, .waits_for_peer = true},
          transport::Direction::send, its_peer, peer_address),
      posts_(common.fabric, &words_->cts, sizeof words_->cts, counters_.trigger.get()),
      pieces_(common.fabric.largest_write()) {
  hand_.parts = operations(pieces_at_once, Role::data);
  for (RdmaOperation* operation : {&page_.write, &page_.told})
    operation->belong_to(*this, Role::page);
}

WindowOrigin::~WindowOrigin() {
  if (over()) words_.are_free();
}

OriginRecord WindowOrigin::record() noexcept {
  words_.have_been_told();
  return {words_.address(), posts_.at(&words_->cts)};
}

void WindowOrigin::connect(const TargetRecord& target, transport::OperationLists& lists) {
  if (target.page_bytes > 0)
    page_.memory = std::make_unique_for_overwrite<std::byte[]>(target.page_bytes);
  words_.connect(target.words);
  target_ = target;
  lists_ = &lists;
}

std::string WindowOrigin::path() const {
  return fmt::format("ofi (window over {})", common_.fabric.provider());
}

std::string WindowOrigin::describe() const {
  const protocol::Epoch epoch = started();
  const protocol::Epoch posts = load(words().cts);
  if (posts < epoch)
    return fmt::format("epoch {}, waits for the target's post (it has posted {} epochs)", epoch,
                       posts);
  return fmt::format("epoch {}, waits for the network ({}) to move the operations", epoch,
                     common_.fabric.provider());
}

// ---- The lists, each of which is looked at once: as soon as it may be posted, or when its epoch
// begins

void WindowOrigin::look() noexcept {
  ++looked_;
  const transport::Operations& list = lists_->ahead().operations;
  pieces_.begin(list);
  accumulates_.begin(list);
  through(looked_) = through(looked_ - 1) + pieces_.left();
}

// Not behind an epoch that is posted in part: what is left of it is still to be issued.
void WindowOrigin::look_ahead() noexcept {
  const bool has_next = looked_ > posted_.epoch;
  const bool is_free = posted_.epoch <= rung_ || is_whole(posted_.part);
  if (!has_next && is_free && !seat.closing && has_issued_all() && !hand_.under_way() &&
      !stopped_.now && is_armed(looked_ + 1))
    look();
}

// What the provider has been given it knows by itself, so that the lists before this one are used
// no more.
void WindowOrigin::begin_epoch(protocol::Epoch epoch) noexcept {
  if (looked_ < epoch) look();
  lists_->next();
}

// ---- What the provider is given ahead

// Accumulates are copied when the complete runs, which is when their buffers are read.
unsigned WindowOrigin::entries() const noexcept {
  const protocol::Epoch epoch = posted_.epoch + 1;
  if (looked_ < epoch || !accumulates_.done() || hand_.under_way() || !may_post_next() ||
      data_through(epoch) >= common_.counter_limit)
    return 0;
  const std::uint64_t all = pieces_.left() + (counters_.signals ? 2 : 1);
  return static_cast<unsigned>(std::min<std::uint64_t>(all, std::numeric_limits<unsigned>::max()));
}

unsigned WindowOrigin::post() noexcept {
  const protocol::Epoch epoch = posted_.epoch + 1;
  const bool moves = !pieces_.done();
  PostedPart part;
  for (; !pieces_.done() && defer_piece(epoch); pieces_.next()) ++part.parts;
  if (pieces_.done()) {
    const Counter& last = moves ? counters_.data : counters_.trigger;
    const std::uint64_t threshold = moves ? data_through(epoch) : fires_at(epoch);
    part.addition = defer_addition(epoch, last, threshold);
    part.signal = part.addition && counters_.signals && defer_signal(epoch, last, threshold);
  }
  const unsigned taken = part.parts + (part.addition ? 1 : 0) + (part.signal ? 1 : 0);
  if (taken == 0) return 0;
  posted_.epoch = epoch;
  posted_.part = part;
  look_ahead();
  return taken;
}

void WindowOrigin::make(RdmaOperation& operation, const Operation& piece) noexcept {
  const Source ours{piece.origin, piece.bytes, nullptr};
  const Target place{words_.peer(), target_.window.address + piece.displacement,
                     target_.window.key};
  if (piece.verb == Verb::get)
    operation.make_read(common_.fabric.endpoint(), ours, place);
  else
    operation.make_visible_write(common_.fabric.endpoint(), ours, place);
}

bool WindowOrigin::defer_piece(protocol::Epoch epoch) noexcept {
  RdmaOperation* const operation = take_operation(epoch, Role::data);
  if (operation == nullptr) return false;
  operation->number = data_through(epoch);
  make(*operation, pieces_.piece());
  return defer(operation, counters_.trigger, fires_at(epoch), counters_.data);
}

// ---- What the engine issues

bool WindowOrigin::issue_rest() noexcept {
  const bool moved = issue_pieces();
  return issue_pages() || moved;
}

bool WindowOrigin::issue_pieces() noexcept {
  bool moved = false;
  for (; !pieces_.done(); pieces_.next(), ++hand_.issued) {
    RdmaOperation& operation = hand_.parts[hand_.issued % pieces_at_once];
    if (operation.under_way) break;
    const Operation piece = pieces_.piece();
    make(operation, piece);
    const char* const call = piece.verb == Verb::get ? "fi_readmsg" : "fi_writemsg";
    if (issue(operation, call, false) != Issued::yes) break;
    moved = true;
  }
  return moved;
}

// Each step waits for the end of the one before.
bool WindowOrigin::issue_pages() noexcept {
  using enum Page::Stage;
  if (page_.stage == told && protocol::triggered::may_fill_page(page_.number, load(words().taken)))
    page_.stage = none;
  if (page_.stage == none && !accumulates_.done() && !page_.told.under_way) {
    const PageWriter before = accumulates_;
    const std::size_t bytes = accumulates_.fill(page_.memory.get(), target_.page_bytes);
    page_.write.make_visible_write(common_.fabric.endpoint(), {page_.memory.get(), bytes, nullptr},
                                   {words_.peer(), target_.page.address, target_.page.key});
    if (issue(page_.write, "fi_writemsg", false) == Issued::yes) {
      page_.stage = written;
      return true;
    }
    accumulates_ = before;
  } else if (page_.stage == written && !page_.write.under_way && failure_.get() == nullptr) {
    if (issue_addition(page_.told, words_.remote(offsetof(PairWords, taken))) == Issued::yes) {
      ++page_.number;
      page_.stage = told;
      return true;
    }
  }
  return false;
}

// As soon as half of it is used: how much an epoch to come takes is not known.
bool WindowOrigin::counters_near_limit() const noexcept {
  return 2 * std::max(fires_at(rung_ + 1), data_through(rung_)) >= common_.counter_limit;
}

void WindowOrigin::rewound() noexcept {
  const std::uint64_t taken_back = through(rung_);
  for (protocol::Epoch epoch = rung_; epoch <= looked_; ++epoch) through(epoch) -= taken_back;
}

// Of the epochs whose operations have all ended.
protocol::Credits WindowOrigin::credits() const noexcept {
  protocol::Epoch ended = started();
  if (stopped_.now) {
    const bool owes_last =
        hand_.under_way() && hand_.epoch <= stopped_.begun && hand_.owes_addition;
    ended = stopped_.begun - (owes_last ? 1 : 0);
  }
  return protocol::triggered::additions(ended, page_.number);
}

}  // namespace penstock::ofi
