// SPDX-License-Identifier: Apache-2.0
// The floor: everything but the messages. What is unpacked is what the buffers held at first.
#include "common/exchange.hpp"

namespace penstock::apps {
namespace {

class MockExchange final : public Exchange {
 public:
  MockExchange(const Options& options, Work& work)
      : work_(work),
        lane_(make_lane(options.device, Comm::mpi)),
        out_(make(options, work)),
        in_(make(options, work)) {}

  std::string transport() const override { return "none"; }
  Lane& lane() override { return *lane_; }

  void run(int rounds) override {
    for (int round = 0; round < rounds; ++round) {
      phases_.enter(Phase::pre_comm);
      lane_->launch([this] { work_.begin(*lane_); });
      phases_.enter(Phase::post_send);
      lane_->launch([this] { work_.pack(*lane_, out_.sides(), nowhere); });
      phases_.enter(Phase::wait_recv);
      lane_->launch([this] { work_.unpack(*lane_, in_.sides(), nowhere); });
      phases_.enter(Phase::post_comm);
      lane_->launch([this] { work_.end(*lane_); });
      phases_.leave();
    }
    lane_->synchronize();
  }

 private:
  static SideBuffers make(const Options& options, const Work& work) {
    return {work.neighbours(), [&](std::size_t bytes) {
              return options.pinned ? allocate_pinned(bytes)
                                    : allocate(options.device, Use::messages, bytes);
            }};
  }

  Work& work_;
  std::unique_ptr<Lane> lane_;
  SideBuffers out_;
  SideBuffers in_;
};

}  // namespace

std::unique_ptr<Exchange> make_mock_exchange(const Options& options, Work& work) {
  return std::make_unique<MockExchange>(options, work);
}

}  // namespace penstock::apps
