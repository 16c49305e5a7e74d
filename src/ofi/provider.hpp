// SPDX-License-Identifier: Apache-2.0
// Which of libfabric's providers carries messages, and over which network interface: by what it can
// do, never by its name.
#pragma once

#include <rdma/fabric.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/settings.hpp"
#include "group/locality.hpp"
#include "ofi/job_layout.hpp"
#include "ofi/libfabric.hpp"

namespace penstock::ofi {

struct FreeInfo {
  void operator()(fi_info* info) const noexcept { libfabric().freeinfo(info); }
};
using FabricInfo = std::unique_ptr<fi_info, FreeInfo>;

// What every provider is asked for. Throws base::Error(resources), and libfabric()'s where that is
// not there.
FabricInfo make_hints();

// The list of what libfabric offers; null if it offers nothing. Without hints: all there is.
FabricInfo ask(const fi_info* hints);

// A name that libfabric gives; empty where it has none.
inline std::string text(const char* name) {
  return name != nullptr ? name : "";
}

// Of an entry: the address of its interface without the port, empty if it has none that can be
// read.
std::string address_of(const fi_info& info);
group::Location place_of(const fi_info& info);
bool is_loopback(const fi_info& info);

// Why the entry, though it has all capabilities, does not serve; empty if it does. First what
// settings and addresses say, then what shows when it is opened and given work to defer.
std::string reason_to_skip(const fi_info& info, const base::Settings& settings);
std::string refusal_of_deferred_work(fid_domain* domain);
std::string trial(fi_info& info);

// The one that this process takes: the first provider that serves, and of its interfaces the
// nearest, shared evenly with the other processes of this host. Loopback if it reaches all
// processes of the job, and otherwise never: its addresses mean somebody else on every host. Throws
// base::Error(transport) that says why none serves.
FabricInfo choose_provider(const base::Settings& settings, const JobLayout& layout);

}  // namespace penstock::ofi
