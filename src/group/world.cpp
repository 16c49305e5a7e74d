// SPDX-License-Identifier: Apache-2.0
#include "group/world.hpp"

#include <chrono>
#include <cstring>
#include <exception>
#include <new>
#include <optional>

#include "base/backoff.hpp"
#include "base/error.hpp"

namespace penstock::group {

using base::Error;
using base::ErrorKind;

namespace {

std::optional<Error> failure_of(const std::function<void()>& step) {
  try {
    step();
    return std::nullopt;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return Error(ErrorKind::resources, "out of memory");
  } catch (const std::exception& failure) {
    return Error(ErrorKind::internal, failure.what());
  }
}

// A failure as it travels: its kind, then its text. No failure is no bytes.
std::vector<std::byte> bytes_of(const std::optional<Error>& failure) {
  if (!failure) return {};
  const auto kind = static_cast<std::byte>(failure->kind());
  const auto* text = reinterpret_cast<const std::byte*>(failure->text().data());
  std::vector<std::byte> bytes(1, kind);
  bytes.insert(bytes.end(), text, text + failure->text().size());
  return bytes;
}

Error error_of(std::size_t rank, const std::vector<std::byte>& bytes) {
  const std::string cause(reinterpret_cast<const char*>(bytes.data()) + 1, bytes.size() - 1);
  return Error(
      static_cast<ErrorKind>(bytes[0]),
      "rank " + std::to_string(rank) + " cannot initialise Penstock, so no rank does: " + cause);
}

}  // namespace

const char* name_of(ThreadLevel thread_level) noexcept {
  switch (thread_level) {
    case ThreadLevel::single:
      return "MPI_THREAD_SINGLE";
    case ThreadLevel::funneled:
      return "MPI_THREAD_FUNNELED";
    case ThreadLevel::serialized:
      return "MPI_THREAD_SERIALIZED";
    case ThreadLevel::multiple:
      return "MPI_THREAD_MULTIPLE";
  }
  return "an unknown thread level";
}

void World::together(const std::function<void()>& step) {
  const std::optional<Error> failure = failure_of(step);
  const auto all = all_gather(bytes_of(failure));
  for (std::size_t other = 0; other < all.size(); ++other) {
    if (all[other].empty()) continue;
    given_up_ = true;
    throw failure ? *failure : error_of(other, all[other]);
  }
}

bool World::anybody_dead() const noexcept {
  for (int rank = 0; rank < size(); ++rank)
    if (dead(rank).load(std::memory_order_acquire)) return true;
  return false;
}

// A process that gives up still meets the others, if only for a moment: or they would meet it in a
// later call.
bool World::end_together(const std::function<bool()>& ready,
                         const std::function<bool()>& meanwhile) noexcept {
  base::Backoff backoff(std::chrono::microseconds(20));
  bool goes_on = true;
  for (; goes_on && !ready(); backoff.pause()) {
    watch(0);
    goes_on = meanwhile();
  }
  return meet(goes_on, [&] { return goes_on && meanwhile(); });
}

}  // namespace penstock::group
