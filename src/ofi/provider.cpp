// SPDX-License-Identifier: Apache-2.0
#include "ofi/provider.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_trigger.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <tuple>

#include "base/error.hpp"
#include "ofi/fid.hpp"
#include "ofi/libfabric.hpp"

namespace penstock::ofi {

using base::Error;
using base::ErrorKind;

namespace {

using Candidates = std::vector<fi_info*>;

// ---- Addresses

const sockaddr* ip_address(const fi_info& info) {
  const bool ip = info.addr_format == FI_SOCKADDR || info.addr_format == FI_SOCKADDR_IN ||
                  info.addr_format == FI_SOCKADDR_IN6;
  return ip ? static_cast<const sockaddr*>(info.src_addr) : nullptr;
}

const in_addr* ip4(const sockaddr* address) {
  if (address == nullptr || address->sa_family != AF_INET) return nullptr;
  return &reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
}

const in6_addr* ip6(const sockaddr* address) {
  if (address == nullptr || address->sa_family != AF_INET6) return nullptr;
  return &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
}

bool is_link_local(const fi_info& info) {
  const in6_addr* const address = ip6(ip_address(info));
  return address != nullptr && IN6_IS_ADDR_LINKLOCAL(address);
}

bool loopback_is_up() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return true;  // not known to be down
  bool up = false;
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next)
    up = up || ((one->ifa_flags & IFF_LOOPBACK) != 0 && (one->ifa_flags & IFF_UP) != 0);
  freeifaddrs(list);
  return up;
}

// ---- Settings

// Providers in layers are called by all their names, as in "tcp;ofi_rxm".
bool called(std::string_view name, std::string_view wanted) {
  if (name == wanted) return true;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find(';', begin), name.size());
    if (name.substr(begin, end - begin) == wanted) return true;
    begin = end + 1;
  }
  return false;
}

bool is_interface(const fi_info& info, const std::string& wanted) {
  return wanted == text(info.domain_attr->name) || wanted == address_of(info) ||
         wanted == text(info.fabric_attr->name);
}

// ---- The choice among interfaces

bool same_network(const fi_info& one, const fi_info& other) {
  return text(one.fabric_attr->prov_name) == text(other.fabric_attr->prov_name) &&
         text(one.fabric_attr->name) == text(other.fabric_attr->name) &&
         one.addr_format == other.addr_format;
}

// Why candidates were passed over, each reason once.
class Refusals {
 public:
  void add(const fi_info& info, const std::string& reason) {
    if (std::find(reasons_.begin(), reasons_.end(), reason) != reasons_.end()) return;
    reasons_.push_back(reason);
    text_ += fmt::format("{}{} on {}: {}", text_.empty() ? "" : "; ",
                         text(info.fabric_attr->prov_name), text(info.domain_attr->name), reason);
  }
  std::string all() const {
    return text_.empty() ? "no provider of libfabric can defer work" : text_;
  }

 private:
  std::vector<std::string> reasons_;
  std::string text_;
};

Candidates candidates_in(fi_info* list, const base::Settings& settings, bool loopback_reaches,
                         Refusals& refusals) {
  Candidates candidates;
  for (fi_info* one = list; one != nullptr; one = one->next) {
    std::string reason = reason_to_skip(*one, settings);
    if (reason.empty() && is_loopback(*one) && !loopback_reaches)
      reason = "loopback does not reach the other hosts";
    if (reason.empty())
      candidates.push_back(one);
    else
      refusals.add(*one, reason);
  }
  return candidates;
}

// The provider counts most, in libfabric's order. Hosts of one job must come to the same network,
// so what differs between them (the order and the names of interfaces) counts least.
void sort_candidates(Candidates& candidates, hwloc_topology* topology) {
  std::vector<std::string> providers;
  const auto rank = [&](const fi_info& info) {
    const std::string provider = text(info.fabric_attr->prov_name);
    const auto found = std::find(providers.begin(), providers.end(), provider);
    const auto number = found - providers.begin();
    if (found == providers.end()) providers.push_back(provider);
    return number;
  };
  std::vector<std::pair<std::tuple<std::ptrdiff_t, bool, bool, bool>, fi_info*>> keyed;
  for (fi_info* one : candidates)
    keyed.push_back({{rank(*one), !is_loopback(*one), ip6(ip_address(*one)) != nullptr,
                      !group::located(topology, place_of(*one))},
                     one});
  std::stable_sort(keyed.begin(), keyed.end(),
                   [](const auto& one, const auto& other) { return one.first < other.first; });
  for (std::size_t i = 0; i < keyed.size(); ++i) candidates[i] = keyed[i].second;
}

// Of the first network: one entry for each interface of it.
Candidates interfaces_of_first_network(const Candidates& candidates) {
  Candidates interfaces;
  for (fi_info* one : candidates) {
    if (!same_network(*one, *candidates.front())) continue;
    const auto same = [&](const fi_info* other) {
      return text(one->domain_attr->name) == text(other->domain_attr->name);
    };
    if (std::none_of(interfaces.begin(), interfaces.end(), same)) interfaces.push_back(one);
  }
  return interfaces;
}

fi_info* choose_interface(const Candidates& candidates, hwloc_topology* topology,
                          const JobLayout& layout) {
  const Candidates interfaces = interfaces_of_first_network(candidates);
  std::vector<group::Location> places;
  for (const fi_info* one : interfaces) places.push_back(place_of(*one));
  return interfaces[group::share_out(topology, places, layout.users)[layout.self]];
}

std::string failure(const char* call, int code) {
  return fmt::format("{}: {}", call, libfabric().strerror(-code));
}

}  // namespace

