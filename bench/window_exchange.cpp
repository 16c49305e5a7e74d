// SPDX-License-Identifier: Apache-2.0
#include "window_exchange.hpp"

#include <set>

#include "support/session.hpp"

namespace penstock::bench {
namespace {

MPI_Group group_of_peers(std::span<const Message> messages) {
  std::set<int> peers;
  for (const Message& message : messages) peers.insert(message.part.peer);
  const std::vector<int> ranks(peers.begin(), peers.end());
  MPI_Group world = MPI_GROUP_NULL, group = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, static_cast<int>(ranks.size()), ranks.data(), &group);
  MPI_Group_free(&world);
  return group;
}

void require(int code, const char* call) {
  detail::check(code, call);
}

}  // namespace

WindowEnds::~WindowEnds() {
  if (window_ != MPI_WIN_NULL) MPI_Win_free(&window_);
  if (origins_ != MPI_GROUP_NULL && origins_ != MPI_GROUP_EMPTY) MPI_Group_free(&origins_);
  if (targets_ != MPI_GROUP_NULL && targets_ != MPI_GROUP_EMPTY) MPI_Group_free(&targets_);
}

// Each receiver tells its senders where their messages go.
void WindowEnds::find_places(const Exchange& exchange, std::span<std::byte> incoming, int tag) {
  std::vector<MPI_Request> requests;
  std::vector<MPI_Aint> own;
  own.reserve(exchange.received().size());
  for (const Message& message : exchange.received()) {
    own.push_back(message.bytes.data() - incoming.data());
    MPI_Isend(&own.back(), 1, MPI_AINT, message.part.peer, tag + message.part.tag, MPI_COMM_WORLD,
              &requests.emplace_back());
  }
  for (std::size_t i = 0; i < sent_.size(); ++i)
    MPI_Irecv(&places_[i], 1, MPI_AINT, sent_[i].part.peer, tag + sent_[i].part.tag, MPI_COMM_WORLD,
              &requests.emplace_back());
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  origins_ = group_of_peers(exchange.received());
  targets_ = group_of_peers(sent_);
}

void StreamEpochs::make(std::span<std::byte> incoming, MPI_Win* window) {
  require(PST_Win_create(incoming.data(), static_cast<MPI_Aint>(incoming.size()), 1, MPI_INFO_NULL,
                         MPI_COMM_WORLD, window),
          "PST_Win_create");
}

void StreamEpochs::post(const WindowEnds& ends) const {
  require(PST_Win_post_stream(ends.origins(), 0, ends.window(), queue_.get()),
          "PST_Win_post_stream");
}

void StreamEpochs::complete(const WindowEnds& ends) const {
  require(MPI_Win_start(ends.targets(), PST_MODE_STREAM, ends.window()), "MPI_Win_start");
  ends.put_all();
  require(PST_Win_complete_stream(ends.window(), queue_.get()), "PST_Win_complete_stream");
}

void StreamEpochs::wait(const WindowEnds& ends) const {
  require(PST_Win_wait_stream(ends.window(), queue_.get()), "PST_Win_wait_stream");
}

}  // namespace penstock::bench
