// SPDX-License-Identifier: Apache-2.0
// One-sided epochs by MPI: the host opens and closes those of each round, and waits for the packing
// in between.
#include <array>
#include <vector>

#include "common/mpi_rounds.hpp"
#include "common/window_targets.hpp"

namespace penstock::apps {
namespace {

// MPI's windows lie in memory of the host, which a GPU's kernels reach as well.
class MpiEpochs final : public MpiWaitallRounds {
 public:
  MpiEpochs(const Options& options, Work& work)
      : MpiWaitallRounds(Comm::mpi_rma, in_host_memory(options), work),
        group_(group_of(work.neighbours())) {
    for (int set = 0; set < 2; ++set) {
      displacements_[set] = target_displacements(work.neighbours(), buffers_.incoming(set));
      const std::span<double> all = buffers_.incoming(set).all();
      MPI_Win_create(all.data(), static_cast<MPI_Aint>(all.size_bytes()), sizeof(double),
                     MPI_INFO_NULL, MPI_COMM_WORLD, &windows_[set]);
    }
  }
  ~MpiEpochs() override {
    for (MPI_Win& window : windows_) MPI_Win_free(&window);
  }
  std::string transport() const override { return buffers_.transport(); }

 private:
  static Options in_host_memory(Options options) {
    options.pinned = options.device == DeviceKind::gpu;
    return options;
  }
  void post_receives(int set) override { MPI_Win_post(group_.get(), 0, windows_[set]); }
  void send(int set) override {
    MPI_Win_start(group_.get(), 0, windows_[set]);
    for (int i = 0; i < buffers_.count(); ++i) {
      const std::span<double> from = buffers_.outgoing(set, i);
      MPI_Put(from.data(), static_cast<int>(from.size()), MPI_DOUBLE, buffers_.neighbour(i).rank,
              displacements_[set][static_cast<std::size_t>(i)], static_cast<int>(from.size()),
              MPI_DOUBLE, windows_[set]);
    }
    MPI_Win_complete(windows_[set]);
  }
  void wait_for_receives(int set) override { MPI_Win_wait(windows_[set]); }
  void wait_for_sends(int /*set*/) override {}

  const Group group_;
  std::array<std::vector<MPI_Aint>, 2> displacements_;
  std::array<MPI_Win, 2> windows_{MPI_WIN_NULL, MPI_WIN_NULL};
};

}  // namespace

std::unique_ptr<Exchange> make_mpi_window_exchange(const Options& options, Work& work) {
  return std::make_unique<MpiEpochs>(options, work);
}

}  // namespace penstock::apps
