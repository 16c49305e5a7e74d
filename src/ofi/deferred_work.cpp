// SPDX-License-Identifier: Apache-2.0
#include "ofi/deferred_work.hpp"

#include <rdma/fi_errno.h>

namespace penstock::ofi {

void RdmaOperation::make_write(fid_ep* endpoint, const Source& source,
                               const Target& target) noexcept {
  make_transfer(Transfer::write, endpoint, source, target);
}

void RdmaOperation::make_visible_write(fid_ep* endpoint, const Source& source,
                                       const Target& target) noexcept {
  make_write(endpoint, source, target);
  flags_ = transfer_.flags = FI_DELIVERY_COMPLETE;
}

void RdmaOperation::make_read(fid_ep* endpoint, const Source& landing,
                              const Target& from) noexcept {
  make_transfer(Transfer::read, endpoint, landing, from);
}

void RdmaOperation::make_transfer(Transfer kind, fid_ep* endpoint, const Source& here,
                                  const Target& there) noexcept {
  kind_ = kind;
  flags_ = 0;
  descriptor_ = here.descriptor;
  local_ = {const_cast<void*>(here.memory), here.bytes};
  remote_ = {there.address, here.bytes, there.key};
  transfer_ = {};
  transfer_.ep = endpoint;
  transfer_.msg.msg_iov = &local_;
  transfer_.msg.desc = &descriptor_;
  transfer_.msg.iov_count = 1;
  transfer_.msg.addr = there.process;
  transfer_.msg.rma_iov = &remote_;
  transfer_.msg.rma_iov_count = 1;
  transfer_.msg.context = context();
}

void RdmaOperation::make_addition(fid_ep* endpoint, const Source& one,
                                  const Target& target) noexcept {
  kind_ = Transfer::addition;
  flags_ = 0;
  descriptor_ = one.descriptor;
  operand_.addr = const_cast<void*>(one.memory);
  operand_.count = 1;
  word_ = {target.address, 1, target.key};
  addition_ = {};
  addition_.ep = endpoint;
  addition_.msg.msg_iov = &operand_;
  addition_.msg.desc = &descriptor_;
  addition_.msg.iov_count = 1;
  addition_.msg.addr = target.process;
  addition_.msg.rma_iov = &word_;
  addition_.msg.rma_iov_count = 1;
  addition_.msg.datatype = FI_UINT64;
  addition_.msg.op = FI_SUM;
  addition_.msg.context = context();
}

int RdmaOperation::defer(fid_domain* domain, fid_cntr* trigger, std::uint64_t threshold,
                         fid_cntr* completion) noexcept {
  fi_deferred_work& work = work_.deferred;
  work.threshold = threshold;
  work.triggering_cntr = trigger;
  work.completion_cntr = completion;
  if (kind_ == Transfer::addition) {
    work.op_type = FI_OP_ATOMIC;
    work.op.atomic = &addition_;
  } else {
    work.op_type = kind_ == Transfer::read ? FI_OP_READ : FI_OP_WRITE;
    work.op.rma = &transfer_;
  }
  return fi_control(&domain->fid, FI_QUEUE_WORK, &work);
}

ssize_t RdmaOperation::issue(bool reported, bool copied) noexcept {
  const std::uint64_t flags = flags_ | (reported ? FI_COMPLETION : 0) | (copied ? FI_INJECT : 0);
  switch (kind_) {
    case Transfer::write:
      return fi_writemsg(transfer_.ep, &transfer_.msg, flags);
    case Transfer::read:
      return fi_readmsg(transfer_.ep, &transfer_.msg, flags);
    case Transfer::addition:
      return fi_atomicmsg(addition_.ep, &addition_.msg, flags);
  }
  return -FI_EINVAL;
}

}  // namespace penstock::ofi
