// SPDX-License-Identifier: Apache-2.0
#include "common/mpi_buffers.hpp"

#include "common/gpu/gpu.hpp"

namespace penstock::apps {
namespace {

SideBuffers pinned(const std::vector<Neighbour>& neighbours) {
  return {neighbours, allocate_pinned};
}

// Where kernels pack, and where they unpack from.
SideBuffers packed(const Options& options, const std::vector<Neighbour>& neighbours) {
  if (options.pinned) return pinned(neighbours);
  return message_buffers(options, neighbours);
}

bool is_staged(const Options& options) {
  return options.device == DeviceKind::gpu && !options.pinned &&
         (options.staged || !gpu::mpi_takes_device_memory());
}

}  // namespace

MpiBuffers::MpiBuffers(const Options& options, const std::vector<Neighbour>& neighbours, Lane& lane)
    : neighbours_(neighbours),
      lane_(lane),
      out_{packed(options, neighbours), packed(options, neighbours)},
      in_{packed(options, neighbours), packed(options, neighbours)},
      transport_("MPI"),
      sends_(neighbours.size(), MPI_REQUEST_NULL),
      receives_(sends_) {
  if (is_staged(options))
    staging_.emplace(Staging{{pinned(neighbours), pinned(neighbours)},
                             {pinned(neighbours), pinned(neighbours)}});
  if (options.device == DeviceKind::gpu)
    transport_ = staging_         ? "MPI, pinned copies"
                 : options.pinned ? "MPI, pinned memory"
                                  : "MPI, device memory";
}

std::span<double> MpiBuffers::outgoing(int set, int message) const {
  return (staging_ ? staging_->out : out_)[static_cast<std::size_t>(set)].message(
      neighbour(message));
}

const SideBuffers& MpiBuffers::incoming(int set) const {
  return (staging_ ? staging_->in : in_)[static_cast<std::size_t>(set)];
}

std::span<double> MpiBuffers::incoming(int set, int message) const {
  return incoming(set).message(neighbour(message));
}

void MpiBuffers::stage_out(int set, int message) {
  if (!staging_) return;
  const auto from = out_[static_cast<std::size_t>(set)].message(neighbour(message));
  gpu::enqueue_copy(lane_.gpu_stream(), outgoing(set, message).data(), from.data(),
                    from.size_bytes());
}

void MpiBuffers::stage_in(int set, int message) {
  if (!staging_) return;
  const auto from = incoming(set, message);
  const auto to = in_[static_cast<std::size_t>(set)].message(neighbour(message));
  gpu::enqueue_copy(lane_.gpu_stream(), to.data(), from.data(), from.size_bytes());
}

void MpiBuffers::post_receives(int set) {
  for (int message = 0; message < count(); ++message) {
    const auto to = incoming(set, message);
    MPI_Irecv(to.data(), static_cast<int>(to.size()), MPI_DOUBLE, neighbour(message).rank,
              tag_of(opposite(neighbour(message).direction), 0), MPI_COMM_WORLD,
              &receives_[static_cast<std::size_t>(message)]);
  }
}

void MpiBuffers::send(int set, int message) {
  const auto from = outgoing(set, message);
  MPI_Isend(from.data(), static_cast<int>(from.size()), MPI_DOUBLE, neighbour(message).rank,
            tag_of(neighbour(message).direction, 0), MPI_COMM_WORLD,
            &sends_[static_cast<std::size_t>(message)]);
}

void MpiBuffers::wait_for_receives() {
  MPI_Waitall(count(), receives_.data(), MPI_STATUSES_IGNORE);
}

int MpiBuffers::wait_for_any_receive() {
  int message = MPI_UNDEFINED;
  MPI_Waitany(count(), receives_.data(), &message, MPI_STATUS_IGNORE);
  return message == MPI_UNDEFINED ? -1 : message;
}

void MpiBuffers::wait_for_sends() {
  MPI_Waitall(count(), sends_.data(), MPI_STATUSES_IGNORE);
}

}  // namespace penstock::apps
