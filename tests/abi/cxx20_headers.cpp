// SPDX-License-Identifier: Apache-2.0
// Every public header as C++20, in the order that includes the least beforehand.
#include <penstock/mpix.h>
// The C API again, and the C++ layer over it.
#include <penstock/penstock.h>

#include <penstock/bag.hpp>
#include <penstock/channel.hpp>
#include <penstock/collectives.hpp>
#include <penstock/halo.hpp>
#include <penstock/penstock.hpp>
#include <penstock/window.hpp>
#include <span>
#include <vector>

static_assert(PST_VERSION >= 100);
static_assert(MPIX_QUEUE_HOST == PST_QUEUE_HOST);

// A half of the program's own is an element as others.
struct OwnHalf {
  unsigned short bits;
};
template <>
inline constexpr std::optional<PST_Type> penstock::half_type<OwnHalf> = PST_TYPE_FLOAT16;
static_assert(!penstock::half_type<short>.has_value());
[[maybe_unused]] static MPI_Request own_sum(std::vector<OwnHalf>& halves) {
  return penstock::allreduce_init(halves, MPI_SUM, MPI_COMM_WORLD).release();
}

// What send_init and recv_init take: memory that may outlive the call.
static_assert(penstock::Elements<std::vector<double>&>);
static_assert(penstock::Elements<const std::vector<double>&>);
static_assert(penstock::Elements<int (&)[4]>);
static_assert(penstock::Elements<std::span<double>>);
static_assert(penstock::Elements<penstock::Buffer<int>&>);
static_assert(!penstock::Elements<std::vector<double>>);
static_assert(!penstock::Elements<penstock::Buffer<int>>);
static_assert(!penstock::Elements<double&>);
