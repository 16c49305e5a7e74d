/* SPDX-License-Identifier: Apache-2.0
   A program that loads the library by name, and closes it again each time, before MPI ends: MPI
   calls the library back when it ends, and keeps its error classes. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

typedef int (*Call)(void);

static int use(const char* path, int last) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "dlopen: %s\n", dlerror());
    return 1;
  }
  Call const init = (Call)dlsym(library, "PST_Init");
  Call const finalize = (Call)dlsym(library, "PST_Finalize");
  int code = init == NULL || finalize == NULL ? MPI_ERR_INTERN : init();
  if (code == MPI_SUCCESS && last) code = finalize();
  if (code != MPI_SUCCESS) fprintf(stderr, "code %d\n", code);
  return dlclose(library) != 0 || code != MPI_SUCCESS;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int failed = argc != 2;
  for (int round = 0; round < 6 && !failed; ++round) failed = use(argv[1], round == 5);
  MPI_Finalize();
  if (!failed) printf("ended\n");
  return failed;
}
