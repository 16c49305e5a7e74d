// SPDX-License-Identifier: Apache-2.0
// What the command lines of the example programs have in common.
#pragma once

#include <CLI/CLI.hpp>
#include <array>
#include <string>
#include <vector>

#include "support/session.hpp"

namespace penstock::apps {

// How messages go: driven by the host, which waits for all of them or for any, with requests made
// anew or persistent, of datatypes that MPI packs, or as puts; or by the stream, with standard
// sends, with ready sends, of datatypes, captured into a graph, as puts, as stores into the
// neighbours' memory, or matched by MPI, sends alone or all (hpe), or by nobody, as both ends have
// promised to enqueue all. Where NCCL stands in a name, what all ranks combine goes by NCCL, beside
// messages of the stream.
enum class Comm {
  mpi,
  mpi_waitany,
  mpi_persistent,
  mpi_datatype,
  mpi_rma,
  stream,
  stream_ready,
  stream_datatype,
  graph,
  stream_nccl,
  graph_nccl,
  stream_rma,
  stream_rma_batch,
  graph_rma,
  zero_copy,
  hpe_send,
  hpe,
  hpe_promised
};

// The GPU is that of the build: CUDA's or HIP's.
enum class DeviceKind { host, gpu };

const char* name_of(Comm comm);
const char* name_of(DeviceKind device) noexcept;
bool is_host_driven(Comm comm);
bool uses_datatypes(Comm comm);  // in place of packing by the program
bool uses_nccl(Comm comm);
bool needs_graphs(Comm comm);
// Enqueued messages need MPI_THREAD_MULTIPLE, which costs all that use MPI in the same run.
bool needs_all_threads(Comm comm);
// Windows, which not every machine serves, enqueued messages and NCCL are used only where --comm
// names them.
bool is_asked_by_name(Comm comm);

struct Options {
  // What the program has, in the order of its table.
  std::vector<Comm> offered{Comm::mpi, Comm::mpi_waitany, Comm::stream, Comm::stream_ready,
                            Comm::graph};
  std::vector<Comm> comms;  // none: all that the device has
  DeviceKind device = DeviceKind::host;
  bool staged = false;  // MPI is not given memory of a GPU, but pinned copies
  // The messages that MPI is given lie in pinned memory, which kernels write and read.
  bool pinned = false;
  bool verify = true;
  bool as_json = false;
};

// --comm, --device, --staged, --no-verify, --json.
void add_options(CLI::App& app, Options& options);

// --rounds.
void add_rounds(CLI::App& app, int& rounds);

// Three numbers with commas, one a dimension.
void add_triple(CLI::App& app, const std::string& name, std::array<int, 3>& values,
                const CLI::Range& range, const std::string& text);

// What was asked for, once each, in the order of the table. Throws CLI::ValidationError for what
// the device or this build does not have.
std::vector<Comm> chosen_comms(const Options& options);

}  // namespace penstock::apps
