// SPDX-License-Identifier: Apache-2.0
#include "comb/cases.hpp"

#include <algorithm>

namespace penstock::comb {
namespace {

using apps::Comm;

bool has_buffers_for_mpi(Comm comm) {
  return apps::is_host_driven(comm) && !apps::uses_datatypes(comm);
}

bool packs_all_at_once(Comm comm) {
  return comm != Comm::mpi_waitany && !apps::uses_datatypes(comm);
}

void add_once(std::vector<Case>& cases, const Case& one) {
  if (std::find(cases.begin(), cases.end(), one) == cases.end()) cases.push_back(one);
}

std::vector<Case> cases_of_one(Comm comm, bool also_pinned,
                               const std::vector<std::size_t>& cutoffs) {
  std::vector<Case> cases;
  for (const bool pinned : {false, true}) {
    if (pinned && (!also_pinned || !has_buffers_for_mpi(comm))) continue;
    if (cutoffs.empty() || !packs_all_at_once(comm)) add_once(cases, {comm, pinned, std::nullopt});
    if (!packs_all_at_once(comm)) continue;
    for (const std::size_t cutoff : cutoffs) add_once(cases, {comm, pinned, cutoff});
  }
  return cases;
}

}  // namespace

std::string Case::name() const {
  std::string text = comm ? apps::name_of(*comm) : "mock";
  if (pinned) text += "-pinned";
  if (cutoff) text += "/" + std::to_string(*cutoff);
  return text;
}

std::vector<Case> cases_of(const std::vector<Comm>& comms, bool also_pinned,
                           const std::vector<std::size_t>& cutoffs) {
  std::vector<Case> cases;
  for (const Comm comm : comms)
    for (const Case& one : cases_of_one(comm, also_pinned, cutoffs)) cases.push_back(one);
  std::vector<Case> all;
  for (const Case& one : cases) add_once(all, one.floor());
  all.insert(all.end(), cases.begin(), cases.end());
  return all;
}

}  // namespace penstock::comb
