// SPDX-License-Identifier: Apache-2.0
// What the benchmarks need of a device: a stream of it, and the libraries that send from its
// memory.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exchange.hpp"
#include "pattern.hpp"

namespace penstock::bench {

struct TripTime {
  double us;
  double call_us = 0;  // what enqueueing it has cost the caller, where all is enqueued ahead
};

// What the calls of one trip cost the caller, in us: together, and each kind by itself.
struct CallCosts {
  double together = 0;
  std::vector<CallCost> calls;
};

// One library's side of a row.
class Side {
 public:
  explicit Side(std::string name) : name_(std::move(name)) {}
  virtual ~Side() = default;

  const std::string& name() const { return name_; }
  virtual std::string transport() const { return {}; }  // Penstock's
  virtual std::string algorithm() const { return {}; }  // that Penstock's collective has
  // Where they lie on the device; none where the library keeps them to itself.
  virtual std::span<const Message> messages() const { return {}; }
  // A warm-up and this many trips. Collective; the time is that of this rank.
  virtual TripTime run_round(int trips) = 0;
  // What --check has found in all rounds.
  virtual CheckResult checked() const = 0;
  // Where one trip is enqueued behind the other, and each call can be timed by itself.
  virtual std::optional<CallCosts> call_costs() { return std::nullopt; }
  // The blocks of the library's largest kernel, which is how many SMs it takes; known in graphs.
  virtual std::optional<unsigned> blocks() const { return std::nullopt; }

 private:
  std::string name_;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string description() const = 0;
  // The sides of each row that need not be asked for.
  virtual std::vector<std::string> libraries() const = 0;
  // Returns null, with the reason, where the library cannot be had, or cannot do this. Collective.
  virtual std::unique_ptr<Side> make_side(const std::string& library, const Traffic& traffic,
                                          std::string& why_not) = 0;
  // Between memory of the host and of the device, while nothing is under way.
  virtual void copy(std::span<std::byte> to, std::span<const std::byte> from) = 0;
  // How many trips a round times.
  virtual int trips_for(const Row& row) const = 0;
};

// The sides of a benchmark that need not be asked for. Of bench rma Penstock's windows are the
// first.
std::vector<std::string> host_libraries(Kind kind);
std::vector<std::string> cuda_libraries(Kind kind);

std::unique_ptr<Device> make_host_device(const Options& options);
// Throws tool::UserError where there is no GPU.
std::unique_ptr<Device> make_cuda_device(const Options& options, const tool::Session& session);
// The one that the options name. Throws tool::UserError where it cannot be had.
std::unique_ptr<Device> make_device(const Options& options, const tool::Session& session);

// The first tag of each library's messages on MPI_COMM_WORLD: each needs as many as a halo has
// directions.
namespace tags {
inline constexpr int mpi = 100, penstock = 200, nonblocking = 300, contiguous = 400, packed = 500,
                     windows = 600, mpi_windows = 700, enqueued = 800, windows_batch = 900,
                     mpi_fence = 1000, mpi_lock = 1100;
}

inline constexpr const char* nonblocking = "mpi-nonblocking";
// MPI's collectives without the synchronisation of a stream that "mpi" has before each.
inline constexpr const char* mpi_alone = "mpi-alone";
// Penstock's messages that MPI matches.
inline constexpr const char* enqueued = "enqueued";
// The same where both ends have promised to enqueue, so that it matches none.
inline constexpr const char* promised = "promised";
// One-sided: Penstock's epochs on a stream, call by call or in batches, and MPI's own: post to
// wait, fences, and locks.
inline constexpr const char* windows = "windows";
inline constexpr const char* windows_batch = "windows-batch";
inline constexpr const char* mpi_windows = "mpi-windows";
inline constexpr const char* mpi_fence = "mpi-fence";
inline constexpr const char* mpi_lock = "mpi-lock";
// Penstock's two-sided messages, where "penstock" are its windows.
inline constexpr const char* two_sided = "two-sided";
// Beside messages in rows.
inline constexpr const char* contiguous = "contiguous";
inline constexpr const char* packed = "packed";

// Throws tool::UserError on both ranks when --transport was given and another transport serves the
// pair.
void require_transport(const Options& options, const std::string& transport);

}  // namespace penstock::bench
