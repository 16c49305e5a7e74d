// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <penstock/halo.hpp>
#include <string>

#include "common/lane.hpp"

namespace penstock::apps {

// The ghost cells of a program's array, filled in the way that the variant stands for.
template <std::size_t N>
class Ghosts {
 public:
  template <class View>
  Ghosts(Comm comm, const Options& options, Lane& lane, const halo::Grid<N>& grid, const View& view)
      : on_gpu_(options.device == DeviceKind::gpu) {
    const halo::Options how{
        .width = 1,
        .sends = comm == Comm::stream_ready ? halo::Sends::ready : halo::Sends::standard,
        .staged = options.staged,
    };
    const halo::Waits waits = comm == Comm::mpi_waitany ? halo::Waits::any : halo::Waits::all;
    void* gpu_stream = lane.gpu_stream();
    PST_Stream host_stream = lane.host_stream();
    const PST_Queue_type type = !on_gpu_       ? PST_QUEUE_HOST
                                : PENSTOCK_HIP ? PST_QUEUE_HIP
                                               : PST_QUEUE_CUDA;
    void* const stream =
        on_gpu_ ? static_cast<void*>(&gpu_stream) : static_cast<void*>(&host_stream);
    if (!is_host_driven(comm)) {
      on_stream_.emplace(type, stream, grid, how, view);
    } else if (on_gpu_) {
      by_mpi_.emplace(type, stream, grid, how, waits, view);
    } else {
      by_mpi_.emplace(grid, how, waits, view);
    }
  }

  // In the order of the lane.
  template <class View>
  void fill(const View& view) {
    if (on_stream_) {
      on_stream_->enqueue_gather(view);
    } else {
      by_mpi_->gather(view);
    }
  }

  // Blocks until the lane's work has ended; throws where communication has failed.
  void synchronize() {
    if (on_stream_) on_stream_->synchronize();
  }

  // On a GPU also which memory MPI is given.
  std::string transport() const {
    if (on_stream_) return on_stream_->transport();
    return on_gpu_ ? "MPI, " + by_mpi_->memory() : "MPI";
  }

 private:
  bool on_gpu_;
  std::optional<halo::Halo<N>> on_stream_;
  std::optional<halo::MpiHalo<N>> by_mpi_;
};

}  // namespace penstock::apps
