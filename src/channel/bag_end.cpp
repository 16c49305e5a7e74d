// SPDX-License-Identifier: Apache-2.0
#include "channel/bag_end.hpp"

#include <fmt/format.h>

#include <utility>

#include "channel/bag_source.hpp"
#include "core/request_error.hpp"

namespace penstock::channel {

using base::Error;
using base::ErrorKind;
using core::RequestError;

namespace {

void require_served(const BagHalf& half, const core::MatchedRequest& request, core::Queue& queue,
                    const char* call) {
  try {
    half.check(queue.stream());
  } catch (const Error& error) {
    throw RequestError(request, error.kind(), fmt::format(": {}: {}", call, error.text()));
  }
}

}  // namespace

void BagSourceEnd::put(core::MatchedRequest& request, core::Queue& queue, const void* from,
                       std::int64_t count) const {
  if (!request.matched())
    throw RequestError(request, ErrorKind::not_matched, core::not_matched_text);
  if (count < 0 || static_cast<std::uint64_t>(count) > bag().slot_elements)
    throw RequestError(request, ErrorKind::argument,
                       fmt::format(": PST_Bag_put: {} elements, and a slot has room for 0 to {}",
                                   count, bag().slot_elements));
  auto* const plan = static_cast<BagSource*>(request.plan());
  if (plan) require_served(*plan, request, queue, "PST_Bag_put");
  queue.raise();
  if (!plan) return;  // to MPI_PROC_NULL
  queue.enqueue_work([&](const std::shared_ptr<device::Stream>& stream) {
    plan->put(from, static_cast<std::uint64_t>(count), stream, queue);
  });
}

BagEnd::BagEnd(const BagShape& shape, std::vector<std::unique_ptr<core::MatchedRequest>> lanes,
               std::vector<int> ranks)
    : bag_(shape), own_(std::move(lanes)), ranks_(std::move(ranks)) {
  for (const auto& lane : own_) lanes_.push_back(lane.get());
}

BagPlan& BagEnd::require(core::MatchedRequest& request, core::Queue& queue,
                         const char* call) const {
  if (!request.complete())
    throw RequestError(request, ErrorKind::not_matched, core::not_matched_text);
  auto& plan = *static_cast<BagPlan*>(request.plan());
  plan.require_lanes();
  require_served(plan, request, queue, call);
  queue.raise();
  return plan;
}

void BagEnd::grab(core::MatchedRequest& request, core::Queue& queue, Grabbed* grabbed) const {
  BagPlan& plan = require(request, queue, "PST_Bag_grab");
  queue.enqueue_work(
      [&](const std::shared_ptr<device::Stream>& stream) { plan.grab(grabbed, stream, queue); });
}

void BagEnd::release(core::MatchedRequest& request, core::Queue& queue,
                     const Grabbed* grabbed) const {
  BagPlan& plan = require(request, queue, "PST_Bag_release");
  queue.enqueue_work(
      [&](const std::shared_ptr<device::Stream>& stream) { plan.release(grabbed, stream, queue); });
}

}  // namespace penstock::channel
