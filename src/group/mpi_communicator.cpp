// SPDX-License-Identifier: Apache-2.0
#include "group/mpi_communicator.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "group/identity_hash.hpp"
#include "group/mpi_check.hpp"
#include "group/mpi_handle.hpp"
#include "group/world_ranks.hpp"

namespace penstock::group {

namespace {

using Counts = std::unordered_map<CommunicatorId, std::uint64_t>;

// Every Communicator that leaves this file is one of these.
struct Tracked final : Communicator {
  std::vector<int> peers;  // world ranks; empty for MPI_COMM_WORLD, whose ranks they are
  std::once_flag named;

  std::mutex mutex;  // the counts
  std::uint64_t creations = 0;
  Counts creations_by_group;

  std::uint64_t next_creation() {
    const std::lock_guard lock(mutex);
    return ++creations;
  }
};

using TrackedPointer = std::shared_ptr<Tracked>;

int world_rank_of_this_process() {
  int rank = -1;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

TrackedPointer predefined(const char* name, MPI_Comm comm) {
  auto result = std::make_shared<Tracked>();
  IdentityHash hash;
  hash.add(std::string_view(name));
  if (comm == MPI_COMM_SELF) {
    const int rank = world_rank_of_this_process();
    hash.add(static_cast<std::uint64_t>(rank));  // everybody has one of his own
    result->peers = {rank};
  }
  result->id = hash.value();
  result->known = true;
  PMPI_Comm_rank(comm, &result->rank);
  result->handle = handle_bits(comm);
  result->name = name;
  std::call_once(result->named, [] {});
  return result;
}

// Not destroyed: requests may be freed while the process exits.
const TrackedPointer& world() {
  static const auto* pointer = new TrackedPointer(predefined("MPI_COMM_WORLD", MPI_COMM_WORLD));
  return *pointer;
}

const TrackedPointer& self() {
  static const auto* pointer = new TrackedPointer(predefined("MPI_COMM_SELF", MPI_COMM_SELF));
  return *pointer;
}

// ---- The attribute

extern "C" int penstock_communicator_deleted(MPI_Comm, int, void* value, void*) {
  auto* pointer = static_cast<TrackedPointer*>(value);
  (*pointer)->alive.store(false, std::memory_order_release);
  delete pointer;
  return MPI_SUCCESS;
}

int make_keyval() {
  int keyval = MPI_KEYVAL_INVALID;
  check_mpi(PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, penstock_communicator_deleted, &keyval,
                                    nullptr),
            "MPI_Comm_create_keyval");
  return keyval;
}

int keyval() {
  static const int value = make_keyval();
  return value;
}

TrackedPointer find(MPI_Comm comm) {
  if (comm == MPI_COMM_WORLD) return world();
  if (comm == MPI_COMM_SELF) return self();
  void* value = nullptr;
  int found = 0;
  check_mpi(PMPI_Comm_get_attr(comm, keyval(), &value, &found), "MPI_Comm_get_attr");
  return found ? *static_cast<TrackedPointer*>(value) : nullptr;
}

TrackedPointer track(MPI_Comm comm, const Members& members, std::string why_unknown) {
  auto result = std::make_shared<Tracked>();
  result->known = why_unknown.empty();
  result->why_unknown = std::move(why_unknown);
  result->peers = members.peers();
  result->handle = handle_bits(comm);
  check_mpi(PMPI_Comm_rank(comm, &result->rank), "MPI_Comm_rank");
  auto attribute = std::make_unique<TrackedPointer>(result);
  check_mpi(PMPI_Comm_set_attr(comm, keyval(), attribute.get()), "MPI_Comm_set_attr");
  static_cast<void>(attribute.release());
  return result;
}

TrackedPointer find_or_track(MPI_Comm comm) {
  if (auto found = find(comm)) return found;
  static std::mutex mutex;  // two threads may meet the same communicator for the first time
  const std::lock_guard lock(mutex);
  if (auto found = find(comm)) return found;
  return track(comm, members_of(comm), "Penstock has not seen its creation");
}

// ---- Identities

// Both groups of an intercommunicator hash alike on both sides.
void add_members(IdentityHash& hash, const Members& members) {
  const bool swap = members.remote < members.local && members.intercommunicator;
  hash.add(swap ? members.remote : members.local);
  if (members.intercommunicator) hash.add(swap ? members.local : members.remote);
}

std::string why_unknown(const Communicator* parent, const Members& members) {
  if (!members.all_in_world()) return "it has members outside MPI_COMM_WORLD";
  if (parent != nullptr && !parent->known) return "its parent is unknown: " + parent->why_unknown;
  return "";
}

void identify(const Tracked& parent, std::string_view how, std::uint64_t number, MPI_Comm child) {
  const Members members = members_of(child);
  const TrackedPointer tracked = track(child, members, why_unknown(&parent, members));
  IdentityHash hash;
  hash.add(parent.id).add(how).add(number);
  add_members(hash, members);
  tracked->id = hash.value();
}

std::string_view name_of(Creation how) {
  static constexpr std::array<std::string_view, 13> names{"dup",
                                                          "dup_with_info",
                                                          "idup",
                                                          "idup_with_info",
                                                          "create",
                                                          "split",
                                                          "split_type",
                                                          "cart_create",
                                                          "cart_sub",
                                                          "graph_create",
                                                          "dist_graph_create",
                                                          "dist_graph_create_adjacent",
                                                          "intercomm_merge"};
  return names[static_cast<std::size_t>(how)];
}

void name_it(Tracked& communicator, MPI_Comm comm) {
  std::call_once(communicator.named, [&] {
    char name[MPI_MAX_OBJECT_NAME + 1] = "";
    int length = 0;
    if (PMPI_Comm_get_name(comm, name, &length) == MPI_SUCCESS && length > 0) {
      communicator.name.assign(name, static_cast<std::size_t>(length));
      return;
    }
    std::snprintf(name, sizeof name, "communicator %08x",
                  static_cast<unsigned>(communicator.id.low));
    communicator.name = communicator.known ? name : "unnamed communicator";
  });
}

}  // namespace

bool world_usable() noexcept {
  int initialized = 0, finalized = 0;
  PMPI_Initialized(&initialized);
  PMPI_Finalized(&finalized);
  return initialized && !finalized;
}

std::shared_ptr<Communicator> communicator_of(MPI_Comm comm) {
  auto communicator = find_or_track(comm);
  name_it(*communicator, comm);
  return communicator;
}

MPI_Comm handle_of(const Communicator& communicator) noexcept {
  return handle_of<MPI_Comm>(communicator.handle);
}

int world_rank(const Communicator& communicator, int rank) {
  const auto& peers = static_cast<const Tracked&>(communicator).peers;
  if (peers.empty()) return rank;
  return rank >= 0 && static_cast<std::size_t>(rank) < peers.size()
             ? peers[static_cast<std::size_t>(rank)]
             : not_in_world;
}

int peers_of(const Communicator& communicator) {
  const auto& peers = static_cast<const Tracked&>(communicator).peers;
  if (!peers.empty()) return static_cast<int>(peers.size());
  int size = 0;
  check_mpi(PMPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
  return size;
}

int last_tag() {
  int* value = nullptr;
  int found = 0;
  check_mpi(PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&value), &found),
            "MPI_Comm_get_attr");
  return found ? *value : 32767;  // what the standard promises
}

