// SPDX-License-Identifier: Apache-2.0
#include "transport/operations.hpp"

#include <utility>

namespace penstock::transport {

struct OperationLists::Node {
  EpochList epoch;
  std::atomic<Node*> next{nullptr};
};

OperationLists::OperationLists()
    : oldest_(new Node), last_(oldest_), current_(oldest_), ahead_(oldest_) {}

OperationLists::~OperationLists() {
  while (oldest_) delete std::exchange(oldest_, oldest_->next.load(std::memory_order_relaxed));
}

// Acquire: whoever carries out has read the list before it went on to the next.
OperationLists::Node* OperationLists::reusable_node() noexcept {
  if (oldest_ == current_.load(std::memory_order_acquire)) return nullptr;
  Node* const node = oldest_;
  oldest_ = node->next.load(std::memory_order_relaxed);
  node->next.store(nullptr, std::memory_order_relaxed);
  return node;
}

void OperationLists::push(Operations& list, Promise promise, AccessStep step) {
  Node* node = last_;
  if (!unused_) {
    node = reusable_node();
    if (node == nullptr) node = new Node;
  }
  node->epoch.operations.clear();
  node->epoch.operations.swap(list);
  node->epoch.promise = promise;
  node->epoch.step = step;
  if (unused_) {
    unused_ = false;
    return;
  }
  // Release: the list comes before. The command behind it, on a stream, would do as well.
  last_->next.store(node, std::memory_order_release);
  last_ = node;
}

void OperationLists::take_back(Operations& list) noexcept {
  list.swap(last_->epoch.operations);
  unused_ = true;
}

const EpochList& OperationLists::next() noexcept {
  Node* const node = current_.load(std::memory_order_relaxed)->next.load(std::memory_order_acquire);
  current_.store(node, std::memory_order_release);
  return node->epoch;
}

const EpochList& OperationLists::ahead() noexcept {
  ahead_ = ahead_->next.load(std::memory_order_acquire);
  return ahead_->epoch;
}

}  // namespace penstock::transport
