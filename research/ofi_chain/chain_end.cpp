// SPDX-License-Identifier: Apache-2.0
#include "chain_end.hpp"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <mpi.h>
#include <netinet/in.h>
#include <rdma/fi_errno.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace penstock::bench {
namespace {

void check(const char* call, ssize_t code) {
  if (code >= 0) return;
  throw std::runtime_error(
      fmt::format("{}: {}", call, libfabric().strerror(static_cast<int>(-code))));
}

template <class Object>
void close(Object*& object) noexcept {
  if (object != nullptr) fi_close(&object->fid);
  object = nullptr;
}

std::string setting(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

struct Address {
  std::string text;
  bool loopback = false;
  bool link_local = false;
};

Address address_of(const fi_info& info) {
  char text[INET6_ADDRSTRLEN] = "";
  if (info.src_addr != nullptr && info.addr_format == FI_SOCKADDR_IN) {
    const in_addr& address = static_cast<const sockaddr_in*>(info.src_addr)->sin_addr;
    inet_ntop(AF_INET, &address, text, sizeof text);
    return {text, ntohl(address.s_addr) >> 24 == IN_LOOPBACKNET, false};
  }
  if (info.src_addr != nullptr && info.addr_format == FI_SOCKADDR_IN6) {
    const in6_addr& address = static_cast<const sockaddr_in6*>(info.src_addr)->sin6_addr;
    inet_ntop(AF_INET6, &address, text, sizeof text);
    return {text, IN6_IS_ADDR_LOOPBACK(&address) != 0, IN6_IS_ADDR_LINKLOCAL(&address) != 0};
  }
  return {};
}

bool may_be_taken(const fi_info& info, bool one_host) {
  const std::string provider = setting("PENSTOCK_OFI_PROVIDER");
  const std::string interface = setting("PENSTOCK_OFI_INTERFACE");
  const Address address = address_of(info);
  if (address.link_local || (address.loopback && !one_host)) return false;
  if (!provider.empty() && provider != info.fabric_attr->prov_name) return false;
  return interface.empty() || interface == info.domain_attr->name || interface == address.text ||
         interface == info.fabric_attr->name;
}

FabricInfo make_hints(bool manual) {
  FabricInfo hints(libfabric().dupinfo(nullptr));
  if (!hints) throw std::bad_alloc();
  hints->caps = FI_MSG | FI_RMA | FI_ATOMIC | FI_TRIGGER | FI_RMA_EVENT;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->threading = FI_THREAD_SAFE;
  hints->domain_attr->data_progress = manual ? FI_PROGRESS_MANUAL : FI_PROGRESS_AUTO;
  hints->domain_attr->av_type = FI_AV_TABLE;
  hints->domain_attr->mr_mode =
      FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
  return hints;
}

}  // namespace

FabricInfo find_fabric(bool manual, bool one_host) {
  setenv("FI_SOCKETS_PE_WAITTIME", "0", 0);
  setenv("HFI_NO_BACKTRACE", "1", 0);
  setenv("IPATH_NO_BACKTRACE", "1", 0);
  fi_info* list = nullptr;
  if (!libfabric().complete()) return nullptr;
  if (libfabric().getinfo(FI_VERSION(1, 15), nullptr, nullptr, 0, make_hints(manual).get(),
                          &list) != 0)
    return nullptr;
  const FabricInfo owner(list);
  const fi_info* best = nullptr;
  for (const fi_info* one = list; one != nullptr; one = one->next) {
    if (!may_be_taken(*one, one_host)) continue;
    if (best == nullptr || (address_of(*one).loopback && !address_of(*best).loopback)) best = one;
  }
  return FabricInfo(best != nullptr ? libfabric().dupinfo(best) : nullptr);
}

ChainEnd::ChainEnd(FabricInfo info, std::size_t bytes, int peer)
    : outgoing(std::max<std::size_t>(bytes, 1)),
      incoming(std::max<std::size_t>(bytes, 1)),
      info_(std::move(info)) {
  open();
  meet(peer);
}

ChainEnd::~ChainEnd() {
  close(endpoint_);
  close(outgoing_region_);
  close(incoming_region_);
  close(word_region_);
  close(one_region_);
  close(trigger_);
  close(written_);
  close(signalled_);
  close(completions_);
  close(addresses_);
  close(domain_);
  close(fabric_);
}

void ChainEnd::open() {
  check("fi_fabric", libfabric().fabric(info_->fabric_attr, &fabric_, nullptr));
  check("fi_domain", fi_domain(fabric_, info_.get(), &domain_, nullptr));
  fi_av_attr table{};
  table.type = FI_AV_TABLE;
  check("fi_av_open", fi_av_open(domain_, &table, &addresses_, nullptr));
  fi_cq_attr queue{};
  queue.format = FI_CQ_FORMAT_CONTEXT;
  check("fi_cq_open", fi_cq_open(domain_, &queue, &completions_, nullptr));
  check("fi_endpoint", fi_endpoint(domain_, info_.get(), &endpoint_, nullptr));
  check("fi_ep_bind", fi_ep_bind(endpoint_, &addresses_->fid, 0));
  check("fi_ep_bind",
        fi_ep_bind(endpoint_, &completions_->fid, FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION));
  check("fi_enable", fi_enable(endpoint_));
  trigger_ = open_counter();
  written_ = open_counter();
  signalled_ = open_counter();
  outgoing_region_ = open_region(outgoing.data(), outgoing.size(), 1);
  incoming_region_ = open_region(incoming.data(), incoming.size(), 2);
  word_region_ = open_region(&word_, sizeof word_, 3);
  one_region_ = open_region(&one_, sizeof one_, 4);
  outgoing_descriptor_ = fi_mr_desc(outgoing_region_);
  one_descriptor_ = fi_mr_desc(one_region_);
}

fid_cntr* ChainEnd::open_counter() {
  fi_cntr_attr attributes{};
  attributes.events = FI_CNTR_EVENTS_COMP;
  fid_cntr* counter = nullptr;
  check("fi_cntr_open", fi_cntr_open(domain_, &attributes, &counter, nullptr));
  return counter;
}

fid_mr* ChainEnd::open_region(void* memory, std::size_t bytes, std::uint64_t key) {
  fid_mr* region = nullptr;
  check("fi_mr_reg",
        fi_mr_reg(domain_, memory, bytes, FI_WRITE | FI_REMOTE_WRITE, 0, key, 0, &region, nullptr));
  if ((info_->domain_attr->mr_mode & FI_MR_ENDPOINT) != 0) {
    check("fi_mr_bind", fi_mr_bind(region, &endpoint_->fid, 0));
    check("fi_mr_enable", fi_mr_enable(region));
  }
  return region;
}

// From the beginning of the region, unless the provider takes addresses as they are.
std::uint64_t ChainEnd::remote_address(const void* memory) const noexcept {
  return (info_->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0
             ? reinterpret_cast<std::uintptr_t>(memory)
             : 0;
}

void ChainEnd::meet(int peer) {
  Landing here{};
  here.name_bytes = sizeof here.name;
  check("fi_getname", fi_getname(&endpoint_->fid, here.name, &here.name_bytes));
  here.message = remote_address(incoming.data());
  here.message_key = fi_mr_key(incoming_region_);
  here.word = remote_address(&word_);
  here.word_key = fi_mr_key(word_region_);
  MPI_Sendrecv(&here, sizeof here, MPI_BYTE, peer, 0, &there_, sizeof there_, MPI_BYTE, peer, 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (fi_av_insert(addresses_, there_.name, 1, &peer_, 0, nullptr) != 1)
    throw std::runtime_error("fi_av_insert: the peer's address is not taken");
}

void ChainEnd::prepare(Epoch& epoch, std::uint64_t number) {
  epoch = {};
  epoch.source = {outgoing.data(), outgoing.size()};
  epoch.place = {there_.message, outgoing.size(), there_.message_key};
  epoch.write_op.ep = endpoint_;
  epoch.write_op.msg.msg_iov = &epoch.source;
  epoch.write_op.msg.desc = &outgoing_descriptor_;
  epoch.write_op.msg.iov_count = 1;
  epoch.write_op.msg.addr = peer_;
  epoch.write_op.msg.rma_iov = &epoch.place;
  epoch.write_op.msg.rma_iov_count = 1;
  epoch.write_op.msg.context = &epoch.write.context;
  epoch.write.threshold = number;
  epoch.write.triggering_cntr = trigger_;
  epoch.write.completion_cntr = written_;
  epoch.write.op_type = FI_OP_WRITE;
  epoch.write.op.rma = &epoch.write_op;

  epoch.operand = {&one_, 1};
  epoch.word = {there_.word, 1, there_.word_key};
  epoch.addition_op.ep = endpoint_;
  epoch.addition_op.msg.msg_iov = &epoch.operand;
  epoch.addition_op.msg.desc = &one_descriptor_;
  epoch.addition_op.msg.iov_count = 1;
  epoch.addition_op.msg.addr = peer_;
  epoch.addition_op.msg.rma_iov = &epoch.word;
  epoch.addition_op.msg.rma_iov_count = 1;
  epoch.addition_op.msg.datatype = FI_UINT64;
  epoch.addition_op.msg.op = FI_SUM;
  epoch.addition_op.msg.context = &epoch.addition.context;
  epoch.addition.threshold = number;
  epoch.addition.triggering_cntr = written_;
  epoch.addition.completion_cntr = signalled_;
  epoch.addition.op_type = FI_OP_ATOMIC;
  epoch.addition.op.atomic = &epoch.addition_op;
}

void ChainEnd::queue(fi_deferred_work& work) {
  int code = 0;
  while ((code = fi_control(&domain_->fid, FI_QUEUE_WORK, &work)) == -FI_EAGAIN) progress();
  check("FI_QUEUE_WORK", code);
}

void ChainEnd::defer(std::uint64_t number) {
  while (number > epochs_deferred && !has_arrived(number - epochs_deferred)) progress();
  Epoch& epoch = epochs_[number % epochs_deferred];
  prepare(epoch, number);
  queue(epoch.addition);
  queue(epoch.write);
}

void ChainEnd::trigger(std::uint64_t count) {
  check("fi_cntr_add", fi_cntr_add(trigger_, count));
}

bool ChainEnd::has_come(std::uint64_t epoch) noexcept {
  return std::atomic_ref(word_).load(std::memory_order_acquire) >= epoch;
}

bool ChainEnd::has_arrived(std::uint64_t epoch) noexcept {
  return fi_cntr_read(signalled_) >= epoch;
}

void ChainEnd::progress() {
  fi_cq_entry entry{};
  const ssize_t code = fi_cq_read(completions_, &entry, 1);
  if (code >= 0 || code == -FI_EAGAIN) return;
  fi_cq_err_entry error{};
  if (code == -FI_EAVAIL && fi_cq_readerr(completions_, &error, 0) > 0)
    check("a deferred operation", -error.err);
  check("fi_cq_read", code);
}

}  // namespace penstock::bench
