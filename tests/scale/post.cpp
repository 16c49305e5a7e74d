// SPDX-License-Identifier: Apache-2.0
#include "scale/post.hpp"

#include <algorithm>

namespace penstock::scale {

int Post::next() {
  while (!events_.empty()) {
    const auto [when, rank] = events_.top();
    events_.pop();
    now_ = std::max(now_, when);
    Box& its = box(rank);
    if (its.ended || !is_due(its)) continue;
    its.woken = false;
    return rank;
  }
  return -1;
}

void Post::end(int rank) {
  box(rank).ended = true;
  for (const auto& [arrival, bundle] : box(rank).bundles) take(bundle);
  box(rank).bundles.clear();
}

void Post::take(const Bundle& bundle) {
  if (bundle.taken == nullptr) return;
  *bundle.taken = true;
  box(bundle.from).woken = true;
  wake(bundle.from, now_);
}

group::Carrier::Step MemoryCarrier::send(int rank, std::span<const std::byte> bytes,
                                         Transfer& transfer) noexcept {
  ++post_.bundles_;
  post_.bytes_ += bytes.size();
  Post::Box& box = post_.box(rank);
  if (box.ended) return {true, nullptr, 0};
  Post::Time& last = last_arrival_[rank];
  const PostOptions& options = post_.options_;
  last = std::max(last, post_.now_ + post_.random(options.least_delay, options.most_delay));
  std::shared_ptr<bool> taken;
  if (box.bundles.size() >= options.places) {
    taken = std::make_shared<bool>(false);
    transfer = ++last_;
    under_way_.emplace(transfer, taken);
  }
  const bool done = taken == nullptr;
  box.bundles.emplace(last, Post::Bundle{rank_, {bytes.begin(), bytes.end()}, std::move(taken)});
  post_.wake(rank, last);
  return {done, nullptr, 0};
}

group::Carrier::Step MemoryCarrier::test(Transfer& transfer) noexcept {
  const auto found = under_way_.find(transfer);
  if (!*found->second) return {};
  under_way_.erase(found);
  return {true, nullptr, 0};
}

std::optional<group::Carrier::Arrival> MemoryCarrier::find() {
  auto& bundles = post_.box(rank_).bundles;
  if (bundles.empty() || bundles.begin()->first > post_.now_) return std::nullopt;
  Post::Bundle bundle = std::move(bundles.begin()->second);
  bundles.erase(bundles.begin());
  post_.take(bundle);
  const Arrival arrival{bundle.from, bundle.bytes.size(), ++last_};
  announced_.emplace(arrival.announced, std::move(bundle.bytes));
  return arrival;
}

group::Carrier::Step MemoryCarrier::receive(const Arrival& arrival, std::span<std::byte> bytes,
                                            Transfer&) noexcept {
  const auto found = announced_.find(arrival.announced);
  std::copy(found->second.begin(), found->second.end(), bytes.begin());
  announced_.erase(found);
  return {true, nullptr, 0};
}

void MemoryCarrier::abandon(Transfer transfer) noexcept {
  under_way_.erase(transfer);
}

}  // namespace penstock::scale
