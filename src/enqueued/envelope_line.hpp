// SPDX-License-Identifier: Apache-2.0
// The messages of one envelope that are triggered and neither sent nor received yet, by their
// numbers: the first one is the only one that can go next.
#pragma once

#include "enqueued/message.hpp"

namespace penstock::enqueued {

class EnvelopeLine {
 public:
  EnqueuedMessage* first() const noexcept { return first_; }
  // Behind all of lower numbers. Of several queues a message may come late; it is looked for from
  // the back, where most belong.
  void add(EnqueuedMessage& message) noexcept {
    EnqueuedMessage* before = last_;
    while (before && before->promised.number > message.promised.number)
      before = before->promised.before;
    EnqueuedMessage* const after = before ? before->promised.after : first_;
    message.promised.before = before;
    message.promised.after = after;
    (before ? before->promised.after : first_) = &message;
    (after ? after->promised.before : last_) = &message;
    message.promised.in_line = true;
  }
  void remove(EnqueuedMessage& message) noexcept {
    (message.promised.before ? message.promised.before->promised.after : first_) =
        message.promised.after;
    (message.promised.after ? message.promised.after->promised.before : last_) =
        message.promised.before;
    message.promised.in_line = false;
  }

 private:
  EnqueuedMessage* first_ = nullptr;
  EnqueuedMessage* last_ = nullptr;
};

}  // namespace penstock::enqueued
