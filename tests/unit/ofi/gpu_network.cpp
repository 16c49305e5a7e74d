// SPDX-License-Identifier: Apache-2.0
#include "unit/ofi/gpu_network.hpp"

#include <rdma/fi_errno.h>
#include <rdma/fi_trigger.h>

#include "ofi/gpu_memory.hpp"

namespace penstock::ofi {

namespace {

// Objects of one kind share a table, so one of ours is enough for them. It is filled for the first
// one only: when the next one is made, threads of the library may be calling through it.
template <class Table, class Function>
void put_before(Table*& table, Table*& own, Table& ours, Function Table::*entry,
                Function function) {
  if (table == &ours) return;
  if (own != table) {
    own = table;
    ours = *table;
    ours.size = sizeof ours;
    ours.*entry = function;
  }
  table = &ours;
}

}  // namespace

GpuNetwork::GpuNetwork() {
  layer = this;
}

GpuNetwork::~GpuNetwork() {
  layer = nullptr;
}

GpuNetwork& GpuNetwork::self() {
  return static_cast<GpuNetwork&>(*layer);
}

std::vector<GpuRegion> GpuNetwork::registered() {
  const std::lock_guard lock(mutex_);
  std::vector<GpuRegion> all;
  for (const Known& known : regions_) all.push_back(known.region);
  return all;
}

// As the provider of this machine knows it.
fi_info* GpuNetwork::plain(const fi_info& info) {
  given_.emplace_back(fi_dupinfo(&info));
  fi_info* const plain = given_.back().get();
  plain->caps &= ~FI_HMEM;
  plain->domain_attr->mr_mode &= ~FI_MR_HMEM;
  return plain;
}

int GpuNetwork::list(Ask ask, std::uint32_t version, const fi_info* hints, fi_info** list) {
  if (hints == nullptr || (hints->caps & FI_HMEM) == 0)
    return Layer::list(ask, version, hints, list);
  if (asked_++ >= processes_served) return -FI_ENODATA;
  const int code = Layer::list(ask, version, plain(*hints), list);
  if (code != 0) return code;
  for (fi_info* one = *list; one != nullptr; one = one->next) {
    one->caps |= FI_HMEM;
    one->domain_attr->mr_mode |= FI_MR_HMEM;
  }
  return 0;
}

void GpuNetwork::stand_before(fid_fabric& fabric) {
  put_before(fabric.ops, own_fabric_ops_, fabric_ops_, &fi_ops_fabric::domain, open_domain);
}

int GpuNetwork::open_domain(fid_fabric* fabric, fi_info* info, fid_domain** domain, void* context) {
  GpuNetwork& network = self();
  const int code = network.own_fabric_ops_->domain(fabric, network.plain(*info), domain, context);
  if (code != 0 || !takes_gpu_memory(*info)) return code;
  put_before((*domain)->ops, network.own_domain_ops_, network.domain_ops_, &fi_ops_domain::endpoint,
             open_endpoint);
  put_before((*domain)->mr, network.own_region_makers_, network.region_makers_, &fi_ops_mr::regattr,
             register_region);
  put_before((*domain)->fid.ops, network.own_domain_control_, network.domain_control_,
             &fi_ops::control, control);
  return 0;
}

int GpuNetwork::open_endpoint(fid_domain* domain, fi_info* info, fid_ep** endpoint, void* context) {
  GpuNetwork& network = self();
  if (network.endpoint_refusal != 0) return network.endpoint_refusal;
  const int code =
      network.own_domain_ops_->endpoint(domain, network.plain(*info), endpoint, context);
  if (code != 0) return code;
  put_before((*endpoint)->ops, network.own_endpoint_ops_, network.endpoint_ops_, &fi_ops_ep::setopt,
             set_option);
  put_before((*endpoint)->rma, network.own_writes_, network.writes_, &fi_ops_rma::writemsg, write);
  return 0;
}

int GpuNetwork::set_option(fid* endpoint, int level, int option, const void* value,
                           std::size_t bytes) {
  GpuNetwork& network = self();
  if (level != FI_OPT_ENDPOINT || option != cuda_api_permitted)
    return network.own_endpoint_ops_->setopt(endpoint, level, option, value, bytes);
  if (bytes != sizeof(bool) || *static_cast<const bool*>(value)) return -FI_EINVAL;
  ++network.promises_;
  return network.answer_to_promise;
}

int GpuNetwork::register_region(fid* domain, const fi_mr_attr* attributes, std::uint64_t flags,
                                fid_mr** region) {
  GpuNetwork& network = self();
  if (attributes->iface == FI_HMEM_SYSTEM)
    return network.own_region_makers_->regattr(domain, attributes, flags, region);
  if (network.regions_taken-- <= 0) return network.refusal;
  const iovec& asked = *attributes->mr_iov;
  const iovec real{network.contents_of(asked.iov_base), asked.iov_len};
  if (real.iov_base == nullptr) return -FI_EFAULT;  // no memory of a GPU
  fi_mr_attr plain = *attributes;
  plain.mr_iov = &real;
  plain.iface = FI_HMEM_SYSTEM;
  plain.device.reserved = 0;
  const int code = network.own_region_makers_->regattr(domain, &plain, flags, region);
  if (code != 0) return code;
  const std::lock_guard lock(network.mutex_);
  put_before((*region)->fid.ops, network.own_region_ops_, network.region_ops_, &fi_ops::close,
             close_region);
  network.places_[&(*region)->fid] = network.regions_.size();
  network.regions_.push_back(
      {{attributes->iface, attributes->device.cuda, asked.iov_base, asked.iov_len},
       fi_mr_desc(*region)});
  ++network.open_;
  return 0;
}

int GpuNetwork::close_region(fid* region) {
  GpuNetwork& network = self();
  const std::lock_guard lock(network.mutex_);
  network.regions_[network.places_.at(region)].open = false;
  network.places_.erase(region);
  --network.open_;
  return network.own_region_ops_->close(region);
}

std::byte* GpuNetwork::contents_of(const void* place) const {
  for (const DeviceMemory* memory : memories_)
    if (std::byte* const contents = memory->contents_of(place)) return contents;
  return nullptr;
}

void GpuNetwork::translate(iovec& place, void* const* descriptor) {
  std::byte* const contents = contents_of(place.iov_base);
  if (contents == nullptr) return;
  ++writes_from_gpu_;
  const std::lock_guard lock(mutex_);
  bool declared = false;
  for (const auto& [region, known_as, open] : regions_) {
    const auto offset = reinterpret_cast<std::uintptr_t>(place.iov_base) -
                        reinterpret_cast<std::uintptr_t>(region.address);
    if (open && descriptor != nullptr && *descriptor == known_as &&
        offset + place.iov_len <= region.bytes)
      declared = true;
  }
  if (!declared) ++undeclared_;
  place.iov_base = contents;
}

int GpuNetwork::control(fid* domain, int command, void* argument) {
  GpuNetwork& network = self();
  if (command == FI_QUEUE_WORK) {
    const auto& work = *static_cast<fi_deferred_work*>(argument);
    if (work.op_type == FI_OP_WRITE)
      network.translate(const_cast<iovec&>(*work.op.rma->msg.msg_iov), work.op.rma->msg.desc);
  }
  return network.own_domain_control_->control(domain, command, argument);
}

ssize_t GpuNetwork::write(fid_ep* endpoint, const fi_msg_rma* message, std::uint64_t flags) {
  GpuNetwork& network = self();
  iovec place = *message->msg_iov;
  network.translate(place, message->desc);
  fi_msg_rma changed = *message;
  changed.msg_iov = &place;
  return network.own_writes_->writemsg(endpoint, &changed, flags);
}

}  // namespace penstock::ofi
