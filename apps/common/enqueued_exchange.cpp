// SPDX-License-Identifier: Apache-2.0
// Messages that the stream triggers and MPI matches, made anew each round: pack, one trigger, what
// is inside beside it, one wait, unpack. Either all messages are enqueued, and the host waits once,
// at the end; or sends alone, as in the paper that the interface is from, and the host receives,
// and waits for that in each round.
#include <array>
#include <penstock/penstock.hpp>
#include <vector>

#include "common/gpu/gpu.hpp"
#include "common/stream_rounds.hpp"
#include "support/promised_comm.hpp"

namespace penstock::apps {
namespace {

class EnqueuedExchange : public StreamRounds {
 public:
  EnqueuedExchange(const Options& options, Work& work, Comm comm)
      : StreamRounds(options, work, comm),
        out_{message_buffers(options, neighbours()), message_buffers(options, neighbours())},
        in_(comm != Comm::hpe_send || takes_device_memory(options)
                ? Sets{message_buffers(options, neighbours()),
                       message_buffers(options, neighbours())}
                : Sets{pinned(), pinned()}) {}

 protected:
  using Sets = std::array<SideBuffers, 2>;

  static bool takes_device_memory(const Options& options) {
    return options.device == DeviceKind::host ||
           (!options.staged && gpu::mpi_takes_device_memory());
  }
  const Sides& out(std::size_t set) const override { return out_[set].sides(); }
  const Sides& in(std::size_t set) const override { return in_[set].sides(); }
  std::span<double> incoming(std::size_t set, const Neighbour& from) const {
    return in_[set].message(from);
  }
  void enqueue_sends(std::size_t set, MPI_Request* first) {
    for (const Neighbour& each : neighbours())
      lane_->queue().send(out_[set].message(each), each.rank, tag_of(each.direction, 0), comm(),
                          std::exchange(first, nullptr));
  }

  void enqueue(int rounds) override {
    fork();
    for (int round = 0; round < rounds; ++round) exchange(round, rounds);
    join();
    finish();
  }

  virtual MPI_Comm comm() const { return MPI_COMM_WORLD; }
  // Around the packing, the trigger and the unpacking of a round.
  virtual void post_receives(std::size_t /*set*/) {}
  virtual void enqueue_messages(std::size_t set) = 0;
  virtual void before_unpacking() = 0;
  virtual void after_unpacking() {}
  virtual void finish() {}  // behind the last round

 private:
  SideBuffers pinned() const { return {neighbours(), allocate_pinned}; }

  void exchange(int round, int rounds) {
    phases_.enter(Phase::post_recv);
    post_receives(set_of(round));
    pack(round);
    enqueue_messages(set_of(round));
    lane_->queue().trigger();
    compute_inside();
    phases_.enter(Phase::wait_recv);
    before_unpacking();
    unpack(round, rounds);
    phases_.enter(Phase::wait_send);
    after_unpacking();
    finish_round();
  }

  Sets out_;
  Sets in_;
};

class AllEnqueued : public EnqueuedExchange {
 public:
  AllEnqueued(const Options& options, Work& work, Comm comm = Comm::hpe)
      : EnqueuedExchange(options, work, comm),
        transport_(options.device == DeviceKind::host ? "MPI, enqueued"
                                                      : "MPI, enqueued, pinned copies") {}
  std::string transport() const override { return transport_; }

 private:
  void enqueue_messages(std::size_t set) override {
    for (const Neighbour& each : neighbours())
      lane_->queue().receive(incoming(set, each), each.rank, tag_of(opposite(each.direction), 0),
                             comm());
    enqueue_sends(set, nullptr);
  }
  void before_unpacking() override { lane_->queue().wait_outstanding(); }

  const char* const transport_;
};

class PromisedExchange final : public AllEnqueued {
 public:
  PromisedExchange(const Options& options, Work& work)
      : AllEnqueued(options, work, Comm::hpe_promised) {}
  std::string transport() const override { return "enqueued at both ends"; }

 private:
  MPI_Comm comm() const override { return promised_.get(); }

  const tool::PromisedComm promised_;
};

// A set may be received into when it has been unpacked, two rounds ago. The sends of the round
// before are behind that in the order of the stream, so that one of them is complete proves it.
class SendsEnqueued final : public EnqueuedExchange {
 public:
  SendsEnqueued(const Options& options, Work& work)
      : EnqueuedExchange(options, work, Comm::hpe_send),
        transport_(options.device == DeviceKind::host ? "MPI, sends enqueued"
                   : takes_device_memory(options)     ? "MPI, sends enqueued; into device memory"
                                                      : "MPI, sends enqueued; into pinned memory"),
        receives_(neighbours().size(), MPI_REQUEST_NULL) {}
  std::string transport() const override { return transport_; }

 private:
  void post_receives(std::size_t set) override {
    wait_for_sent();
    for (std::size_t i = 0; i < receives_.size(); ++i) {
      const Neighbour& from = neighbours()[i];
      const std::span<double> to = incoming(set, from);
      MPI_Irecv(to.data(), static_cast<int>(to.size()), MPI_DOUBLE, from.rank,
                tag_of(opposite(from.direction), 0), MPI_COMM_WORLD, &receives_[i]);
    }
  }
  void enqueue_messages(std::size_t set) override { enqueue_sends(set, &sent_); }
  void before_unpacking() override {
    MPI_Waitall(static_cast<int>(receives_.size()), receives_.data(), MPI_STATUSES_IGNORE);
  }
  void after_unpacking() override { lane_->queue().wait_outstanding(); }
  void finish() override { wait_for_sent(); }
  // NOLINTNEXTLINE(clang-analyzer-optin.mpi.MPI-Checker): PST_Enqueue_send has made it
  void wait_for_sent() { MPI_Wait(&sent_, MPI_STATUS_IGNORE); }

  const char* const transport_;
  std::vector<MPI_Request> receives_;
  MPI_Request sent_ = MPI_REQUEST_NULL;  // of the first send of the last round
};

}  // namespace

std::unique_ptr<Exchange> make_enqueued_exchange(const Options& options, Work& work) {
  return std::make_unique<AllEnqueued>(options, work);
}

std::unique_ptr<Exchange> make_promised_exchange(const Options& options, Work& work) {
  return std::make_unique<PromisedExchange>(options, work);
}

std::unique_ptr<Exchange> make_enqueued_sends_exchange(const Options& options, Work& work) {
  return std::make_unique<SendsEnqueued>(options, work);
}

}  // namespace penstock::apps
