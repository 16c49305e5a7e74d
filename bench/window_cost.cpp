// SPDX-License-Identifier: Apache-2.0
#include "window_cost.hpp"

#include <penstock/window.hpp>

#include "host_device.hpp"
#include "support/clock.hpp"

namespace penstock::bench {
namespace {

constexpr int puts = 1000;
constexpr std::size_t elements = puts;
constexpr int windows_a_round = 5;

struct MpiWindow {
  MpiWindow() {
    MPI_Win_allocate(elements * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD,
                     &base, &window);
  }
  ~MpiWindow() { MPI_Win_free(&window); }
  MpiWindow(const MpiWindow&) = delete;
  double* base = nullptr;
  MPI_Win window = MPI_WIN_NULL;
};

// What each put of 8 bytes costs in an access epoch that is open, in ns.
double time_puts(MPI_Win window, int target) {
  const double number = 1;
  const double begin = tool::now_us();
  for (int i = 0; i < puts; ++i) MPI_Put(&number, 1, MPI_DOUBLE, target, i, 1, MPI_DOUBLE, window);
  return (tool::now_us() - begin) * 1000 / puts;
}

double time_puts_on_stream(Window<double>& window, const Group& peer, int target,
                           HostStream& host) {
  ExposureEpoch exposure = window.post(peer, host.queue);
  AccessEpoch<double> access = window.start(peer);
  const double ns = time_puts(window.get(), target);
  access.complete(host.queue);
  exposure.wait();
  host.queue.synchronize();
  return ns;
}

double time_puts_of_mpi(MPI_Win window, const Group& peer, int target) {
  MPI_Win_post(peer.get(), 0, window);
  MPI_Win_start(peer.get(), 0, window);
  const double ns = time_puts(window, target);
  MPI_Win_complete(window);
  MPI_Win_wait(window);
  return ns;
}

// Of several, in us. The end of each is not counted.
template <class Make>
double time_making(Make make) {
  double us = 0;
  for (int i = 0; i < windows_a_round; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = tool::now_us();
    const auto window = make();
    us += tool::now_us() - begin;
  }
  return us / windows_a_round;
}

}  // namespace

void print_window_costs(const Options& options, const tool::Session& session, const Table& table) {
  const int peer = 1 - session.rank();
  const Group group(MPI_COMM_WORLD, {peer});
  HostStream host;
  std::vector<double> put, put_by_mpi, making, making_by_mpi;
  {
    Window<double> window(MPI_COMM_WORLD, elements);
    const MpiWindow mpi;
    for (int round = 0; round < options.rounds; ++round) {
      put.push_back(time_puts_on_stream(window, group, peer, host));
      put_by_mpi.push_back(time_puts_of_mpi(mpi.window, group, peer));
    }
  }
  for (int round = 0; round < options.rounds; ++round) {
    making.push_back(
        time_making([] { return std::make_unique<Window<double>>(MPI_COMM_WORLD, elements); }));
    making_by_mpi.push_back(time_making([] { return std::make_unique<MpiWindow>(); }));
  }
  const tool::Summary mpi_put = tool::summarize(put_by_mpi);
  const tool::Summary mpi_making = tool::summarize(making_by_mpi);
  table.print_cost("put of 8 bytes, cost to the caller", "ns", tool::summarize(put), &mpi_put);
  table.print_cost("making a window of 8 KB", "us", tool::summarize(making), &mpi_making);
}

}  // namespace penstock::bench
