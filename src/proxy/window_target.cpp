// SPDX-License-Identifier: Apache-2.0
#include "proxy/window_target.hpp"

#include <fmt/format.h>

#include <cstring>
#include <memory>

#include "proxy/engine.hpp"
#include "proxy/mpi_call.hpp"
#include "proxy/tags.hpp"

namespace penstock::proxy {

WindowTarget::WindowTarget(const Setup& setup, MPI_Comm communicator)
    : WindowEnd(setup.name, setup.ours.pages, first_post + window_pages, communicator),
      setup_(setup) {
  for (std::size_t i = 0; i < window_pages; ++i) operations[first_post + i].lasts = true;
  MpiSlot& page = operations[page_slot];
  page.receives = true;
  page.bytes = setup.page_bytes;
  page.buffer = std::make_unique_for_overwrite<std::byte[]>(setup.page_bytes);
  check_mpi(PMPI_Recv_init(page.buffer.get(), static_cast<int>(page.bytes), MPI_BYTE, peer,
                           setup.ours.pages, communicator_, &page.request),
            "MPI_Recv_init");
}

std::string WindowTarget::describe() const {
  return fmt::format("epoch {}, {} complete, waits for the origin's complete",
                     started.load(std::memory_order_acquire),
                     completed.load(std::memory_order_acquire));
}

// The page is awaited first, so that MPI has a place for it when it comes.
void WindowTarget::issue(ProxyEngine& engine) noexcept {
  if (issued < started.load(std::memory_order_acquire) && !poisoned && !closed_before(issued + 1)) {
    ++issued;
    await_page(engine);
    send_posts(engine);
  }
  advance(engine);
}

void WindowTarget::ended(MpiSlot& slot, ProxyEngine& engine) noexcept {
  if (&slot == &operations[page_slot])
    take_page();
  else if (is_apart(slot))
    end_apart();
  else
    send_posts(engine);
  advance(engine);
}

// The origin takes posts as it needs them, so that as many as there are slots may be on their way.
// It counts on those that our notice has told.
void WindowTarget::send_posts(ProxyEngine& engine) noexcept {
  while (sent < issued && !told && !poisoned) {
    MpiSlot& post = operations[first_post + sent % window_pages];
    if (post.active) return;
    if (const int code = PMPI_Isend(nullptr, 0, MPI_BYTE, peer, setup_.theirs.posts, communicator_,
                                    &post.request);
        code != MPI_SUCCESS)
      return fail("proxy: MPI_Isend", code);
    ++sent;
    ends_at_once(post, engine);
  }
}

void WindowTarget::await_page(ProxyEngine& engine) noexcept {
  MpiSlot& page = operations[page_slot];
  if (const int code = PMPI_Start(&page.request); code != MPI_SUCCESS)
    return fail("proxy: MPI_Start", code);
  if (ends_at_once(page, engine)) take_page();
}

void WindowTarget::take_page() noexcept {
  ++pages_;
  std::memcpy(&head_, operations[page_slot].buffer.get(), sizeof head_);
  at_ = sizeof head_;
  reading_ = true;
}

void WindowTarget::advance(ProxyEngine& engine) noexcept {
  if (!busy() || !serves()) return;
  while (reading_) {
    if (!read_page(engine)) return;
    reading_ = false;
    if (head_.last != 0)
      last_read_ = issued;
    else
      await_page(engine);
  }
  if (last_read_ == issued && !any_apart()) finish_epoch(engine);
}

// False: it is left where it goes on later.
bool WindowTarget::read_page(ProxyEngine& engine) noexcept {
  const std::byte* const page = operations[page_slot].buffer.get();
  for (;;) {
    if (owes_apart_ && !move_apart(engine)) return false;
    if (at_ == head_.bytes) return true;
    if (reader_.done()) reader_.begin();
    at_ += reader_.read(page + at_, head_.bytes - at_, setup_.window);
    owes_apart_ = reader_.done() && reader_.apart();
  }
}

bool WindowTarget::move_apart(ProxyEngine& engine) noexcept {
  MpiSlot* const slot = place_apart();
  if (slot == nullptr) return false;
  const transport::Operation& operation = reader_.operation();
  std::byte* const place = setup_.window + operation.displacement;
  const bool put = operation.verb == transport::Verb::put;
  const int count = static_cast<int>(operation.bytes);
  const int code = put ? PMPI_Irecv(place, count, MPI_BYTE, peer, setup_.ours.puts, communicator_,
                                    &slot->request)
                       : PMPI_Isend(place, count, MPI_BYTE, peer, setup_.theirs.gets, communicator_,
                                    &slot->request);
  if (code != MPI_SUCCESS) {
    fail(put ? "proxy: MPI_Irecv" : "proxy: MPI_Isend", code);
    return false;
  }
  begin_apart(operation.bytes, put, engine);
  owes_apart_ = false;
  return true;
}

// A tag is used again when every message that was sent under it has been received.
void WindowTarget::give_back(Tags& tags) noexcept {
  if (busy() || pages_ != messages) return;
  tags.give_back(peer, setup_.ours.pages);
  tags.give_back(peer, setup_.ours.puts);
}

}  // namespace penstock::proxy
