// SPDX-License-Identifier: Apache-2.0
#include "cg/sum.hpp"

#include <mpi.h>

#include <penstock/collectives.hpp>
#include <span>

#include "common/gpu/gpu.hpp"

namespace penstock::cg {
namespace {

class StreamSum final : public Sum {
 public:
  StreamSum(apps::Lane& lane, double& own, double& all)
      : lane_(lane),
        request_(allreduce_init(std::span(&own, 1), std::span(&all, 1), MPI_SUM, MPI_COMM_WORLD)) {
    match(request_);
  }

  std::optional<double> enqueue() override {
    lane_.queue().run(request_);
    return std::nullopt;
  }

 private:
  apps::Lane& lane_;
  Request request_;
};

class HostSum final : public Sum {
 public:
  HostSum(double& own, double& all) : own_(own), all_(all) {}

  std::optional<double> enqueue() override {
    MPI_Allreduce(&own_, &all_, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all_;
  }

 private:
  double& own_;
  double& all_;
};

// By the host, of numbers on a GPU. The copy is not written again before the lane has taken it: the
// next sum waits for the lane.
class FetchedSum final : public Sum {
 public:
  FetchedSum(apps::Lane& lane, double& own, double& all) : lane_(lane), own_(own), all_(all) {}

  std::optional<double> enqueue() override {
    double& copy = copy_.as<double>().front();
    apps::gpu::enqueue_copy(lane_.gpu_stream(), &copy, &own_, sizeof own_);
    lane_.synchronize();
    MPI_Allreduce(MPI_IN_PLACE, &copy, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    apps::gpu::enqueue_copy(lane_.gpu_stream(), &all_, &copy, sizeof all_);
    return copy;
  }

 private:
  apps::Lane& lane_;
  double& own_;
  double& all_;
  apps::Memory copy_ = apps::allocate_pinned(sizeof(double));
};

}  // namespace

std::unique_ptr<Sum> make_sum(apps::Comm comm, apps::DeviceKind device, apps::Lane& lane,
                              double& own, double& all) {
  if (apps::is_host_driven(comm)) {
    if (device == apps::DeviceKind::host) return std::make_unique<HostSum>(own, all);
    return std::make_unique<FetchedSum>(lane, own, all);
  }
  if (!apps::uses_nccl(comm)) return std::make_unique<StreamSum>(lane, own, all);
#if PENSTOCK_CUDA
  if (device == apps::DeviceKind::gpu) return make_nccl_sum(lane, own, all);
#endif
  throw NoNccl(std::string(apps::name_of(comm)) + " needs --device cuda");
}

}  // namespace penstock::cg