void created(MPI_Comm parent, Creation how, MPI_Comm child) {
  const TrackedPointer tracked = find_or_track(parent);
  const std::uint64_t number = tracked->next_creation();
  if (child != MPI_COMM_NULL) identify(*tracked, name_of(how), number, child);
}

void created_by_group(MPI_Comm parent, int tag, MPI_Comm child) {
  if (child == MPI_COMM_NULL) return;
  const TrackedPointer tracked = find_or_track(parent);
  const Members members = members_of(child);
  const CommunicatorId key =
      IdentityHash().add(members.local).add(static_cast<std::uint64_t>(tag)).value();
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(tracked->mutex);
    number = ++tracked->creations_by_group[key];
  }
  const TrackedPointer result = track(child, members, why_unknown(tracked.get(), members));
  result->id = IdentityHash().add(tracked->id).add("create_group").add(key).add(number).value();
}

void created_intercomm(int tag, MPI_Comm child) {
  if (child == MPI_COMM_NULL) return;
  static auto* counts = new Counts;
  static std::mutex mutex;
  const Members members = members_of(child);
  IdentityHash hash;
  hash.add("intercomm_create").add(static_cast<std::uint64_t>(tag));
  add_members(hash, members);
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(mutex);
    number = ++(*counts)[hash.value()];
  }
  const TrackedPointer result = track(child, members, why_unknown(nullptr, members));
  result->id = hash.add(number).value();
}

