// SPDX-License-Identifier: Apache-2.0
#include "common/stream_rounds.hpp"

namespace penstock::apps {

StreamRounds::StreamRounds(const Options& options, Work& work, Comm comm)
    : lane_(make_lane(options.device, comm)), work_(work) {
  for (std::size_t i = 0; i < 2; ++i) {
    pack_[i] = [this, i] { work_.pack(*lane_, out(i), nowhere); };
    unpack_[i] = [this, i] { work_.unpack(*lane_, in(i), nowhere); };
    unpack_and_pack_[i] = [this, i] { work_.unpack_and_pack(*lane_, in(i), out(1 - i), nowhere); };
  }
  begin_ = [this] { work_.begin(*lane_); };
  inside_ = [this] { work_.compute_inside(*lane_); };
  end_ = [this] { work_.end(*lane_); };
}

void StreamRounds::pack(int round) {
  phases_.enter(Phase::pre_comm);
  if (work_.has_ends()) lane_->launch(begin_);
  phases_.enter(Phase::post_send);
  if (!work_.packs_ahead() || round == 0) lane_->launch(pack_[set_of(round)]);
}

void StreamRounds::unpack(int round, int rounds) {
  const bool packs_next = work_.packs_ahead() && round + 1 < rounds;
  lane_->launch((packs_next ? unpack_and_pack_ : unpack_)[set_of(round)]);
}

void StreamRounds::finish_round() {
  phases_.enter(Phase::post_comm);
  if (work_.has_ends()) lane_->launch(end_);
  phases_.leave();
}

}  // namespace penstock::apps
