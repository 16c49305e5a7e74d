// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/mpi_buffers.hpp"

namespace penstock::apps {

// Rounds that the host drives by calls of MPI. Variants differ in what they wait for before they
// send and unpack.
class MpiRounds : public Exchange {
 public:
  MpiRounds(Comm comm, const Options& options, Work& work)
      : work_(work),
        lane_(make_lane(options.device, comm)),
        buffers_(options, work.neighbours(), *lane_) {}

  std::string transport() const override { return buffers_.transport(); }
  Lane& lane() override { return *lane_; }
  void run(int rounds) override;

 protected:
  virtual void post_receives(int set) { buffers_.post_receives(set); }
  // What is inside is computed here, too.
  virtual void pack_and_send(int set, bool is_packed) = 0;
  // With `packs_next` what is unpacked is packed into the other set for the next round.
  virtual void receive_and_unpack(int set, bool packs_next) = 0;
  virtual void wait_for_sends(int /*set*/) { buffers_.wait_for_sends(); }

  void compute_inside();
  void unpack(int set, int region, bool packs_next);

  Work& work_;
  std::unique_ptr<Lane> lane_;
  MpiBuffers buffers_;

 private:
  void exchange(int set, bool is_packed, bool packs_next);
};

// All messages are waited for at once, before they are sent and before they are unpacked.
class MpiWaitallRounds : public MpiRounds {
 public:
  using MpiRounds::MpiRounds;

 protected:
  virtual void send(int set) = 0;
  virtual void wait_for_receives(int set) = 0;

 private:
  void pack_and_send(int set, bool is_packed) final;
  void receive_and_unpack(int set, bool packs_next) final;
  void stage_out(int set);
};

}  // namespace penstock::apps
