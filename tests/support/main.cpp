// SPDX-License-Identifier: Apache-2.0
// The main function of every conformance test. A failure on any rank fails the job, and is printed
// with its rank.
#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "support/device.hpp"
#include "support/environment.hpp"

namespace penstock::test {
namespace {

// Prints failures with their rank; the ranks that may be waiting for the one that failed cannot end
// by themselves, so it ends the job.
class RankListener : public ::testing::EmptyTestEventListener {
  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    if (!result.failed()) return;
    const std::string file = result.file_name() == nullptr ? "?" : result.file_name();
    std::fprintf(stderr, "[rank %d] %s:%d: %s\n", rank(), file.c_str(), result.line_number(),
                 result.message());
  }

  void OnTestEnd(const ::testing::TestInfo& info) override {
    if (info.result()->Failed()) {
      std::fprintf(stderr, "[rank %d] FAILED %s.%s, seed %llu\n", rank(), info.test_suite_name(),
                   info.name(), static_cast<unsigned long long>(seed()));
      std::fflush(nullptr);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    meet();
  }
};

// PENSTOCK_TEST_THREAD_LEVEL=single, funneled, serialized or multiple, or what the transports that
// may be used need.
int thread_level() {
  const auto contains = [](const char* variable, const char* text) {
    const char* value = std::getenv(variable);
    return value != nullptr && std::string(value).find(text) != std::string::npos;
  };
  if (contains("PENSTOCK_TEST_THREAD_LEVEL", "single")) return MPI_THREAD_SINGLE;
  if (contains("PENSTOCK_TEST_THREAD_LEVEL", "funneled")) return MPI_THREAD_FUNNELED;
  if (contains("PENSTOCK_TEST_THREAD_LEVEL", "serialized")) return MPI_THREAD_SERIALIZED;
  if (contains("PENSTOCK_TEST_THREAD_LEVEL", "multiple")) return MPI_THREAD_MULTIPLE;
  return contains("PENSTOCK_TRANSPORT", "proxy") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
}

// PENSTOCK_TEST_ODD_TRANSPORT and PENSTOCK_TEST_ODD_TUNE: what ranks with an odd number have for
// PENSTOCK_TRANSPORT and PENSTOCK_TUNE. The library looks inside MPI_Init, so the launcher has to
// tell which they are.
void set_for_odd_ranks() {
  for (const std::string setting : {"TRANSPORT", "TUNE"}) {
    const char* const value = std::getenv(("PENSTOCK_TEST_ODD_" + setting).c_str());
    if (value == nullptr) continue;
    for (const char* variable : {"PMI_RANK", "OMPI_COMM_WORLD_RANK"})
      if (const char* own = std::getenv(variable); own != nullptr && std::atoi(own) % 2 == 1)
        setenv(("PENSTOCK_" + setting).c_str(), value, 1);
  }
}

void initialize(int* argc, char*** argv) {
  set_for_odd_ranks();
  // A hang becomes a report of what waits.
  setenv("PENSTOCK_TIMEOUT", "60", 0);
  if (const int level = thread_level(); level != MPI_THREAD_SINGLE) {
    int provided = MPI_THREAD_SINGLE;
    MPI_Init_thread(argc, argv, level, &provided);
  } else {
    MPI_Init(argc, argv);
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
}

void prepare_output() {
  auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
  if (rank() != 0) delete listeners.Release(listeners.default_result_printer());
  listeners.Append(new RankListener);
  if (rank() == 0)
    std::printf("ranks %d, seed %llu\n", size(), static_cast<unsigned long long>(seed()));
  else
    seed();
}

}  // namespace
}  // namespace penstock::test

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (GTEST_FLAG_GET(list_tests)) return RUN_ALL_TESTS();
  penstock::test::initialize(&argc, &argv);
  if (PST_Init() != MPI_SUCCESS) {
    std::fprintf(stderr, "[rank %d] PST_Init: %s\n", penstock::test::rank(),
                 penstock::test::last_error().c_str());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
#if PENSTOCK_TEST_CUDA
  if (const char* why = nullptr; !penstock::test::choose_device(why)) {
    std::printf("skipped: no GPU (%s)\n", why);
    MPI_Finalize();
    return 77;
  }
#endif
  penstock::test::prepare_output();
  int result = RUN_ALL_TESTS();
  if (::testing::UnitTest::GetInstance()->test_to_run_count() == 0) {
    std::fprintf(stderr, "no test has such a name\n");
    result = 1;
  }
  MPI_Finalize();
  return result;
}
