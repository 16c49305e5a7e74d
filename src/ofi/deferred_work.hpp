// SPDX-License-Identifier: Apache-2.0
// The operations that this transport is made of, as the provider wants them: deferred until a
// counter reaches a threshold, or at once.
#pragma once

#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_trigger.h>

#include <cstddef>
#include <cstdint>

#include "base/no_copy.hpp"
#include "ofi/fabric.hpp"
#include "protocol/epoch.hpp"

namespace penstock::ofi {

class EngineClient;

// A place in the memory of a process.
struct Target {
  fi_addr_t process = FI_ADDR_UNSPEC;
  std::uint64_t address = 0;
  std::uint64_t key = 0;
};

struct Source {
  const void* memory = nullptr;
  std::size_t bytes = 0;
  void* descriptor = nullptr;
};

// A write, a read, or an addition of one to a word, with all that the provider's structures point
// to.
class RdmaOperation : private base::NoCopy {
 public:
  RdmaOperation() noexcept { work_.operation = this; }

  void make_write(fid_ep* endpoint, const Source& source, const Target& target) noexcept;
  // Its end says that it can be seen there: what is issued behind it may tell of it. The end of
  // other writes may say no more than that the source is free.
  void make_visible_write(fid_ep* endpoint, const Source& source, const Target& target) noexcept;
  void make_read(fid_ep* endpoint, const Source& landing, const Target& from) noexcept;
  void make_addition(fid_ep* endpoint, const Source& one, const Target& target) noexcept;

  // Queues it: it runs when `trigger` has reached `threshold`, and then counts on `completion`. 0
  // or a negative code.
  int defer(fid_domain* domain, fid_cntr* trigger, std::uint64_t threshold,
            fid_cntr* completion) noexcept;
  // Runs it now. Its end is reported to the completion queue if `reported`; otherwise only a
  // failure is. What it reads is copied before this returns if `copied` (small operations only).
  ssize_t issue(bool reported, bool copied) noexcept;

  enum class Role : std::uint8_t { data, signal, addition, credit, credit_query, page, notice };
  void belong_to(EngineClient& client, Role its_role) noexcept {
    owner = &client;
    role = its_role;
  }

  // Returns the operation of which the completion queue reports.
  static RdmaOperation& of(void* context) noexcept {
    return *static_cast<Work*>(context)->operation;
  }

  EngineClient* owner = nullptr;  // hears of its end
  protocol::Epoch epoch = 0;      // it is for
  Role role = Role::data;
  bool under_way = false;         // issued, and its end has not been reported
  std::uint64_t number = 0;       // what the counter of its end shows then
  RdmaOperation* next = nullptr;  // in a list of its owner's

 private:
  // Completions name the operation by the address of its context, which is the first in here.
  struct Work {
    fi_deferred_work deferred{};
    RdmaOperation* operation = nullptr;
  };
  static_assert(offsetof(fi_deferred_work, context) == 0);

  enum class Transfer : std::uint8_t { write, read, addition };

  void* context() noexcept { return &work_; }
  void make_transfer(Transfer kind, fid_ep* endpoint, const Source& here,
                     const Target& there) noexcept;

  Work work_;
  Transfer kind_ = Transfer::write;
  std::uint64_t flags_ = 0;
  void* descriptor_ = nullptr;
  iovec local_{};
  fi_rma_iov remote_{};
  fi_ioc operand_{};
  fi_rma_ioc word_{};
  fi_op_rma transfer_{};
  fi_op_atomic addition_{};
};

}  // namespace penstock::ofi
