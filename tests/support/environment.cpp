// SPDX-License-Identifier: Apache-2.0
#include "support/environment.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <sstream>
#include <thread>

#include "support/rounds.hpp"

namespace penstock::test {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::uint64_t number(const char* name, std::uint64_t otherwise) {
  const std::string text = variable(name);
  return text.empty() ? otherwise : std::strtoull(text.c_str(), nullptr, 10);
}

std::uint64_t choose_seed() {
  std::uint64_t value = number("PENSTOCK_TEST_SEED", std::random_device{}());
  MPI_Bcast(&value, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  return value;
}

}  // namespace

int rank() {
  int value = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &value);
  return value;
}

int size() {
  int value = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &value);
  return value;
}

std::uint64_t seed() {
  static const std::uint64_t value = choose_seed();
  return value;
}

std::mt19937_64 generator(std::uint64_t salt) {
  return std::mt19937_64(seed() ^ (salt * 0x9E3779B97F4A7C15u));
}

bool long_run() {
  return number("PENSTOCK_TEST_LONG", 0) != 0;
}

std::size_t eager_max() {
#if PENSTOCK_TEST_CUDA
  return number("PENSTOCK_CUDA_EAGER_MAX", 1048576);
#else
  if (only_transport() == "ofi") return number("PENSTOCK_OFI_EAGER_MAX", 16384);
  return number("PENSTOCK_EAGER_MAX", 8192);
#endif
}

unsigned slots() {
  return static_cast<unsigned>(number("PENSTOCK_SLOTS", 2));
}

bool transport_allowed(const std::string& name) {
  std::istringstream list(variable("PENSTOCK_TRANSPORT"));
  bool empty = true;
  for (std::string word; std::getline(list, word, ',');) {
    if (word == name) return true;
    empty = false;
  }
  return empty;
}

std::string only_transport() {
  const std::string text = variable("PENSTOCK_TRANSPORT");
  return text.find(',') == std::string::npos ? text : "";
}

std::vector<std::size_t> protocol_sizes() {
  const std::size_t limit = eager_max();
  std::vector<std::size_t> sizes{
      0, 1, 8, 55, 56, 57, limit, limit + 1, 16384, 65536, (1u << 20) + 3};
#if PENSTOCK_TEST_CUDA
  // Around one cell, one block and several blocks of a ring.
  sizes.insert(sizes.end(), {7, 9, 4096, 4097, 8192, 8200, 16385});
#endif
  if (limit > 0) sizes.push_back(limit - 1);
  if (sanitized)
    std::erase_if(sizes, [&](std::size_t size) {
      return size == 1 || size == 55 || size + 1 == limit || (size == 16384 && size != limit);
    });
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

int partner() {
  const int other = rank() ^ 1;
  return other < size() ? other : rank();
}

std::string last_error() {
  char text[2048] = "";
  PST_Last_error(text, sizeof text);
  return text;
}

PST_Error kind_of(int code) {
  PST_Error kind = PST_ERROR_INTERNAL;
  PST_Error_kind(code, &kind);
  return kind;
}

std::string describe(int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  return "kind " + std::to_string(kind_of(code)) + ", " + text + "; last error: " + last_error();
}

std::string transport_of(MPI_Request request) {
  char name[64] = "";
  if (PST_Request_transport(request, name, sizeof name) != MPI_SUCCESS) return "unmatched";
  return name;
}

void meet(MPI_Comm comm) {
  // Both MPIs spin in a barrier, which takes the cores from the streams under test.
  MPI_Request request;
  MPI_Ibarrier(comm, &request);
  for (int done = 0; done == 0;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

}  // namespace penstock::test
