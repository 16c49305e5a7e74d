// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <penstock/penstock.hpp>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (PST_Init() != MPI_SUCCESS) return 1;
  int major = 0, minor = 0, patch = 0;
  if (PST_Get_version(&major, &minor, &patch) != MPI_SUCCESS) return 2;
  std::cout << "penstock " << major << '.' << minor << '.' << patch << '\n';
  MPI_Finalize();
  return 0;
}
