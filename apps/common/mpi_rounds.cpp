// SPDX-License-Identifier: Apache-2.0
#include "common/mpi_rounds.hpp"

namespace penstock::apps {

void MpiRounds::run(int rounds) {
  if (work_.has_inside()) lane_->fork();
  for (int round = 0; round < rounds; ++round)
    exchange(round % 2, work_.packs_ahead() && round > 0,
             work_.packs_ahead() && round + 1 < rounds);
  if (work_.has_inside()) lane_->join();
  lane_->synchronize();
}

// The receives are those of a set that was unpacked two rounds ago: the packing that the host has
// waited for since then came behind that, or was done on the way. What is packed ahead goes into a
// set whose sends ended a round ago.
void MpiRounds::exchange(int set, bool is_packed, bool packs_next) {
  phases_.enter(Phase::pre_comm);
  if (work_.has_ends()) lane_->launch([this] { work_.begin(*lane_); });
  phases_.enter(Phase::post_recv);
  post_receives(set);
  phases_.enter(Phase::post_send);
  pack_and_send(set, is_packed);
  phases_.enter(Phase::wait_recv);
  receive_and_unpack(set, packs_next);
  phases_.enter(Phase::wait_send);
  wait_for_sends(set);
  phases_.enter(Phase::post_comm);
  if (work_.has_ends()) lane_->launch([this] { work_.end(*lane_); });
  phases_.leave();
}

void MpiRounds::compute_inside() {
  if (work_.has_inside()) lane_->launch_beside([this] { work_.compute_inside(*lane_); });
}

void MpiRounds::unpack(int set, int region, bool packs_next) {
  lane_->launch([=, this] {
    if (packs_next)
      work_.unpack_and_pack(*lane_, buffers_.in(set), buffers_.out(1 - set), region);
    else
      work_.unpack(*lane_, buffers_.in(set), region);
  });
}

void MpiWaitallRounds::pack_and_send(int set, bool is_packed) {
  if (!is_packed) {
    lane_->launch([this, set] { work_.pack(*lane_, buffers_.out(set), nowhere); });
    stage_out(set);
  }
  if (lane_->runs_beside()) compute_inside();
  lane_->synchronize();
  send(set);
  if (!lane_->runs_beside()) compute_inside();
}

void MpiWaitallRounds::receive_and_unpack(int set, bool packs_next) {
  wait_for_receives(set);
  for (int message = 0; message < buffers_.count(); ++message) buffers_.stage_in(set, message);
  unpack(set, nowhere, packs_next);
  if (packs_next) stage_out(1 - set);
}

void MpiWaitallRounds::stage_out(int set) {
  for (int message = 0; message < buffers_.count(); ++message) buffers_.stage_out(set, message);
}

}  // namespace penstock::apps