FabricInfo make_hints() {
  FabricInfo hints(libfabric().dupinfo(nullptr));
  if (!hints) throw Error(ErrorKind::resources, "ofi: out of memory");
  hints->caps = FI_MSG | FI_RMA | FI_ATOMIC | FI_TRIGGER | FI_RMA_EVENT;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->threading = FI_THREAD_SAFE;
  // Whoever looks makes progress: a thread of the provider would add two hand-overs to every
  // message.
  hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->av_type = FI_AV_TABLE;
  hints->domain_attr->mr_mode =
      FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
  return hints;
}

FabricInfo ask(const fi_info* hints) {
  fi_info* list = nullptr;
  return libfabric().getinfo(FI_VERSION(1, 15), nullptr, nullptr, 0, hints, &list) == 0
             ? FabricInfo(list)
             : nullptr;
}

std::string address_of(const fi_info& info) {
  char buffer[INET6_ADDRSTRLEN] = "";
  const sockaddr* const address = ip_address(info);
  if (const in_addr* four = ip4(address))
    return text(inet_ntop(AF_INET, four, buffer, sizeof buffer));
  if (const in6_addr* six = ip6(address))
    return text(inet_ntop(AF_INET6, six, buffer, sizeof buffer));
  return "";
}

group::Location place_of(const fi_info& info) {
  group::Location place;
  place.os_name = text(info.domain_attr->name);
  if (info.nic != nullptr && info.nic->bus_attr != nullptr &&
      info.nic->bus_attr->bus_type == FI_BUS_PCI) {
    const fi_pci_attr& pci = info.nic->bus_attr->attr.pci;
    place.pci = fmt::format("{:04x}:{:02x}:{:02x}.{:x}", pci.domain_id, pci.bus_id, pci.device_id,
                            pci.function_id);
  }
  return place;
}

bool is_loopback(const fi_info& info) {
  const sockaddr* const address = ip_address(info);
  if (const in_addr* four = ip4(address)) return ntohl(four->s_addr) >> 24 == IN_LOOPBACKNET;
  if (const in6_addr* six = ip6(address)) return IN6_IS_ADDR_LOOPBACK(six);
  return false;
}

std::string reason_to_skip(const fi_info& info, const base::Settings& settings) {
  if (!settings.ofi_provider.empty() &&
      !called(text(info.fabric_attr->prov_name), settings.ofi_provider))
    return "not PENSTOCK_OFI_PROVIDER=" + settings.ofi_provider;
  if (!settings.ofi_interface.empty() && !is_interface(info, settings.ofi_interface))
    return "not PENSTOCK_OFI_INTERFACE=" + settings.ofi_interface;
  if (is_link_local(info)) return "a link-local address means nothing to other hosts";
  // A process reaches itself by its own address, and the system sends that by way of loopback.
  if (ip_address(info) != nullptr && !loopback_is_up())
    return "the loopback interface is down, so no process would reach itself: ip link set lo up";
  return "";
}

// An addition to a counter, which is let run, so that nothing is left behind.
std::string refusal_of_deferred_work(fid_domain* domain) {
  fi_cntr_attr attributes{};
  attributes.events = FI_CNTR_EVENTS_COMP;
  fid_cntr* opened = nullptr;
  if (const int code = fi_cntr_open(domain, &attributes, &opened, nullptr); code != 0)
    return failure("has no counters: fi_cntr_open", code);
  const Fid<fid_cntr> trigger(opened);
  if (const int code = fi_cntr_open(domain, &attributes, &opened, nullptr); code != 0)
    return failure("has one counter only: fi_cntr_open", code);
  const Fid<fid_cntr> target(opened);
  fi_op_cntr addition{};
  addition.cntr = target.get();
  addition.value = 1;
  fi_deferred_work work{};
  work.threshold = 1;
  work.triggering_cntr = trigger.get();
  work.op_type = FI_OP_CNTR_ADD;
  work.op.cntr = &addition;
  if (const int code = fi_control(&domain->fid, FI_QUEUE_WORK, &work); code != 0)
    return failure("refuses deferred work: FI_QUEUE_WORK", code);
  if (const int code = fi_cntr_add(trigger.get(), 1); code != 0)
    return failure("has counters that cannot be added to: fi_cntr_add", code);
  return "";
}

std::string trial(fi_info& info) {
  fid_fabric* fabric = nullptr;
  if (const int code = libfabric().fabric(info.fabric_attr, &fabric, nullptr); code != 0)
    return failure("cannot be opened: fi_fabric", code);
  const Fid<fid_fabric> fabric_owner(fabric);
  fid_domain* domain = nullptr;
  if (const int code = fi_domain(fabric, &info, &domain, nullptr); code != 0)
    return failure("cannot be opened: fi_domain", code);
  const Fid<fid_domain> domain_owner(domain);
  return refusal_of_deferred_work(domain);
}

FabricInfo choose_provider(const base::Settings& settings, const JobLayout& layout) {
  const FabricInfo list = ask(make_hints().get());
  Refusals refusals;
  Candidates candidates = candidates_in(list.get(), settings, layout.all_here, refusals);
  // Nothing to compare, nothing to look up: it takes tens of milliseconds.
  const group::Topology topology = candidates.size() > 1 ? group::load_topology() : nullptr;
  sort_candidates(candidates, topology.get());
  while (!candidates.empty()) {
    fi_info* const chosen = choose_interface(candidates, topology.get(), layout);
    const std::string refusal = trial(*chosen);
    if (refusal.empty()) return FabricInfo(libfabric().dupinfo(chosen));
    refusals.add(*chosen, refusal);
    std::erase(candidates, chosen);
  }
  throw Error(ErrorKind::transport, "ofi: " + refusals.all());
}

}  // namespace penstock::ofi
