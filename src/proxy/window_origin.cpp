// SPDX-License-Identifier: Apache-2.0
#include "proxy/window_origin.hpp"

#include <fmt/format.h>

#include <cstring>

#include "proxy/engine.hpp"
#include "proxy/mpi_call.hpp"
#include "proxy/tags.hpp"

namespace penstock::proxy {

using transport::Operation;
using transport::Verb;

WindowOrigin::WindowOrigin(const Setup& setup, MPI_Comm communicator)
    : WindowEnd(setup.name, setup.theirs.pages, first_page + window_pages, communicator),
      setup_(setup) {
  for (std::size_t i = 0; i < window_pages; ++i) {
    MpiSlot& page = operations[first_page + i];
    page.buffer = std::make_unique_for_overwrite<std::byte[]>(setup.page_bytes);
    page.lasts = true;
  }
  MpiSlot& post = operations[post_slot];
  post.receives = true;
  check_mpi(
      PMPI_Recv_init(nullptr, 0, MPI_BYTE, peer, setup.ours.posts, communicator_, &post.request),
      "MPI_Recv_init");
}

std::string WindowOrigin::describe() const {
  const auto epoch = started.load(std::memory_order_acquire);
  const auto posts = posts_.load(std::memory_order_relaxed);
  if (posts < needed_.load(std::memory_order_relaxed))
    return fmt::format("epoch {}, waits for the target's post (it has posted {} epochs)", epoch,
                       posts);
  return fmt::format("epoch {}, waits for MPI to move the operations", epoch);
}

void WindowOrigin::issue(ProxyEngine& engine) noexcept {
  if (issued < started.load(std::memory_order_acquire) && !poisoned && !closed_before(issued + 1)) {
    ++issued;
    begin_list();
  }
  advance(engine);
}

void WindowOrigin::ended(MpiSlot& slot, ProxyEngine& engine) noexcept {
  if (&slot == &operations[post_slot]) posts_.fetch_add(1, std::memory_order_relaxed);
  if (is_apart(slot)) end_apart();
  advance(engine);
}

void WindowOrigin::begin_list() noexcept {
  const transport::Operations& list = setup_.lists->next().operations;
  const bool small = is_small(list, setup_.eager_bytes);
  told_.begin(list, small);
  given_ = told_;
  told_all_ = false;
  needed_.store(posts_needed(issued, small), std::memory_order_relaxed);
}

// What goes apart comes behind the page that tells it, and before the next one: so the target has
// always heard of all that stands before it.
void WindowOrigin::advance(ProxyEngine& engine) noexcept {
  if (!busy() || !serves() || !is_posted(engine)) return;
  while (give_apart(engine) && !told_all_)
    if (!send_page(engine)) return;
  if (told_all_ && given_.is_at(told_) && !any_apart()) finish_epoch(engine);
}

// Posts are taken when they are needed; until then MPI has them.
bool WindowOrigin::is_posted(ProxyEngine& engine) noexcept {
  MpiSlot& post = operations[post_slot];
  while (posts_.load(std::memory_order_relaxed) < needed_.load(std::memory_order_relaxed)) {
    if (post.active) return false;
    if (const int code = PMPI_Start(&post.request); code != MPI_SUCCESS) {
      fail("proxy: MPI_Start", code);
      return false;
    }
    if (!ends_at_once(post, engine)) return false;
    posts_.fetch_add(1, std::memory_order_relaxed);
  }
  return true;
}

bool WindowOrigin::send_page(ProxyEngine& engine) noexcept {
  MpiSlot& page = operations[first_page + sent % window_pages];
  if (page.active) return false;
  page.bytes = fill(page.buffer.get());
  ++sent;
  if (const int code = PMPI_Isend(page.buffer.get(), static_cast<int>(page.bytes), MPI_BYTE, peer,
                                  setup_.theirs.pages, communicator_, &page.request);
      code != MPI_SUCCESS) {
    fail("proxy: MPI_Isend", code);
    return false;
  }
  ends_at_once(page, engine);
  return !poisoned;
}

// Returns how many bytes there are.
std::size_t WindowOrigin::fill(std::byte* page) noexcept {
  std::size_t at = sizeof(PageHead);
  while (!writer_.done() || !told_.done()) {
    if (writer_.done()) writer_.begin(told_.piece(), told_.apart());
    at += writer_.write(page + at, setup_.page_bytes - at);
    if (!writer_.done()) break;
    told_.next();
  }
  told_all_ = told_.done();
  const PageHead head{issued, static_cast<std::uint32_t>(at), told_all_ ? 1U : 0U};
  std::memcpy(page, &head, sizeof head);
  return at;
}

// False: some are left.
bool WindowOrigin::give_apart(ProxyEngine& engine) noexcept {
  for (; !given_.is_at(told_); given_.next()) {
    if (!given_.apart()) continue;
    MpiSlot* const slot = place_apart();
    if (slot == nullptr) return false;
    const Operation piece = given_.piece();
    const bool gets = piece.verb == Verb::get;
    const int count = static_cast<int>(piece.bytes);
    const int code = gets ? PMPI_Irecv(piece.origin, count, MPI_BYTE, peer, setup_.ours.gets,
                                       communicator_, &slot->request)
                          : PMPI_Isend(piece.origin, count, MPI_BYTE, peer, setup_.theirs.puts,
                                       communicator_, &slot->request);
    if (code != MPI_SUCCESS) {
      fail(gets ? "proxy: MPI_Irecv" : "proxy: MPI_Isend", code);
      return false;
    }
    begin_apart(piece.bytes, gets, engine);
  }
  return true;
}

// The target has told how many there are, behind them.
void WindowOrigin::take_last_posts() noexcept {
  for (auto taken = posts_.load(std::memory_order_relaxed); taken < messages; ++taken) {
    int here = 0;
    if (PMPI_Iprobe(peer, setup_.ours.posts, communicator_, &here, MPI_STATUS_IGNORE) !=
            MPI_SUCCESS ||
        here == 0)
      return;
    PMPI_Recv(nullptr, 0, MPI_BYTE, peer, setup_.ours.posts, communicator_, MPI_STATUS_IGNORE);
    posts_.store(taken + 1, std::memory_order_relaxed);
  }
}

// A tag is used again when every message that was sent under it has been received.
void WindowOrigin::give_back(Tags& tags) noexcept {
  if (busy()) return;
  take_last_posts();
  if (posts_.load(std::memory_order_relaxed) != messages) return;
  tags.give_back(peer, setup_.ours.posts);
  tags.give_back(peer, setup_.ours.gets);
}

}  // namespace penstock::proxy
