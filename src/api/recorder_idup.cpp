// SPDX-License-Identifier: Apache-2.0
#include "api/recorder_idup.hpp"

#include <algorithm>
#include <list>
#include <mutex>
#include <optional>

#include "api/recording_guard.hpp"

namespace penstock::api {

namespace {

struct Pending {
  MPI_Request request;
  MPI_Comm* child;  // the program's variable, which MPI writes until the request completes
  group::PendingChild identity;
};

struct State {
  std::mutex mutex;
  std::list<Pending> children;
};

State& state() {
  static auto* value = new State;
  return *value;
}

// The oldest one: a later one with the same handle can only be newer.
std::optional<Pending> take(MPI_Request request) {
  const std::lock_guard lock(state().mutex);
  auto& children = state().children;
  const auto found =
      std::find_if(children.begin(), children.end(), [&](const Pending& entry) { return entry.request == request; });
  if (found == children.end()) return std::nullopt;
  std::optional<Pending> result(std::move(*found));
  children.erase(found);
  return result;
}

}  // namespace

std::atomic<int> IdupWatch::pending{0};

void idup_begun(MPI_Comm parent, group::Creation how, MPI_Comm* child, MPI_Request request) {
  recording("MPI_Comm_idup", "the new communicator stays unknown", [&] {
    Pending entry{request, child, group::PendingChild(parent, how)};
    if (request == MPI_REQUEST_NULL) {
      entry.identity.complete(*child);
      return;
    }
    const std::lock_guard lock(state().mutex);
    state().children.push_back(std::move(entry));
    IdupWatch::pending.fetch_add(1, std::memory_order_relaxed);
  });
}

void IdupWatch::remember(int count) {
  if (requests_ != nullptr && count > 0) before_.assign(requests_, requests_ + count);
}

void IdupWatch::look(int code) {
  for (std::size_t i = 0; i < before_.size(); ++i) {
    if (before_[i] == MPI_REQUEST_NULL || requests_[i] != MPI_REQUEST_NULL) continue;
    if (code == MPI_SUCCESS) {
      completed(before_[i]);
    } else if (take(before_[i])) {  // perhaps this one failed: its communicator, if there is one, stays unknown
      pending.fetch_sub(1, std::memory_order_relaxed);
    }
  }
}

void IdupWatch::completed(MPI_Request request) {
  if (pending.load(std::memory_order_relaxed) == 0) return;
  const auto entry = take(request);
  if (!entry) return;
  pending.fetch_sub(1, std::memory_order_relaxed);
  recording("MPI_Comm_idup", "the new communicator stays unknown", [&] { entry->identity.complete(*entry->child); });
}

}  // namespace penstock::api
