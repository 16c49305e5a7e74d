// SPDX-License-Identifier: Apache-2.0
#include "unit/ofi/mapped_nic.hpp"

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "ofi/cxi.hpp"
#include "unit/ofi/layer.hpp"

namespace penstock::ofi {
namespace {

// The registers of all counters that have been opened while it was switched on.
class Nic {
 public:
  static Nic& instance() {
    static Nic nic;
    return nic;
  }

  ~Nic() { switch_off(); }

  void switch_on() {
    if (on_.exchange(true)) return;
    stores_ = 0;
    thread_ = std::thread([this] {
      while (on_) {
        count();
        std::this_thread::yield();
      }
    });
  }
  void switch_off() {
    on_ = false;
    if (thread_.joinable()) thread_.join();
  }
  std::uint64_t stores() const { return stores_; }

  void adopt(fid_cntr& counter) {
    const std::lock_guard lock(mutex_);
    auto mapped = std::make_unique<Mapped>();
    mapped->counter = &counter;
    mapped->own = counter.fid.ops;
    mapped->ops = *counter.fid.ops;
    mapped->ops.size = sizeof(mapped->ops);
    mapped->ops.ops_open = open_extension;
    mapped->ops.close = close;
    counter.fid.ops = &mapped->ops;
    counters_[&counter.fid] = std::move(mapped);
  }

 private:
  struct Mapped {
    fid_cntr* counter = nullptr;
    fi_ops* own = nullptr;
    fi_ops ops{};
    std::array<std::uint64_t, 4> registers{};
  };

  // A store that comes before the last one has been counted would be lost, as in no NIC. None does:
  // a start comes after the wait before it, which ends only when its store has been counted.
  void count() {
    const std::lock_guard lock(mutex_);
    for (auto& [object, mapped] : counters_) {
      const std::uint64_t more =
          std::atomic_ref(mapped->registers[0]).exchange(0, std::memory_order_acquire);
      if (more == 0) continue;
      fi_cntr_add(mapped->counter, more);
      ++stores_;
    }
  }
  static int open_extension(fid* object, const char* name, std::uint64_t, void** opened, void*) {
    static cxi::CounterOps extension{nullptr, map};
    if (std::strcmp(name, cxi::counter_ops) != 0) return -FI_ENOSYS;
    *opened = &extension;
    return instance().find(object) != nullptr ? 0 : -FI_ENOSYS;
  }
  static int map(fid* object, void** address, std::size_t* bytes) {
    Mapped& mapped = *instance().find(object);
    *address = mapped.registers.data();
    *bytes = sizeof(mapped.registers);
    return 0;
  }
  static int close(fid* object) {
    Nic& nic = instance();
    std::unique_ptr<Mapped> mapped;
    {
      const std::lock_guard lock(nic.mutex_);
      mapped = std::move(nic.counters_.at(object));
      nic.counters_.erase(object);
    }
    object->ops = mapped->own;
    return mapped->own->close(object);
  }
  Mapped* find(fid* object) {
    const std::lock_guard lock(mutex_);
    const auto found = counters_.find(object);
    return found == counters_.end() ? nullptr : found->second.get();
  }

  std::atomic<bool> on_{false};
  std::atomic<std::uint64_t> stores_{0};
  std::thread thread_;
  std::mutex mutex_;
  std::map<fid*, std::unique_ptr<Mapped>> counters_;
};

// Of libfabric's objects, those whose functions make the next ones are given ours, by way of the
// first one.
fi_ops_fabric fabric_ops, own_fabric_ops;
fi_ops_domain domain_ops, own_domain_ops;

int open_counter(fid_domain* domain, fi_cntr_attr* attributes, fid_cntr** counter, void* context) {
  const int code = own_domain_ops.cntr_open(domain, attributes, counter, context);
  if (code == 0) Nic::instance().adopt(**counter);
  return code;
}

int open_domain(fid_fabric* fabric, fi_info* info, fid_domain** domain, void* context) {
  const int code = own_fabric_ops.domain(fabric, info, domain, context);
  if (code != 0 || (info->caps & FI_TRIGGER) == 0) return code;
  own_domain_ops = domain_ops = *(*domain)->ops;
  domain_ops.cntr_open = open_counter;
  (*domain)->ops = &domain_ops;
  return code;
}

struct MappedCounters final : Layer {
  void stand_before(fid_fabric& fabric) override {
    Nic::instance().switch_on();
    own_fabric_ops = fabric_ops = *fabric.ops;
    fabric_ops.domain = open_domain;
    fabric.ops = &fabric_ops;
  }
} mapped_counters;

// Where this is loaded before a program that knows nothing of it.
[[maybe_unused]] const bool is_wanted = [] {
  const bool wanted = std::getenv("PENSTOCK_TEST_MAPPED_COUNTERS") != nullptr;
  if (wanted) layer = &mapped_counters;
  return wanted;
}();

}  // namespace

namespace nic {

void switch_on() {
  Nic::instance().switch_on();
  layer = &mapped_counters;
}
void switch_off() {
  layer = nullptr;
  Nic::instance().switch_off();
}
std::uint64_t stores() {
  return Nic::instance().stores();
}

}  // namespace nic

}  // namespace penstock::ofi
