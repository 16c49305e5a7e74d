// SPDX-License-Identifier: Apache-2.0
// What a test needs to know about the job it runs in.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "penstock/penstock.h"

namespace penstock::test {

int rank();  // in MPI_COMM_WORLD
int size();
inline int next_rank() {
  return (rank() + 1) % size();
}
inline int previous_rank() {
  return (rank() + size() - 1) % size();
}

// The same on every rank, printed by rank 0 at the start; PENSTOCK_TEST_SEED repeats a run.
std::uint64_t seed();
std::mt19937_64 generator(std::uint64_t salt = 0);

bool long_run();  // PENSTOCK_TEST_LONG=1

// Settings of the library under test, as the environment gives them; the second number where it is
// unset. PENSTOCK_EAGER_MAX, 8192; on ofi alone PENSTOCK_OFI_EAGER_MAX, 16384; with CUDA
// PENSTOCK_CUDA_EAGER_MAX, 1048576
std::size_t eager_max();
unsigned slots();  // PENSTOCK_SLOTS, 2
bool transport_allowed(const std::string& name);
std::string only_transport();  // the single name in PENSTOCK_TRANSPORT, else ""

// Sizes around each switch of the protocol, ascending: 0, 1, 8, 55, 56, 57, the eager limit and its
// neighbours, 16 KiB, 64 KiB, 1 MiB + 3; in trees of sanitizers two of three of them.
std::vector<std::size_t> protocol_sizes();

// The rank that this one forms a pair with: neighbours 2k and 2k+1; a last odd one pairs with
// itself.
int partner();

std::string last_error();        // PST_Last_error
std::string describe(int code);  // kind and text of a code
std::string transport_of(MPI_Request request);
PST_Error kind_of(int code);

// A point that every rank of the communicator passes together, without busy waiting.
void meet(MPI_Comm comm = MPI_COMM_WORLD);

}  // namespace penstock::test

#define EXPECT_PST(call)                                                                         \
  do {                                                                                           \
    const int pst_code_ = (call);                                                                \
    EXPECT_EQ(pst_code_, MPI_SUCCESS) << #call << ": " << ::penstock::test::describe(pst_code_); \
  } while (false)

#define ASSERT_PST(call)                                                                         \
  do {                                                                                           \
    const int pst_code_ = (call);                                                                \
    ASSERT_EQ(pst_code_, MPI_SUCCESS) << #call << ": " << ::penstock::test::describe(pst_code_); \
  } while (false)

#define EXPECT_PST_KIND(call, kind)                                \
  do {                                                             \
    const int pst_code_ = (call);                                  \
    EXPECT_EQ(::penstock::test::kind_of(pst_code_), kind)          \
        << #call << ": " << ::penstock::test::describe(pst_code_); \
  } while (false)
