// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_trigger.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "libfabric.hpp"

namespace penstock::bench {

struct FreeFabricInfo {
  void operator()(fi_info* info) const noexcept { libfabric().freeinfo(info); }
};
using FabricInfo = std::unique_ptr<fi_info, FreeFabricInfo>;

// The provider and the interface that Penstock would take, too: that of PENSTOCK_OFI_PROVIDER and
// PENSTOCK_OFI_INTERFACE if they are set, loopback if both ranks are on one host. Null if there is
// none.
FabricInfo find_fabric(bool manual, bool one_host);

// One process's end of the chain: an endpoint, the messages on their way out and in, the word that
// counts those that have come, and the deferred work of a few epochs.
class ChainEnd {
 public:
  ChainEnd(FabricInfo info, std::size_t bytes, int peer);  // collective
  ~ChainEnd();
  ChainEnd(const ChainEnd&) = delete;
  ChainEnd& operator=(const ChainEnd&) = delete;

  std::vector<std::byte> outgoing;
  std::vector<std::byte> incoming;

  // Queues the write and the addition of this epoch: they go when the trigger has reached it. The
  // epochs come in order.
  void defer(std::uint64_t epoch);
  void trigger(std::uint64_t count);
  bool has_come(std::uint64_t epoch) noexcept;
  bool has_arrived(std::uint64_t epoch) noexcept;  // at the peer
  // Throws std::runtime_error if an operation has failed.
  void progress();

 private:
  static constexpr std::size_t epochs_deferred = 4;

  // What libfabric reads until the operations have ended.
  struct Epoch {
    fi_deferred_work write{};
    fi_deferred_work addition{};
    fi_op_rma write_op{};
    fi_op_atomic addition_op{};
    iovec source{};
    fi_rma_iov place{};
    fi_ioc operand{};
    fi_rma_ioc word{};
  };
  // What the peer has to know.
  struct Landing {
    char name[128];
    std::size_t name_bytes;
    std::uint64_t message;
    std::uint64_t message_key;
    std::uint64_t word;
    std::uint64_t word_key;
  };

  void open();
  fid_cntr* open_counter();
  fid_mr* open_region(void* memory, std::size_t bytes, std::uint64_t key);
  std::uint64_t remote_address(const void* memory) const noexcept;
  void meet(int peer);
  void prepare(Epoch& epoch, std::uint64_t number);
  void queue(fi_deferred_work& work);
  void* descriptor(fid_mr* region) const noexcept;

  FabricInfo info_;
  fid_fabric* fabric_ = nullptr;
  fid_domain* domain_ = nullptr;
  fid_av* addresses_ = nullptr;
  fid_cq* completions_ = nullptr;
  fid_ep* endpoint_ = nullptr;
  fid_cntr* trigger_ = nullptr;  // the stream's
  fid_cntr* written_ = nullptr;  // triggers the addition
  fid_cntr* signalled_ = nullptr;
  fid_mr* outgoing_region_ = nullptr;
  fid_mr* incoming_region_ = nullptr;
  fid_mr* word_region_ = nullptr;
  fid_mr* one_region_ = nullptr;
  alignas(64) std::uint64_t word_ = 0;  // counts the messages that have come
  alignas(64) std::uint64_t one_ = 1;
  Landing there_{};
  fi_addr_t peer_ = FI_ADDR_UNSPEC;
  void* outgoing_descriptor_ = nullptr;
  void* one_descriptor_ = nullptr;
  std::array<Epoch, epochs_deferred> epochs_;
};

}  // namespace penstock::bench
