/* SPDX-License-Identifier: Apache-2.0
 *
 * Begins MPI in a constructor of its own library (early_library.c), which may run before
 * libpenstock's. */
#include <stdio.h>

int early_exchange(void);

int main(void) {
  const int wrong = early_exchange();
  if (!wrong) puts("early program: passed");
  return wrong;
}
