// SPDX-License-Identifier: Apache-2.0
// Datatypes that do not fit, or that no message can have: both ends are told why, and none waits
// for the other.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "conformance/exchange.hpp"

namespace penstock::test {
namespace {

TEST(DatatypeErrors, AReceiveThatIsTooShortIsRefused) {
  MPI_Datatype column = MPI_DATATYPE_NULL;
  MPI_Type_vector(6, 1, 3, MPI_INT, &column);
  MPI_Type_commit(&column);
  int out[18] = {}, in[18] = {};
  EXPECT_EQ(Exchange(out, 1, column, in, 5, MPI_INT).match(), PST_ERROR_TRUNCATE) << last_error();
  MPI_Type_free(&column);
}

// With PENSTOCK_CHECK=1, on both ranks; else only sizes are compared.
TEST(DatatypeErrors, AReceiveOfOtherElementsIsRefused) {
  const char* const check = std::getenv("PENSTOCK_CHECK");
  const bool checks = check != nullptr && std::string(check) == "1";
  MPI_Datatype column = MPI_DATATYPE_NULL;
  MPI_Type_vector(4, 1, 3, MPI_INT, &column);
  MPI_Type_commit(&column);
  int out[12] = {};
  double in[2] = {};
  EXPECT_EQ(Exchange(out, 1, column, in, 2, MPI_DOUBLE).match(),
            checks ? PST_ERROR_ARGUMENT : PST_ERROR_NONE)
      << last_error();
  if (checks) {
    EXPECT_NE(last_error().find("element 0 is an integer of 4 bytes in the send"),
              std::string::npos)
        << last_error();
  }
  MPI_Type_free(&column);
}

// Rank 0 sends to the last rank, which may be itself.
void expect_refused(MPI_Datatype sent, MPI_Datatype received, int room, const std::string& why) {
  int out[8] = {}, in[8] = {};
  std::vector<MPI_Request> ends;
  if (rank() == 0) MPI_Send_init(out, 1, sent, size() - 1, 0, MPI_COMM_WORLD, &ends.emplace_back());
  if (rank() == size() - 1)
    MPI_Recv_init(in, room, received, 0, 0, MPI_COMM_WORLD, &ends.emplace_back());
  const int code = PST_Matchall(static_cast<int>(ends.size()), ends.data(), MPI_STATUSES_IGNORE);
  PST_Error kind = PST_ERROR_NONE;
  if (code != MPI_SUCCESS) PST_Error_kind(code, &kind);
  if (!ends.empty()) {
    EXPECT_EQ(kind, PST_ERROR_ARGUMENT);
    EXPECT_NE(last_error().find(why), std::string::npos) << last_error();
  }
  for (MPI_Request& request : ends) MPI_Request_free(&request);
}

TEST(DatatypeErrors, AReceiveThatHasAByteTwiceIsRefused) {
  MPI_Datatype twice = MPI_DATATYPE_NULL;
  MPI_Type_vector(4, 2, 1, MPI_INT, &twice);
  MPI_Type_commit(&twice);
  expect_refused(MPI_INT, twice, 1, "twice");
  MPI_Type_free(&twice);
}

// MPI counts its bytes as none.
TEST(DatatypeErrors, ASendOfSoManyBytesThatTheirCountWrapsAroundIsRefused) {
  MPI_Datatype part = MPI_DATATYPE_NULL, more = MPI_DATATYPE_NULL, all = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(1 << 30, MPI_BYTE, &part);
  MPI_Type_contiguous(1 << 30, part, &more);
  MPI_Type_contiguous(16, more, &all);
  MPI_Type_commit(&all);
  expect_refused(all, MPI_INT, 4, "2^63");
  for (MPI_Datatype* type : {&part, &more, &all}) MPI_Type_free(type);
}

// The stride of a single block, and what a struct has no times.
TEST(DatatypeErrors, WhatIsNotUsedMayLieAnywhere) {
  MPI_Datatype far = MPI_DATATYPE_NULL, one = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(MPI_INT, 0, MPI_Aint{1} << 40, &far);
  MPI_Type_vector(1, 1, 2'000'000'000, far, &one);
  MPI_Datatype huge = MPI_DATATYPE_NULL, none = MPI_DATATYPE_NULL, both = MPI_DATATYPE_NULL;
  MPI_Type_create_hvector(4, 1, MPI_Aint{1} << 62, MPI_INT, &huge);
  MPI_Type_contiguous(0, huge, &none);
  const int lengths[] = {1, 1};
  const MPI_Aint places[] = {0, 4};
  const MPI_Datatype types[] = {MPI_INT, none};
  MPI_Type_create_struct(2, lengths, places, types, &both);
  for (MPI_Datatype* type : {&one, &both}) MPI_Type_commit(type);
  int out = 5, in = 0;
  for (const MPI_Datatype type : {one, both})
    EXPECT_EQ(Exchange(&out, 1, type, &in, 1, MPI_INT).match(), PST_ERROR_NONE) << last_error();
  for (MPI_Datatype* type : {&far, &one, &huge, &none, &both}) MPI_Type_free(type);
}

#ifdef MPI_2COMPLEX
TEST(DatatypeErrors, APairOfComplexNumbersIsTwoOfThem) {
  float out[4] = {}, in[4] = {};
  for (const MPI_Datatype type : {MPI_2COMPLEX, MPI_COMPLEX}) {
    MPI_Request known = MPI_REQUEST_NULL;
    if (MPI_Send_init(out, 1, type, rank(), 0, MPI_COMM_WORLD, &known) != MPI_SUCCESS)
      GTEST_SKIP() << "this MPI is built without Fortran";
    MPI_Request_free(&known);
  }
  EXPECT_EQ(Exchange(out, 1, MPI_2COMPLEX, in, 2, MPI_COMPLEX).match(), PST_ERROR_NONE)
      << last_error();
}
#endif

// Down to -2^63 as well, which has no opposite.
TEST(DatatypeErrors, ASendThatReachesTooFarIsRefused) {
  constexpr MPI_Aint step = MPI_Aint{1} << 62;
  for (const auto& [count, stride] : {std::pair{4, step}, {4, -step}, {3, -step}}) {
    MPI_Datatype far = MPI_DATATYPE_NULL;
    MPI_Type_create_hvector(count, 1, stride, MPI_INT, &far);
    MPI_Type_commit(&far);
    expect_refused(far, MPI_INT, 4, "2^63");
    MPI_Type_free(&far);
  }
}

}  // namespace
}  // namespace penstock::test
