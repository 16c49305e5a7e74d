// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <penstock/penstock.hpp>
#include <string>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (PST_Init() != MPI_SUCCESS) return 1;
  int major = 0, minor = 0, patch = 0;
  if (PST_Get_version(&major, &minor, &patch) != MPI_SUCCESS) return 2;
  const std::string version =
      std::to_string(major) + '.' + std::to_string(minor) + '.' + std::to_string(patch);
  std::cout << "penstock-" + version + '\n' << std::flush;
  MPI_Finalize();
  return 0;
}
