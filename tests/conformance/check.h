/* SPDX-License-Identifier: Apache-2.0
 *
 * What the C programs say when something is wrong. */
#pragma once

#include <mpi.h>
#include <penstock/penstock.h>
#include <stdio.h>

static int rank, size;

static void check(int ok, const char* what) {
  char why[1024] = "";
  if (ok) return;
  PST_Last_error(why, sizeof why);
  fprintf(stderr, "[rank %d] wrong: %s (last error: %s)\n", rank, what, why);
  MPI_Abort(MPI_COMM_WORLD, 1);
}
