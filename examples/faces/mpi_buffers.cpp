// SPDX-License-Identifier: Apache-2.0
#include "faces/mpi_buffers.hpp"

#include "common/gpu/gpu.hpp"

namespace penstock::faces {
namespace {

SideBuffers on_device(const Setting& setting) {
  return SideBuffers(setting.grid.block(), [&](std::size_t bytes) {
    return examples::allocate(setting.options.device, examples::Use::messages, bytes);
  });
}

SideBuffers pinned(const Setting& setting) {
  return SideBuffers(setting.grid.block(), examples::allocate_pinned);
}

bool is_staged(const Setting& setting) {
  return setting.options.device == examples::DeviceKind::gpu &&
         (setting.options.staged || !examples::gpu::mpi_takes_device_memory());
}

}  // namespace

MpiBuffers::MpiBuffers(const Setting& setting, examples::Lane& lane)
    : setting_(setting),
      lane_(lane),
      out_(on_device(setting)),
      in_{on_device(setting), on_device(setting)},
      transport_("MPI"),
      sends_(setting.grid.neighbours().size(), MPI_REQUEST_NULL),
      receives_(sends_) {
  if (is_staged(setting)) staging_.emplace(Staging{pinned(setting), {pinned(setting), pinned(setting)}});
  if (setting.options.device == examples::DeviceKind::gpu)
    transport_ = staging_ ? "MPI, pinned copies" : "MPI, device memory";
}

void MpiBuffers::stage_out(int message) {
  if (!staging_) return;
  const auto from = out_.message(direction_of(message));
  examples::gpu::enqueue_copy(lane_.gpu_stream(), staging_->out.message(direction_of(message)).data(), from.data(),
                              from.size_bytes());
}

void MpiBuffers::stage_in(int set, int message) {
  if (!staging_) return;
  const auto from = staging_->in[static_cast<std::size_t>(set)].message(direction_of(message));
  examples::gpu::enqueue_copy(lane_.gpu_stream(),
                              in_[static_cast<std::size_t>(set)].message(direction_of(message)).data(), from.data(),
                              from.size_bytes());
}

void MpiBuffers::post_receives(int set) {
  const auto& buffers = (staging_ ? staging_->in : in_)[static_cast<std::size_t>(set)];
  for (int message = 0; message < count(); ++message) {
    const int direction = direction_of(message);
    const auto to = buffers.message(direction);
    MPI_Irecv(to.data(), static_cast<int>(to.size()), MPI_DOUBLE, setting_.grid.rank_at(direction),
              tag_of(opposite(direction), 0), MPI_COMM_WORLD, &receives_[static_cast<std::size_t>(message)]);
  }
}

void MpiBuffers::send(int message) {
  const int direction = direction_of(message);
  const auto from = (staging_ ? staging_->out : out_).message(direction);
  MPI_Isend(from.data(), static_cast<int>(from.size()), MPI_DOUBLE, setting_.grid.rank_at(direction),
            tag_of(direction, 0), MPI_COMM_WORLD, &sends_[static_cast<std::size_t>(message)]);
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

}  // namespace penstock::faces
