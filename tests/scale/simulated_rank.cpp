// SPDX-License-Identifier: Apache-2.0
#include "scale/simulated_rank.hpp"

#include <numeric>
#include <utility>

#include "scale/dissemination.hpp"
#include "scale/no_plan.hpp"

namespace penstock::scale {

namespace {

std::vector<core::Transports::Entry> transports(std::size_t record_bytes) {
  std::vector<core::Transports::Entry> all;
  all.push_back({std::make_unique<OnOtherHosts>(), true});
  all.push_back({std::make_unique<NoTransport>(record_bytes), true});
  return all;
}

std::shared_ptr<const group::Communicator> world_of(int rank) {
  auto communicator = std::make_shared<group::Communicator>();
  communicator->id = {1, 2};
  communicator->known = true;
  communicator->rank = rank;
  communicator->name = "MPI_COMM_WORLD";
  return communicator;
}

}  // namespace

Job::Job(int ranks)
    : dead(static_cast<std::size_t>(ranks)), members(static_cast<std::size_t>(ranks)) {
  std::iota(members.begin(), members.end(), 0);
}

SimulatedWorld::SimulatedWorld(const Job& job, int rank) : job_(job) {
  rank_ = rank;
  size_ = job.ranks();
  thread_level_ = group::ThreadLevel::multiple;
  host_ = mpi_version_ = "simulated";
}

SimulatedRank::SimulatedRank(const base::Settings& settings, const Job& job, Post& post, int rank,
                             LetterCounts& counts, std::size_t record_bytes)
    : all_(job),
      world_(job, rank),
      mailbox_(group::Mailbox::open(std::make_unique<MemoryCarrier>(post, rank)), counts),
      transports_(transports(record_bytes)),
      communicator_(world_of(rank)),
      matcher_(settings, world_, mailbox_, transports_) {}

SimulatedRank::~SimulatedRank() {
  free_requests();
}

core::MatchedRequest& SimulatedRank::record(core::RequestKind kind, int peer, int tag,
                                            std::size_t bytes) {
  core::Recording recording;
  recording.kind = kind;
  recording.call = kind == core::RequestKind::receive ? "MPI_Recv_init" : "MPI_Send_init";
  recording.bytes = bytes;
  recording.communicator = communicator_;
  recording.peer = recording.peer_world = peer;
  recording.tag = tag;
  return keep(std::move(recording));
}

core::MatchedRequest& SimulatedRank::record_collective() {
  core::Recording recording;
  recording.kind = core::RequestKind::collective;
  recording.communicator = communicator_;
  recording.collective = make_dissemination(all_, rank(), 1);
  return keep(std::move(recording));
}

// Handles are numbers one behind the other, as MPICH has them.
core::MatchedRequest& SimulatedRank::keep(core::Recording recording) {
  registry_.record(++last_handle_, std::move(recording));
  return *registry_.find(last_handle_);
}

void SimulatedRank::begin(std::vector<core::MatchedRequest*> requests, bool leaves) {
  job_ = matcher_.prepare(std::move(requests));
  job_->leaves = leaves;
  matcher_.begin(job_);
}

void SimulatedRank::free_requests() {
  std::size_t from = 0;
  while (core::MatchedRequest* const request = registry_.remove_any(from))
    core::MatchedRequest::close(request);
}

}  // namespace penstock::scale
