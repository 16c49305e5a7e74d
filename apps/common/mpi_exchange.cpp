// SPDX-License-Identifier: Apache-2.0
// Plain MPI: the host waits for the packing, sends, waits for all messages and has them unpacked.
#include "common/mpi_rounds.hpp"

namespace penstock::apps {
namespace {

class MpiExchange final : public MpiWaitallRounds {
 public:
  MpiExchange(const Options& options, Work& work) : MpiWaitallRounds(Comm::mpi, options, work) {}

 private:
  void send(int set) override {
    for (int message = 0; message < buffers_.count(); ++message) buffers_.send(set, message);
  }
  void wait_for_receives(int /*set*/) override { buffers_.wait_for_receives(); }
};

}  // namespace

std::unique_ptr<Exchange> make_mpi_exchange(const Options& options, Work& work) {
  return std::make_unique<MpiExchange>(options, work);
}

}  // namespace penstock::apps