void created_unknown(MPI_Comm child, const char* call) {
  if (child == MPI_COMM_NULL || find(child)) return;
  track(child, members_of(child), std::string("it was created by ") + call);
}

PendingChild::PendingChild(MPI_Comm parent, Creation how) : how_(how) {
  const TrackedPointer tracked = find_or_track(parent);
  number_ = tracked->next_creation();
  parent_ = tracked;
}

void PendingChild::complete(MPI_Comm child) const {
  if (child != MPI_COMM_NULL)
    identify(static_cast<const Tracked&>(*parent_), name_of(how_), number_, child);
}

std::shared_ptr<Communicator> known_communicator(MPI_Comm comm) {
  return comm == MPI_COMM_NULL ? nullptr : find(comm);
}

void freed(const std::shared_ptr<Communicator>& communicator) noexcept {
  if (communicator) communicator->alive.store(false, std::memory_order_release);
}

// ---- PST_Comm_attach

namespace {

enum Word : std::size_t {
  unknown,
  outside,
  high,
  low,
  high_inverted,
  low_inverted,
  draw_high,
  draw_low,
  words
};
using Ballot = std::array<std::uint64_t, words>;

// The maximum of each word over all members. On an intercommunicator a reduction gives the other
// group's result: a second one brings back our own.
Ballot agree(MPI_Comm comm, const Ballot& mine, bool intercommunicator) {
  Ballot first{}, second{};
  check_mpi(PMPI_Allreduce(mine.data(), first.data(), words, MPI_UINT64_T, MPI_MAX, comm),
            "MPI_Allreduce");
  if (!intercommunicator) return first;
  check_mpi(PMPI_Allreduce(first.data(), second.data(), words, MPI_UINT64_T, MPI_MAX, comm),
            "MPI_Allreduce");
  for (std::size_t i = 0; i < words; ++i) first[i] = std::max(first[i], second[i]);
  return first;
}

// An identity that nobody else in this job draws.
CommunicatorId draw() {
  static std::atomic<std::uint64_t> drawn{0};
  return IdentityHash()
      .add("attach")
      .add(static_cast<std::uint64_t>(world_rank_of_this_process()))
      .add(++drawn)
      .value();
}

}  // namespace

void attach(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL)
    throw base::Error(base::ErrorKind::communicator, "PST_Comm_attach of MPI_COMM_NULL");
  const TrackedPointer tracked = find_or_track(comm);
  if (tracked == world() || tracked == self()) return;
  const Members members = members_of(comm);
  Ballot ballot{};
  ballot[unknown] = !tracked->known;
  ballot[outside] = !members.all_in_world();
  ballot[high] = tracked->id.high, ballot[high_inverted] = ~tracked->id.high;
  ballot[low] = tracked->id.low, ballot[low_inverted] = ~tracked->id.low;
  if (tracked->rank == 0) {
    const CommunicatorId drawn = draw();
    ballot[draw_high] = drawn.high, ballot[draw_low] = drawn.low;
  }
  ballot = agree(comm, ballot, members.intercommunicator);
  if (ballot[outside])
    throw base::Error(base::ErrorKind::communicator,
                      "PST_Comm_attach: the communicator has members outside MPI_COMM_WORLD "
                      "(started by MPI_Comm_spawn, or joined by connect, accept or join); "
                      "only requests between processes of one MPI_COMM_WORLD can match");
  const bool same = ballot[high] == ~ballot[high_inverted] && ballot[low] == ~ballot[low_inverted];
  if (!ballot[unknown] && same) return;
  const std::lock_guard lock(tracked->mutex);
  tracked->id = {ballot[draw_high], ballot[draw_low]};
  tracked->known = true;
  tracked->why_unknown.clear();
  tracked->creations = 0;  // members may have begun to count at different calls
  tracked->creations_by_group.clear();
}

void call_errhandler(const Communicator* communicator, int code) noexcept {
  const bool usable =
      communicator != nullptr && communicator->alive.load(std::memory_order_acquire);
  PMPI_Comm_call_errhandler(usable ? handle_of(*communicator) : MPI_COMM_WORLD, code);
}

}  // namespace penstock::group
