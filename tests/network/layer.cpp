// SPDX-License-Identifier: Apache-2.0
// Most of libfabric's calls are made through tables of functions that its objects point to. This
// program's fi_fabric stands in front of the library's, and gives each object that is opened a
// table of our own.
#include "network/layer.hpp"

#include <dlfcn.h>
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_trigger.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>

namespace penstock::test::network {
namespace {

thread_local std::uint64_t calls_here = 0;
std::atomic<std::uint64_t> calls_everywhere{0};

void count() {
  ++calls_here;
  calls_everywhere.fetch_add(1, std::memory_order_relaxed);
}

bool take_one(Supply& supply) {
  return supply.load() == plenty || supply.fetch_sub(1) > 0;
}

constexpr std::uint64_t no_such_key = 0x7ffffff0;

// A table of ours, and the one that it stands before. Objects of one kind share a table, so ours
// are as few.
template <class Table>
struct Layered : Table {
  explicit Layered(Table* original) : Table{}, below(original) {
    std::memcpy(static_cast<Table*>(this), original, std::min(original->size, sizeof(Table)));
  }
  Table* below;
};

template <class Table, class Change>
void put_before(Table*& table, Change change) {
  static std::mutex mutex;
  static std::map<Table*, Layered<Table>*> known;
  static std::deque<Layered<Table>> tables;
  const std::lock_guard lock(mutex);
  const bool ours =
      std::any_of(tables.begin(), tables.end(), [&](const auto& one) { return &one == table; });
  if (ours) return;
  Layered<Table>*& layered = known[table];
  if (layered == nullptr) {
    layered = &tables.emplace_back(table);
    change(*layered);
  }
  table = layered;
}

template <class Table>
Table& below(Table* table) {
  return *static_cast<Layered<Table>*>(table)->below;
}

// ---- What counters, queues and endpoints do

std::uint64_t read_counter(fid_cntr* counter) {
  count();
  return below(counter->ops).read(counter);
}

int add_to_counter(fid_cntr* counter, std::uint64_t value) {
  count();
  return below(counter->ops).add(counter, value);
}

ssize_t read_queue(fid_cq* queue, void* buffer, std::size_t entries) {
  count();
  return below(queue->ops).read(queue, buffer, entries);
}

ssize_t write_message(fid_ep* endpoint, const fi_msg_rma* message, std::uint64_t flags) {
  count();
  fi_msg_rma changed = *message;
  fi_rma_iov place = *message->rma_iov;
  // What is copied at once is no payload but a word of the library's.
  if (faults().wrong_keys && (flags & FI_INJECT) == 0) place.key = no_such_key;
  changed.rma_iov = &place;
  return below(endpoint->rma).writemsg(endpoint, &changed, flags);
}

ssize_t add_message(fid_ep* endpoint, const fi_msg_atomic* message, std::uint64_t flags) {
  count();
  if (!take_one(faults().additions)) return -FI_EAGAIN;
  return below(endpoint->atomic).writemsg(endpoint, message, flags);
}

// ---- What a domain makes

int open_counter(fid_domain* domain, fi_cntr_attr* attributes, fid_cntr** counter, void* context) {
  if (!take_one(faults().counters)) return -FI_ENOSPC;
  const int code = below(domain->ops).cntr_open(domain, attributes, counter, context);
  if (code != 0) return code;
  put_before((*counter)->ops, [](fi_ops_cntr& table) {
    table.read = read_counter;
    table.add = add_to_counter;
  });
  return 0;
}

int open_queue(fid_domain* domain, fi_cq_attr* attributes, fid_cq** queue, void* context) {
  const int code = below(domain->ops).cq_open(domain, attributes, queue, context);
  if (code == 0) put_before((*queue)->ops, [](fi_ops_cq& table) { table.read = read_queue; });
  return code;
}

int open_endpoint(fid_domain* domain, fi_info* info, fid_ep** endpoint, void* context) {
  const int code = below(domain->ops).endpoint(domain, info, endpoint, context);
  if (code != 0) return code;
  put_before((*endpoint)->rma, [](fi_ops_rma& table) { table.writemsg = write_message; });
  put_before((*endpoint)->atomic, [](fi_ops_atomic& table) { table.writemsg = add_message; });
  return 0;
}

int register_region(fid* object, const void* memory, std::size_t bytes, std::uint64_t access,
                    std::uint64_t offset, std::uint64_t key, std::uint64_t flags, fid_mr** region,
                    void* context) {
  if (!take_one(faults().regions)) return -FI_ENOSPC;
  auto* const domain = reinterpret_cast<fid_domain*>(object);
  return below(domain->mr).reg(object, memory, bytes, access, offset, key, flags, region, context);
}

int control_domain(fid* object, int command, void* argument) {
  if (command == FI_QUEUE_WORK) {
    count();
    if (!take_one(faults().entries)) return -FI_ENOSPC;
    const auto* const work = static_cast<fi_deferred_work*>(argument);
    if (faults().wrong_keys && work->op_type == FI_OP_WRITE)
      const_cast<fi_rma_iov*>(work->op.rma->msg.rma_iov)->key = no_such_key;
  }
  return below(object->ops).control(object, command, argument);
}

int open_domain(fid_fabric* fabric, fi_info* info, fid_domain** domain, void* context) {
  const int code = below(fabric->ops).domain(fabric, info, domain, context);
  // The MPI of the process may have domains of its own.
  if (code != 0 || (info->caps & FI_TRIGGER) == 0) return code;
  put_before((*domain)->ops, [](fi_ops_domain& table) {
    table.cntr_open = open_counter;
    table.cq_open = open_queue;
    table.endpoint = open_endpoint;
  });
  put_before((*domain)->mr, [](fi_ops_mr& table) { table.reg = register_region; });
  put_before((*domain)->fid.ops, [](fi_ops& table) { table.control = control_domain; });
  return 0;
}

}  // namespace

std::uint64_t calls_of_this_thread() {
  return calls_here;
}

std::uint64_t calls_of_all_threads() {
  return calls_everywhere.load();
}

Faults& faults() {
  static Faults faults;
  return faults;
}

}  // namespace penstock::test::network

extern "C" int fi_fabric(fi_fabric_attr* attributes, fid_fabric** fabric, void* context) {
  using namespace penstock::test::network;
  static void* const libfabric = dlopen("libfabric.so.1", RTLD_NOW);
  static const auto next = reinterpret_cast<decltype(&fi_fabric)>(dlsym(libfabric, "fi_fabric"));
  const int code = next(attributes, fabric, context);
  if (code == 0)
    put_before((*fabric)->ops, [](fi_ops_fabric& table) { table.domain = open_domain; });
  return code;
}
