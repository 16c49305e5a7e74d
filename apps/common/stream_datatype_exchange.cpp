// SPDX-License-Identifier: Apache-2.0
// The stream drives the messages, and Penstock finds their bytes in the program's array: one start
// and one wait a round, and no kernel of the program's packs.
#include <optional>
#include <penstock/penstock.hpp>

#include "common/datatype_exchange.hpp"

namespace penstock::apps {
namespace {

class StreamDatatypeExchange final : public Exchange {
 public:
  StreamDatatypeExchange(const Options& options, Work& work, const MessagesInPlace& messages)
      : lane_(make_lane(options.device, Comm::stream_datatype)), work_(work) {
    if (messages.received.empty())
      in_.emplace(work.neighbours(), [&](std::size_t bytes) {
        return allocate(options.device, Use::messages, bytes);
      });
    add_receives(messages);
    add_sends(messages);
    match(requests_);
    begin_ = [this] { work_.begin(*lane_); };
    inside_ = [this] { work_.compute_inside(*lane_); };
    unpack_ = [this] { work_.unpack(*lane_, in_->sides(), nowhere); };
    end_ = [this] { work_.end(*lane_); };
  }

  std::string transport() const override {
    return requests_.size() == 0 ? "none" : requests_[0].transport();
  }
  Lane& lane() override { return *lane_; }

  void run(int rounds) override {
    if (work_.has_inside()) lane_->fork();
    for (int round = 0; round < rounds; ++round) exchange();
    if (work_.has_inside()) lane_->join();
    lane_->synchronize();
  }

 private:
  void add_receives(const MessagesInPlace& messages) {
    for (std::size_t i = 0; i < work_.neighbours().size(); ++i) {
      const Neighbour& from = work_.neighbours()[i];
      const int tag = tag_of(opposite(from.direction), 0);
      requests_.add(in_ ? recv_init(in_->message(from), from.rank, tag, MPI_COMM_WORLD)
                        : recv_init(messages.array, 1, messages.received[i].type(), from.rank, tag,
                                    MPI_COMM_WORLD));
    }
  }
  void add_sends(const MessagesInPlace& messages) {
    for (std::size_t i = 0; i < work_.neighbours().size(); ++i) {
      const Neighbour& to = work_.neighbours()[i];
      requests_.add(send_init(messages.array, 1, messages.sent[i].type(), to.rank,
                              tag_of(to.direction, 0), MPI_COMM_WORLD));
    }
  }

  void exchange() {
    phases_.enter(Phase::pre_comm);
    if (work_.has_ends()) lane_->launch(begin_);
    phases_.enter(Phase::post_send);
    lane_->queue().start(requests_.all());
    if (work_.has_inside()) lane_->launch_beside(inside_);
    phases_.enter(Phase::wait_recv);
    lane_->queue().wait(requests_.all());
    phases_.enter(Phase::post_comm);
    if (in_) lane_->launch(unpack_);
    if (work_.has_ends()) lane_->launch(end_);
    phases_.leave();
  }

  const std::unique_ptr<Lane> lane_;
  Work& work_;
  std::optional<SideBuffers> in_;
  Requests requests_;
  Lane::Kernel begin_, inside_, unpack_, end_;
};

}  // namespace

std::unique_ptr<Exchange> make_stream_datatype_exchange(const Options& options, Work& work,
                                                        const MessagesInPlace& messages) {
  return std::make_unique<StreamDatatypeExchange>(options, work, messages);
}

}  // namespace penstock::apps
