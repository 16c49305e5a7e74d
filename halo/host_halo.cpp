// SPDX-License-Identifier: Apache-2.0
// The exchange driven by the host, by MPI alone.
#include "agreement.hpp"
#include "messages.hpp"

namespace penstock::halo::detail {

using penstock::detail::check;

class HostHalo {
 public:
  HostHalo(PST_Queue_type type, void* stream, const GridShape& grid, const Options& options,
           Waits waits, std::span<const Array> arrays)
      : grid_(grid), waits_(waits), shapes_(arrays.begin(), arrays.end()) {
    together(grid_.comm(), [&] { check_arguments(grid_, options, shapes_); });
    expect_same(grid_.comm(), description(options, shapes_));
    together(grid_.comm(), [&] {
      if (options.sends == Sends::ready) refuse("ready sends need an exchange on a stream");
      steering_ = make_steering(grid_, options, shapes_);
      mover_ = make_mover(type, stream, steering_);
      const bool staged = options.staged || !mover_->mpi_takes_memory();
      memory_ = type == PST_QUEUE_HOST ? "host memory" : staged ? "pinned memory" : "device memory";
      messages_ =
          std::make_unique<Messages>(*mover_, steering_, grid_.comm(), Sends::standard, 0, staged);
    });
  }

  ~HostHalo() {
    if (!penstock::detail::library_is_running()) return;
    try {
      mover_->synchronize();
    } catch (const Error&) {
      // The stream is the program's, which will see it.
    }
  }
  HostHalo(const HostHalo&) = delete;
  HostHalo& operator=(const HostHalo&) = delete;

  void exchange(Direction direction, Reduction reduction, std::span<const Array> arrays) {
    check_arrays(shapes_, arrays);
    if (steering_.neighbours.empty()) return;
    mover_->pack(direction, arrays, messages_->outgoing());
    mover_->synchronize();
    const std::span<MPI_Request> all = messages_->all();
    check(MPI_Startall(static_cast<int>(all.size()), all.data()), "MPI_Startall");
    if (waits_ == Waits::any && direction == Direction::gather) {
      unpack_any(arrays);
    } else {
      check(MPI_Waitall(static_cast<int>(all.size()), all.data(), MPI_STATUSES_IGNORE),
            "MPI_Waitall");
      mover_->unpack(direction, reduction, arrays, messages_->incoming());
    }
  }

  const char* memory() const noexcept { return memory_; }

 private:
  void unpack_any(std::span<const Array> arrays) {
    const std::span<MPI_Request> receives = messages_->receives();
    const std::span<MPI_Request> sends = messages_->sends();
    for (std::size_t i = 0; i < receives.size(); ++i) {
      int which = 0;
      check(MPI_Waitany(static_cast<int>(receives.size()), receives.data(), &which,
                        MPI_STATUS_IGNORE),
            "MPI_Waitany");
      mover_->unpack_from(static_cast<std::size_t>(which), arrays, messages_->incoming());
    }
    check(MPI_Waitall(static_cast<int>(sends.size()), sends.data(), MPI_STATUSES_IGNORE),
          "MPI_Waitall");
  }

  GridShape grid_;
  Waits waits_;
  const char* memory_ = "";
  std::vector<Array> shapes_;
  Steering steering_;
  std::unique_ptr<Mover> mover_;
  std::unique_ptr<Messages> messages_;
};

void Deleter::operator()(HostHalo* halo) const noexcept {
  delete halo;
}

std::unique_ptr<HostHalo, Deleter> make_host_halo(PST_Queue_type type, void* stream,
                                                  const GridShape& grid, const Options& options,
                                                  Waits waits, std::span<const Array> arrays) {
  return std::unique_ptr<HostHalo, Deleter>(
      new HostHalo(type, stream, grid, options, waits, arrays));
}

void exchange(HostHalo& halo, Direction direction, Reduction reduction,
              std::span<const Array> arrays) {
  halo.exchange(direction, reduction, arrays);
}

std::string memory(const HostHalo& halo) {
  return halo.memory();
}

}  // namespace penstock::halo::detail
