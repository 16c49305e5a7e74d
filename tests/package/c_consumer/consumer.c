/* SPDX-License-Identifier: Apache-2.0 */
#include <penstock/penstock.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int major, minor, patch;
  MPI_Init(&argc, &argv);
  if (PST_Init() != MPI_SUCCESS) return 1;
  if (PST_Get_version(&major, &minor, &patch) != MPI_SUCCESS) return 2;
  printf("penstock-%d.%d.%d\n", major, minor, patch);
  MPI_Finalize();
  return 0;
}
