// SPDX-License-Identifier: Apache-2.0
#include "common/exchange.hpp"

#include <stdexcept>

namespace penstock::apps {

std::unique_ptr<Exchange> make_exchange(Comm comm, const Options& options, Work& work, int rounds) {
  switch (comm) {
    case Comm::mpi:
      return make_mpi_exchange(options, work);
    case Comm::mpi_waitany:
      return make_mpi_waitany_exchange(options, work);
    case Comm::mpi_persistent:
      return make_mpi_persistent_exchange(options, work);
    case Comm::mpi_datatype:
    case Comm::stream_datatype:
      throw std::logic_error("datatypes are the program's");
    case Comm::stream_nccl:
    case Comm::graph_nccl:
      throw std::logic_error("what ranks combine is the program's");
    case Comm::stream:
      return make_stream_exchange(options, work);
    case Comm::stream_ready:
      return make_stream_ready_exchange(options, work);
    case Comm::mpi_rma:
      return make_mpi_window_exchange(options, work);
    case Comm::stream_rma:
      return make_window_exchange(options, work);
    case Comm::stream_rma_batch:
      return make_window_batch_exchange(options, work);
    case Comm::graph_rma:
      return make_window_graph_exchange(options, work, rounds);
    case Comm::zero_copy:
      return make_zero_copy_exchange(options, work);
    case Comm::hpe:
      return make_enqueued_exchange(options, work);
    case Comm::hpe_promised:
      return make_promised_exchange(options, work);
    case Comm::hpe_send:
      return make_enqueued_sends_exchange(options, work);
    case Comm::graph:
      return make_graph_exchange(options, work, rounds);
  }
  throw std::logic_error("a variant that nobody makes");
}

}  // namespace penstock::apps
