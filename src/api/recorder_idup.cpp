// SPDX-License-Identifier: Apache-2.0
#include "api/recorder_idup.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "api/recording_guard.hpp"
#include "base/forked.hpp"

namespace penstock::api {

struct IdupWatch::Child {
  MPI_Request request;
  MPI_Comm* variable;  // the program's, which MPI writes until the request completes
  group::PendingChild identity;
  bool claimed = false;  // by a call that is given the request
};

namespace {

using Children = std::list<IdupWatch::Child>;

struct State {
  std::mutex mutex;
  Children children;  // the newest first
};

State& state() {
  static auto* value = new State;
  return *value;
}

}  // namespace

std::atomic<int> IdupWatch::pending{0};

void idup_begun(MPI_Comm parent, group::Creation how, MPI_Comm* child, MPI_Request request) {
  recording("MPI_Comm_idup", "the new communicator stays unknown", [&] {
    IdupWatch::Child entry{request, child, group::PendingChild(parent, how)};
    if (request == MPI_REQUEST_NULL) {
      entry.identity.complete(*child);
      return;
    }
    const std::lock_guard lock(state().mutex);
    state().children.push_front(std::move(entry));
    IdupWatch::pending.fetch_add(1, std::memory_order_relaxed);
  });
}

// The newest one that nobody has claimed: the handle is the caller's now, so what stood under it
// before is complete, and is claimed by the call that has completed it or was given up by
// MPI_Request_free.
void IdupWatch::claim(int count, const MPI_Request* requests) {
  if (requests == nullptr || base::forked()) return;
  const std::lock_guard lock(state().mutex);
  Children& children = state().children;
  for (int i = 0; i < count; ++i) {
    if (requests[i] == MPI_REQUEST_NULL) continue;
    const auto found = std::find_if(children.begin(), children.end(), [&](const Child& child) {
      return child.request == requests[i] && !child.claimed;
    });
    if (found == children.end()) continue;
    claimed_.push_back({requests + i, found});
    found->claimed = true;
  }
}

void IdupWatch::look(int code) {
  Children ended;
  {
    const std::lock_guard lock(state().mutex);
    std::erase_if(claimed_, [&](const ChildClaim& claim) {
      if (*claim.request != MPI_REQUEST_NULL) return false;
      ended.splice(ended.end(), state().children, claim.child);
      return true;
    });
  }
  pending.fetch_sub(static_cast<int>(ended.size()), std::memory_order_relaxed);
  // Perhaps this one failed: its communicator, if there is one, stays unknown.
  if (code != MPI_SUCCESS) return;
  for (const Child& child : ended)
    recording("MPI_Comm_idup", "the new communicator stays unknown",
              [&] { child.identity.complete(*child.variable); });
}

void IdupWatch::completed() {
  static const MPI_Request null = MPI_REQUEST_NULL;
  for (ChildClaim& claim : claimed_) claim.request = &null;
  if (!claimed_.empty()) look(MPI_SUCCESS);
}

void IdupWatch::give_back() {
  const std::lock_guard lock(state().mutex);
  for (const ChildClaim& claim : claimed_) claim.child->claimed = false;
}

}  // namespace penstock::api
