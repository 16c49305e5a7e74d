// SPDX-License-Identifier: Apache-2.0
// What one trigger hands to MPI, and the list of such bundles on their way from the program's calls
// to the engine. One thread publishes and one at a time takes, without a lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/free_list.hpp"
#include "base/no_copy.hpp"
#include "enqueued/message.hpp"

namespace penstock::enqueued {

class BundleIterator {
 public:
  explicit BundleIterator(EnqueuedMessage* message) noexcept : message_(message) {}
  EnqueuedMessage& operator*() const noexcept { return *message_; }
  BundleIterator& operator++() noexcept {
    message_ = message_->next;
    return *this;
  }
  bool operator==(const BundleIterator&) const = default;

 private:
  EnqueuedMessage* message_;
};

// Messages in the order in which they were enqueued.
struct Bundle : base::FreeItem<Bundle> {
  EnqueuedMessage* first = nullptr;
  EnqueuedMessage* last = nullptr;
  bool quiet = false;  // all its messages are: nobody waits for the engine
  // No kernel triggers it: it is triggered where these bundles are taken (QueueWords::taken).
  std::optional<std::uint64_t> behind;
  std::atomic<Bundle*> next{nullptr};  // the bundle that was triggered after it

  BundleIterator begin() const noexcept { return BundleIterator(first); }
  BundleIterator end() const noexcept { return BundleIterator(nullptr); }
  void add(EnqueuedMessage& message) noexcept {
    message.next = nullptr;
    (last ? last->next : first) = &message;
    last = &message;
  }
  EnqueuedMessage* take_first() noexcept {
    EnqueuedMessage* const message = first;
    if (message) first = message->next;
    if (!first) last = nullptr;
    return message;
  }
};

// In the order of the triggers.
class BundleList : private base::NoCopy {
 public:
  BundleList() : open_(&bundles_.take()), newest_(&bundles_.take()), taken_(newest_) {}

  // ---- The program's calls
  Bundle& open() noexcept { return *open_; }  // what is enqueued joins it
  // Comes before publish(), which must not fail. Throws std::bad_alloc.
  void reserve() {
    if (!spare_) spare_ = &bundles_.take();
  }
  // Release: a bundle that the engine takes is whole.
  void publish() noexcept {
    newest_->next.store(open_, std::memory_order_release);
    newest_ = open_;
    open_ = std::exchange(spare_, nullptr);
    open_->next.store(nullptr, std::memory_order_relaxed);
    open_->first = open_->last = nullptr;
    open_->quiet = false;
    open_->behind.reset();
  }

  // ---- Under the engine's lock. The next one; null: there is none.
  const Bundle* next() const noexcept { return taken_->next.load(std::memory_order_acquire); }
  // The bundle stays until the next one is taken. Null: there is none.
  Bundle* take() noexcept {
    Bundle* const next = taken_->next.load(std::memory_order_acquire);
    if (next) bundles_.give_back(*std::exchange(taken_, next));
    return next;
  }

 private:
  base::FreeList<Bundle> bundles_;
  Bundle* open_;
  Bundle* spare_ = nullptr;  // the next open one
  Bundle* newest_;           // published last
  Bundle* taken_;            // taken last
};

}  // namespace penstock::enqueued
