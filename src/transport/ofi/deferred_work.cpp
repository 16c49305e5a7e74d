// SPDX-License-Identifier: Apache-2.0
#include "transport/ofi/deferred_work.hpp"

namespace penstock::transport::ofi {

void Operation::make_write(fid_ep* endpoint, const Source& source, const Target& target) noexcept {
  adds_ = false;
  descriptor_ = source.descriptor;
  source_ = {const_cast<void*>(source.memory), source.bytes};
  place_ = {target.address, source.bytes, target.key};
  write_ = {};
  write_.ep = endpoint;
  write_.msg.msg_iov = &source_;
  write_.msg.desc = &descriptor_;
  write_.msg.iov_count = 1;
  write_.msg.addr = target.process;
  write_.msg.rma_iov = &place_;
  write_.msg.rma_iov_count = 1;
  write_.msg.context = context();
}

void Operation::make_addition(fid_ep* endpoint, const Source& one, const Target& target) noexcept {
  adds_ = true;
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

int Operation::defer(fid_domain* domain, fid_cntr* trigger, std::uint64_t threshold, fid_cntr* completion) noexcept {
  fi_deferred_work& work = work_.deferred;
  work.threshold = threshold;
  work.triggering_cntr = trigger;
  work.completion_cntr = completion;
  if (adds_) {
    work.op_type = FI_OP_ATOMIC;
    work.op.atomic = &addition_;
  } else {
    work.op_type = FI_OP_WRITE;
    work.op.rma = &write_;
  }
  return fi_control(&domain->fid, FI_QUEUE_WORK, &work);
}

ssize_t Operation::issue(bool reported, bool copied) noexcept {
  const std::uint64_t flags = (reported ? FI_COMPLETION : 0) | (copied ? FI_INJECT : 0);
  return adds_ ? fi_atomicmsg(addition_.ep, &addition_.msg, flags) : fi_writemsg(write_.ep, &write_.msg, flags);
}

}  // namespace penstock::transport::ofi
